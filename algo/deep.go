package algo

import "thole.example/graph"

// The parts that networks over embedded features share. Each takes the outputs of layers by name.

// firstOrder is a weight for each feature.
func firstOrder(table *graph.Choice) graph.Entry {
	return graph.Entry{Name: "input", Type: "simpleinputlayer", OutputDim: 1, TransFunc: graph.Named("identity"), Optimizer: table}
}

// vectors is a vector for each feature: one for each field, or, where fields do not count, for each stored value.
func vectors(s Size, byField bool, table *graph.Choice) graph.Entry {
	e := graph.Entry{Name: "embedding", Type: "embedding", NumFactors: s.Factors, Optimizer: table}
	if byField {
		e.OutputDim = s.Fields * s.Factors
	}
	return e
}

// tower is hidden layers and an output above them.
func tower(s Size, from string, rule *graph.Choice) graph.Entry {
	e := graph.Entry{Name: "fclayer", Type: "fclayer", InputLayer: from, Optimizer: rule}
	for _, n := range s.Hidden {
		t := graph.Named("relu")
		if s.Dropout > 0 {
			t = &graph.Choice{Type: "reluwithdropout", Num: map[string]float64{"proba": s.Dropout}}
		}
		e.OutputDims, e.TransFuncs = append(e.OutputDims, n), append(e.TransFuncs, *t)
	}
	e.OutputDims, e.TransFuncs = append(e.OutputDims, 1), append(e.TransFuncs, *graph.Named("identity"))
	return e
}

// total ends a network in the sum of layers, if there are several, and the logistic loss.
func total(layers []graph.Entry, from ...string) *graph.File {
	if len(from) > 1 {
		layers = append(layers, graph.Entry{Name: "sumpooling", Type: "sumpooling", OutputDim: 1, InputLayers: from})
		from = []string{"sumpooling"}
	}
	return &graph.File{Layers: append(layers, graph.Entry{
		Name: "simplelosslayer", Type: "simplelosslayer", InputLayer: from[0], LossFunc: graph.Named("logloss"),
	})}
}

// table is the rule of what each feature has: adagrad, whose steps suit rare and frequent features alike. eps is in units of mean
// gradients, and keeps the first steps of a feature small.
func table(rate, eps float64) *graph.Choice {
	return &graph.Choice{Type: "adagrad", Num: map[string]float64{"lr": rate, "eps": eps}}
}

// dense is the rule of weights that every example has a part in.
func dense() *graph.Choice { return &graph.Choice{Type: "adam", Num: map[string]float64{"lr": 0.002}} }

// The settings were chosen by held-out twentieths of the training rows of made-up clicks (1M rows, one epoch, two seeds): rate of
// the table among 0.03 to 0.2, eps among 3e-5 to 3e-3, rate of dense weights among 0.001 to 0.005.
var (
	// factorDefaults are those of models that add up products of vectors.
	factorDefaults = Defaults{Rule: "adagrad", Rate: 0.05, Schedule: "constant", Batch: 1024, Epochs: 1, Rows: 300_000}
	// deepDefaults are those of networks over vectors.
	deepDefaults = Defaults{Rule: "adagrad", Rate: 0.1, Schedule: "constant", Batch: 1024, Epochs: 1, Rows: 300_000}
)

const (
	factorEps = 3e-4
	deepEps   = 1e-3
)

// wideDefaults are those of linear models of many features, of which most are rare: held-out twentieths of the training rows of
// made-up clicks (1M rows, 1M columns) chose rate and eps among 0.03 to 0.2 and 1e-4 to 1e-3.
var wideDefaults = Defaults{
	Rule: "adagrad", Hyper: map[string]float64{"eps": 1e-3}, Rate: 0.05, Schedule: "constant", Batch: 1024, Epochs: 1, Rows: 300_000,
}

// deepSize is their size.
var deepSize = Size{Fields: 2, Factors: 8, Hidden: []int{128, 64}}
