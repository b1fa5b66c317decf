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
	Ranking        = graph.Ranking
)

// Algo is a recipe.
type Algo struct {
	Name     string
	Also     []string // other names of it, which Find knows; what is saved has Name
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

	// Trees says that it is no network: package gbdt trains it, by the objective of that name, and File is nil.
	Trees string

	own bool // File has update rules, which stay where the user gives none

	of labels // what the labels of the training examples are like
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
	Rule     string             `json:"rule"`
	Hyper    map[string]float64 `json:"hyper"`
	Eps      float64            `json:"eps"`      // of the rule for batches of one example: larger ones have means. 0: of Hyper
	Rate     float64            `json:"rate"`     // learning rate of the first step; 0: the rule's own
	Linear   float64            `json:"linear"`   // losses of numbers: rate of weights next to vectors (adam); 0: as the vectors
	Schedule string             `json:"schedule"` // of package optim
	PerBatch bool               `json:"perBatch"` // the schedule is asked once for each mini-batch of the job, not once for each epoch
	Warmup   int                `json:"warmup"`   // steps in which the rate grows to the first, at most; a tenth of an epoch if that is less
	Batch    int                `json:"batch"`    // examples in a mini-batch; 0: as BatchOf says
	Epochs   int                `json:"epochs"`
	// Rows is how many examples a training sees that is not told its epochs: as many epochs as come nearest to that, at least
	// one and no more than Most: few examples are learned by heart before that. 0: until the loss no longer falls, for at least Epochs.
	// Where each feature has numbers of its own, the loss of the training examples falls long after that of others rises.
	Rows int `json:"rows"`
	Most int `json:"most"`
	// Rare is how many examples a feature has to have in order not to be learned by heart in Most epochs: where half of the features have
	// fewer, there are RareMost. 0: there are always Most.
	Rare uint32 `json:"rare,omitempty"`
	// Minor is the share of the rarer of two classes below which a second epoch learns its examples by heart, and predicts too few others.
	Minor float64 `json:"minor,omitempty"`
}

// RareMost is how many epochs networks make at most where most features are rare (Defaults.Rare).
const RareMost = 2

// EpochsOf is how many epochs a training of so many examples makes that is not told; 0: it finds out.
func (d *Defaults) EpochsOf(examples int) int {
	if d.Rows == 0 {
		return 0
	}
	return min(max(1, (d.Rows+examples/2)/max(1, examples)), d.Most)
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

// WithLoss is the recipe with another loss function of the table (nil: that of package loss), and with that another task; "" is its own
// loss. The settings go before those that the loss has already.
func (a *Algo) WithLoss(losses []loss.Kind, name string, set map[string]float64) (*Algo, error) {
	choice := graph.Choice{Type: name}
	if f := a.File(a.Sizes); name == "" {
		if i := slices.IndexFunc(f.Layers, func(e graph.Entry) bool { return endsInLoss(&e) }); i >= 0 {
			choice = *lossOf(f, &f.Layers[i])
		}
	}
	kind, err := loss.Find(losses, choice.Type)
	if err != nil {
		return nil, err
	}
	all := map[string]float64{}
	maps.Copy(all, choice.Num)
	maps.Copy(all, set)
	l, err := kind.Bind(all)
	if err != nil {
		return nil, err
	}
	choice.Type, choice.Num = kind.Name, all
	file := func(s Size) *graph.File {
		f := a.File(s)
		for i := range f.Layers {
			if endsInLoss(&f.Layers[i]) {
				f.Layers[i].LossFunc = &choice
			}
		}
		return f
	}
	if wrong := Unfit(file(a.Sizes), nil, losses); wrong != nil {
		return nil, fmt.Errorf("%s: %s", a.Name, wrong[0])
	}
	other := *a
	other.Task, other.Log, other.File = l.Task(), kind.Log, file
	return &other, nil
}

// numbersMost is Defaults.Most of networks with losses of numbers.
const numbersMost = 40

// For are the defaults with an update rule of the table (nil: that of package optim) chosen by the user: another rule has
// settings of its own. The empty name is the recipe's rule. The rate is that of the rule for the recipe's task, unless the
// recipe has one for its own rule, and a tenth of it where features are embedded; it is 0 if neither has one: then the user has to say it.
func (a *Algo) For(rules []psf.Rule, name string) Defaults {
	d := a.Defaults
	if name != "" && name != d.Rule {
		d.Rule, d.Hyper, d.Eps, d.Rate, d.Linear = name, nil, 0, 0, 0
	}
	if !a.numeric() {
		d.Linear = 0
	}
	if a.Network() && a.Task == Regression && d.Most > 0 { // numbers are not learned by heart as soon
		d.Most = numbersMost
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
	switch {
	case rule == nil:
	case a.Network():
		d.Linear = math.Ldexp(d.Linear, a.of.spread) // the others are of products and of layers in between
	default:
		a.of.suit(rule, &d)
	}
	return d
}

// Algos is the table of recipes, a new slice on every call.
func Algos() []Algo {
	return []Algo{lr, linreg, svm, softmax, robust, poisson, fm, ffm, dnn, wdl, deepfm, nfm, pnn, dcn}
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
	Start []float64   // scores of examples without features before the first step, nil: 0; Build takes what suits the labels
	Rate  float64     // learning rate of the job, of which optimizers of layers with a rate of their own take a share; 0: the file's
	Keep  matrix.Keep // which columns of sparse weights are made, and which go again

	// Optimizers are the rules of the layers of a kind, in place of the recipe's, where Rule is empty.
	Optimizers map[string]*graph.Choice

	// Penalties are settings l1 and l2 of layers, by their names or kinds, over what else their optimizers are.
	Penalties map[string]map[string]float64

	Formats map[string]string // Angel's formats in which the layers of a kind are saved, where their entry names none

	Storage matrix.DType   // in which servers keep the weights of features; Invalid: float32
	Widths  []matrix.Width // numbers of factors of features that have fewer than the embeddings

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
		switch {
		case c.Rule != "":
			e.Optimizer = nil // the user's rule is of all
		case c.Optimizers[strings.ToLower(e.Type)] != nil && !a.own:
			e.Optimizer = c.Optimizers[strings.ToLower(e.Type)]
		case d.Linear > 0 && e.Type == firstOrder().Type && hyper["l1"] == 0: // which adam does not have
			e.Optimizer = optimizer("adam", map[string]float64{"lr": d.Linear, "l2": hyper["l2"]})
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

// numeric reports whether scores are the numbers that labels are, in a network of the table.
func (a *Algo) numeric() bool { return a.Task == Regression && !a.Log && !a.own }

// Mixed reports whether layers of the network have update rules of their own.
func (a *Algo) Mixed() bool {
	own := func(e graph.Entry) bool { return e.Optimizer != nil }
	return a.Defaults.Linear > 0 && a.numeric() || slices.ContainsFunc(a.File(a.Sizes).Layers, own)
}
