// Package algo holds the recipes: which layers, loss, update rule and settings make logistic regression, a support
// vector machine and so on. Each stands in a file of its own and in the table [Algos]; the settings were chosen by
// measuring on the data named beside them.
package algo

import (
	"fmt"
	"maps"
	"math"
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
type Task = graph.Task

// The tasks: labels -1 and +1 (0 counts as -1), classes 0 to K-1, real numbers.
const (
	Classification = graph.Classification
	Multiclass     = graph.Multiclass
	Regression     = graph.Regression
)

// Algo is a recipe.
type Algo struct {
	Name     string
	Help     string
	Task     Task // that of the loss
	Log      bool // scores are logarithms of what is predicted: around 1, and steep, so that the lower rate of a rule suits
	Defaults Defaults
	// Wide are those where features are so many that a batch takes some of the columns; nil: the same.
	Wide *Defaults
	// File describes the network of that size, without data and training. Optimizers of layers that have a rate say with it
	// what share of Defaults.Rate they take.
	File func(Size) *graph.File
	// Sizes are the fields of Size that the network has, with its defaults: others are refused.
	Sizes Size

	own bool // File has update rules, which stay where the user gives none

	of numbers // what the labels of the training examples are like
}

// Size is how large a network is. What a recipe has no use for is zero.
type Size struct {
	Fields  int     // of the examples
	Factors int     // numbers of an embedded vector
	Hidden  []int   // outputs of the hidden layers
	Classes int     // of the labels
	Depth   int     // cross layers
	Rank    int     // of their weights; 0: full
	Dropout float64 // probability of dropping a hidden output in training
}

// over is the size with what is zero taken from the defaults.
func (s Size) over(d Size) Size {
	take(&s.Fields, d.Fields)
	take(&s.Factors, d.Factors)
	take(&s.Classes, d.Classes)
	take(&s.Depth, d.Depth)
	take(&s.Rank, d.Rank)
	take(&s.Dropout, d.Dropout)
	if s.Hidden == nil {
		s.Hidden = d.Hidden
	}
	return s
}

func take[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// Defaults are the settings used where the user gives none.
type Defaults struct {
	Rule     string
	Hyper    map[string]float64
	Eps      float64 // eps of the rule for batches of one example: in larger ones gradients are means, and so is eps. 0: as Hyper has it
	Rate     float64 // learning rate of the first step; 0: the rule's own
	Schedule string  // of package optim
	PerBatch bool    // the schedule is asked once for each mini-batch of the job, not once for each epoch
	Warmup   int     // steps in which the rate grows to the first, at most; a tenth of an epoch if that is less
	Batch    int     // examples in a mini-batch; 0: as BatchOf says
	Epochs   int
	// Rows is how many examples a training sees that is not told its epochs: as many epochs as come nearest to that, at least
	// one. 0: until the loss no longer falls, for at least Epochs. Where each feature has numbers of its own, the loss of the
	// training examples falls long after that of others rises.
	Rows int
}

// Settings are those of the rule for batches of so many examples; 0: as many as BatchOf gives at most.
func (d *Defaults) Settings(batch int) map[string]float64 {
	hyper := maps.Clone(d.Hyper)
	if hyper == nil {
		hyper = map[string]float64{}
	}
	if d.Eps > 0 {
		take(&batch, batchMost)
		hyper["eps"] = d.Eps / float64(batch)
	}
	return hyper
}

// The smallest and the largest batch of BatchOf.
const (
	batchLeast = 16
	batchMost  = 1024
)

// BatchOf is a batch for so many examples: the power of two that is nearest to their root, so that an epoch has about as many steps as
// a step has examples. Of few examples small batches make more of an epoch, of many large ones are faster.
func BatchOf(rows int) int {
	root := math.Sqrt(float64(max(1, rows)))
	return min(max(1<<int(math.Round(math.Log2(root))), batchLeast), batchMost)
}

// Network reports whether the recipe embeds features.
func (a *Algo) Network() bool { return a.Sizes.Factors > 0 }

// WithLoss is the recipe with another loss function of the table (nil: that of package loss), and with that another task.
func (a *Algo) WithLoss(losses []loss.Kind, name string) (*Algo, error) {
	kind, err := loss.Find(losses, name)
	if err != nil {
		return nil, err
	}
	l, err := kind.Bind(nil)
	if err != nil {
		return nil, err
	}
	other := *a
	other.Task = l.Task()
	other.File = func(s Size) *graph.File {
		f := a.File(s)
		for i := range f.Layers {
			if endsInLoss(&f.Layers[i]) {
				f.Layers[i].LossFunc = graph.Named(kind.Name)
			}
		}
		return f
	}
	return &other, nil
}

// For are the defaults with an update rule of the table (nil: that of package optim) chosen by the user: another rule has
// settings of its own. The empty name is the recipe's rule. The rate is that of the rule for the recipe's task, unless the
// recipe has one for its own rule, and a tenth of it where features are embedded; it is 0 if neither has one: then the user has to say it.
func (a *Algo) For(rules []psf.Rule, name string) Defaults {
	d := a.Defaults
	if name != "" && name != d.Rule {
		d.Rule, d.Hyper, d.Eps, d.Rate = name, nil, 0, 0
	}
	rule, err := optim.Find(rules, d.Rule)
	switch {
	case err != nil: // which Compose refuses
	case d.Rate != 0:
	case a.Network():
		d.Rate = rule.Rates.Classes / 10
	case a.Log:
		d.Rate = min(rule.Rates.Numbers, rule.Rates.Classes)
	case a.Task == Regression:
		d.Rate = rule.Rates.Numbers
	default:
		d.Rate = rule.Rates.Classes
	}
	if rule != nil && !a.Network() {
		a.of.suit(rule, &d)
	}
	return d
}

// Algos is the table of recipes, a new slice on every call.
func Algos() []Algo {
	return []Algo{lr, linreg, svm, softmax, robust, poisson, fm, ffm, dnn, wdl, deepfm, nfm, pnn, dcn}
}

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
	near := ""
	if n := graph.Nearest(name, names); n != "" {
		near = fmt.Sprintf("; did you mean %s?", n)
	}
	return nil, fmt.Errorf("algorithm %q, want one of %s%s", name, strings.Join(names, " "), near)
}

// Conf is what a user may choose for a model.
type Conf struct {
	Size   Size  // of the network, over the recipe's
	Dim    int64 // feature columns; 0 or less: not known, any key from ColLo on
	ColLo  int64 // the first feature column
	Sparse bool  // store only columns that occur

	Classes int // of a recipe with several classes; less than 2: two
	Batch   int // examples of a step, of which some settings of rules are a share (Defaults.Settings)

	Rule  string             // update rule of all layers; "": those of the recipe
	Hyper map[string]float64 // its settings, over those of the recipe if the rule is the recipe's
	Bias  string             // update rule of the biases; "": that of the weights without l1 and l2

	Init  matrix.Init // values of weights before the first push, of those of the layers what is not given; the seed is of all
	Start float64     // score of examples without features before the first step; Build takes what suits the labels
	Rate  float64     // learning rate of the job, of which optimizers of layers with a rate of their own take a share; 0: the file's
	Keep  matrix.Keep // which columns of sparse weights are made, and which go again

	Formats map[string]string // Angel's formats in which the layers of a kind are saved, where their entry names none

	Storage matrix.DType // in which servers keep the weights of features; Invalid: float32

	// The tables that names in a graph.json are looked up in; nil: those of the packages. Servers have tables of their own,
	// in which the same rules must be.
	Layers []layer.Kind
	Losses []loss.Kind
	Rules  []psf.Rule
}

// Sized is the size of the recipe's network where a user wants s of it.
func (a *Algo) Sized(s Size) Size { return s.over(a.Sizes) }

// Build makes the model. Each task builds its own.
func (a *Algo) Build(c Conf) (*graph.Model, error) {
	fields := c.Size.Fields
	c.Size = c.Size.over(a.Sizes)
	f := a.File(c.Size)
	if a.own { // which says itself for how many fields it is
		c.Size.Fields = fields
	} else {
		f.Data.NumField = c.Size.Fields
	}
	d := a.For(c.Rules, c.Rule)
	hyper := d.Settings(c.Batch)
	maps.Copy(hyper, c.Hyper)
	c.Start = a.of.start
	for i := range f.Layers {
		e := &f.Layers[i]
		if c.Rule != "" {
			e.Optimizer = nil // the user's rule is of all
		}
		if c.Init.Kind != "" && !a.own {
			e.Init = nil
		}
	}
	if !a.own || c.Rule != "" || len(c.Hyper) > 0 {
		c.Rule, c.Hyper = d.Rule, hyper
	}
	if a.Task == Multiclass {
		WithClasses(f, max(2, c.Classes))
	}
	if c.Rate = d.Rate; a.own && f.Train.LR > 0 {
		c.Rate = f.Train.LR
	}
	f.Train.Epoch, f.Train.LR = d.Epochs, d.Rate
	if c.Size.Fields > 0 {
		f.Data.NumField = c.Size.Fields
	}
	if s, err := optim.FindSchedule(d.Schedule); err == nil {
		f.Train.DecayClass = s.Angel
	}
	m, err := Compose(f, c)
	switch {
	case err != nil && a.own: // the caller knows which file the network is of
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	m.Name = a.Name
	return m, nil
}

// WithClasses gives the layers that the loss of f reads as many outputs as there are classes, where they leave it open.
func WithClasses(f *graph.File, classes int) {
	for _, last := range f.Layers {
		for i := range f.Layers {
			if e := &f.Layers[i]; endsInLoss(&last) && slices.Contains(last.Inputs(), e.Name) && e.OutputDim == 0 && e.OutputDims == nil {
				e.OutputDim = classes
			}
		}
	}
}

// linear is the network of the linear models: outputs of all features, and a loss. 0 outputs are one for each class.
func linear(outputs int, loss string) func(Size) *graph.File {
	return func(Size) *graph.File {
		return &graph.File{Layers: []graph.Entry{
			{Name: "input", Type: "simpleinputlayer", OutputDim: outputs, TransFunc: graph.Named("identity")},
			{Name: "simplelosslayer", Type: "simplelosslayer", InputLayer: "input", LossFunc: graph.Named(loss)},
		}}
	}
}

// settings are the names of h in order.
func settings(h map[string]float64) []string { return slices.Sorted(maps.Keys(h)) }

// Mixed reports whether layers of the network have update rules of their own.
func (a *Algo) Mixed() bool {
	return slices.ContainsFunc(a.File(a.Sizes).Layers, func(e graph.Entry) bool { return e.Optimizer != nil })
}
