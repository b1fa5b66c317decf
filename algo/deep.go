package algo

import "thole.example/graph"

// The parts that networks over embedded features share. Each takes the outputs of layers by name.

// firstOrder is a weight for each feature.
func firstOrder() graph.Entry {
	return graph.Entry{Name: "input", Type: "simpleinputlayer", OutputDim: 1, TransFunc: graph.Named("identity")}
}

// vectors is a vector for each feature: one for each field, or, where fields do not count, for each stored value.
func vectors(s Size, byField bool) graph.Entry {
	e := graph.Entry{Name: "embedding", Type: "embedding", NumFactors: s.Factors}
	if byField {
		e.OutputDim = s.Fields * s.Factors
	}
	return e
}

// small is vectors that begin nearer to zero, for networks that add up products of all pairs of them: those of features that few
// examples have would be noise in the sum.
func small(e graph.Entry) graph.Entry {
	e.Init = &graph.Choice{Type: "normal", Num: map[string]float64{"scale": 0.02}}
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

// dense is the rule of weights that every example has a part in. What each feature has follows the rule of the recipe: adagrad, whose
// steps suit rare and frequent features alike.
func dense() *graph.Choice { return &graph.Choice{Type: "adam", Num: map[string]float64{"lr": 0.002}} }

// netDefaults are those of networks where features are few and each has many examples: the rate falls to zero, which settles what
// steps throw about. Where the score of classes stays around 1, that of numbers has to go as far as labels differ, and weights of features
// go there, at about a tenth of the rate of a linear model. docs/algorithms.md says how these and the next ones were chosen.
var netDefaults = Defaults{
	Rule: "adagrad", Hyper: map[string]float64{"l2": 5e-4}, Eps: 1, Rate: 0.1, Linear: 0.15, Schedule: "linear", PerBatch: true,
	Warmup: 20, Epochs: 1, Rows: 150_000, Most: 7, Rare: 100,
}

// factorDefaults are those of networks in which vectors meet as products alone: the penalty keeps them from learning by heart what ten
// examples have.
var factorDefaults = withRare(netDefaults, 10)

func withRare(d Defaults, examples uint32) Defaults {
	d.Rare = examples
	return d
}

// netWide are those where features are many and most are rare: what they have is not learned to the end, and a rate that falls would
// leave more of it. Vectors whose products are added up as they are grow faster, and have half the rate (fm, deepfm). Layers that see
// the vectors of all fields next to each other learn a rarer class by heart sooner: with 10 % positives, 60,000 examples and 224,660
// features, a second epoch leaves deepfm with 0.93 times the positives of other rows.
var netWide, deepWide, factorWide, fieldWide = wideAt(0.1, 0.15), wideAt(0.05, 0.15), wideAt(0.05, 0.05), wideAt(0.1, 0.05)

func wideAt(rate, minor float64) *Defaults {
	return &Defaults{Rule: "adagrad", Eps: 3, Rate: rate, Schedule: "constant", PerBatch: true, Warmup: 20, Epochs: 1, Rows: 200_000, Most: 2,
		Minor: minor}
}

// wideLinear are those of linear models of many features, of which most are rare: held-out twentieths of the training rows of
// made-up clicks (1M rows, 1M columns) chose rate and eps among 0.03 to 0.2 and 0.1 to 1 (of one example).
var wideLinear = linearAt(0.05, 300_000, 3)

// wideCounts are those of counts, which have no penalty: held-out tenths of 2000, 20000 and 100000 rows of such clicks chose 10000
// examples, after which rare features are learned by heart.
var wideCounts = linearAt(0.05, 10_000, 5)

// wideNumbers are those of other regressions, whose penalty follows how much of the labels the features explain (ForRows, Set.Noise). Rates
// grow with the deviation of labels. The eps of ten examples keeps steps of rare features in proportion to their residuals: with the eps of
// one, adagrad takes residuals of 0.9 and 0.1 for more alike than they are, and where 10 % of the labels are 1 the mean prediction of other
// rows is 1.05 times too large. Seeds 31 to 33 of 60000 rows with 0.1 to 50 % ones, and two seeds each of 2000, 20000 and 200000 rows of
// numbers with little and much noise, chose among eps of 1 to 30, rates of 0.4 to 12 and 140000 to 800000 examples.
var wideNumbers = numbersAt(10, linearAt(1, 400_000, 20))

// numbersAt are the defaults with an eps of so many examples, with a penalty that ForRows chooses, and a rate that falls, as there is an
// end to be reached.
func numbersAt(eps float64, d *Defaults) *Defaults {
	d.Eps, d.Schedule, d.Hyper = eps, "linear", map[string]float64{"l2": 0}
	return d
}

func linearAt(rate float64, rows, most int) *Defaults {
	return &Defaults{Rule: "adagrad", Eps: 1, Rate: rate, Schedule: "constant", Batch: 1024, Epochs: 1, Rows: rows, Most: most}
}

// deepSize is their size.
var deepSize = Size{Fields: 2, Factors: 8, Hidden: []int{128, 64}}
