// Package algo holds the recipes: which layers, loss, update rule and settings make logistic regression, a support
// vector machine and so on. Each stands in a file of its own and in the table [Algos]; the settings were chosen by
// measuring on the data named beside them.
package algo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"thole.example/graph"
	"thole.example/layer"
	"thole.example/loss"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
)

// Task says what is learned, and with it how labels are read and which metrics make sense.
type Task string

const (
	// Classification has two classes: labels -1 and +1 (0 counts as -1).
	Classification Task = "classification"
	// Regression has real numbers as labels.
	Regression Task = "regression"
)

// Algo is a recipe.
type Algo struct {
	Name     string
	Help     string
	Task     Task
	Defaults Defaults
	// File describes the network without data, training and update rules.
	File func() *graph.File

	own bool // File has update rules, which stay where the user gives none
}

// Defaults are the settings used where the user gives none.
type Defaults struct {
	Rule     string
	Hyper    map[string]float64
	Rate     float64 // learning rate of the first step; 0: the rule's own
	Schedule string  // of package optim
	PerBatch bool    // the schedule is asked once for each mini-batch of the job, not once for each epoch
	Batch    int     // examples in a mini-batch
	Epochs   int
}

// For are the defaults with an update rule of the table (nil: that of package optim) chosen by the user: another rule has
// settings of its own. The empty name is the recipe's rule. The rate is that of the rule for the recipe's task, unless the
// recipe has one for its own rule; it is 0 if neither has one: then the user has to say it.
func (a *Algo) For(rules []psf.Rule, name string) Defaults {
	d := a.Defaults
	if name != "" && name != d.Rule {
		d.Rule, d.Hyper, d.Rate = name, nil, 0
	}
	rule, err := optim.Find(rules, d.Rule)
	switch {
	case err != nil: // which Compose refuses
	case d.Rate != 0:
	case a.Task == Regression:
		d.Rate = rule.Rates.Numbers
	default:
		d.Rate = rule.Rates.Classes
	}
	return d
}

// Algos is the table of recipes, a new slice on every call.
func Algos() []Algo { return []Algo{lr, linreg, svm} }

// Find is the recipe of that name; the error lists the names there are.
func Find(name string) (*Algo, error) {
	all := Algos()
	names := make([]string, len(all))
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
		names[i] = all[i].Name
	}
	return nil, fmt.Errorf("algorithm %q, want one of %s", name, strings.Join(names, " "))
}

// Conf is what a user may choose for a model.
type Conf struct {
	Dim    int64 // feature columns; 0 or less: not known, any key from ColLo on
	ColLo  int64 // the first feature column
	Sparse bool  // store only columns that occur

	Rule  string             // update rule; "": the recipe's
	Hyper map[string]float64 // its settings, over those of the recipe if the rule is the recipe's
	Bias  string             // update rule of the biases; "": that of the weights without l1 and l2

	Init matrix.Init // values of weights before the first push; zero if not given
	Keep matrix.Keep // which columns of sparse weights are made, and which go again

	Storage matrix.DType // in which servers keep the weights of features; Invalid: float32

	// The tables that names in a graph.json are looked up in; nil: those of the packages. Servers have tables of their own,
	// in which the same rules must be.
	Layers []layer.Kind
	Losses []loss.Kind
	Rules  []psf.Rule
}

// Build makes the model. Each task builds its own.
func (a *Algo) Build(c Conf) (*graph.Model, error) {
	f := a.File()
	hyper := map[string]float64{}
	d := a.For(c.Rules, c.Rule)
	maps.Copy(hyper, d.Hyper)
	maps.Copy(hyper, c.Hyper)
	if !a.own || c.Rule != "" || len(c.Hyper) > 0 {
		c.Rule, c.Hyper = d.Rule, hyper
	}
	f.Train.Epoch, f.Train.LR = d.Epochs, d.Rate
	if s, err := optim.FindSchedule(d.Schedule); err == nil {
		f.Train.DecayClass = s.Angel
	}
	m, err := Compose(f, c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	m.Name = a.Name
	return m, nil
}

// linear is the network of the linear models: one output of all features, and a loss.
func linear(loss string) func() *graph.File {
	return func() *graph.File {
		return &graph.File{Layers: []graph.Entry{
			{Name: "input", Type: "simpleinputlayer", OutputDim: 1, TransFunc: graph.Named("identity")},
			{Name: "simplelosslayer", Type: "simplelosslayer", InputLayer: "input", LossFunc: graph.Named(loss)},
		}}
	}
}

// settings are the names of h in order.
func settings(h map[string]float64) []string { return slices.Sorted(maps.Keys(h)) }
