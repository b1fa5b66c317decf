package algo

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"thole.example/graph"
	"thole.example/internal/spell"
	"thole.example/layer"
	"thole.example/loss"
	"thole.example/optim"
	"thole.example/psf"
)

// layerLimit is the largest number of layers of a network.
const layerLimit = 10000

// Compose builds the model that a graph.json describes. What c sets goes before what the file says for all layers, and
// after what it says for one. Layers may stand in any order; they are built from the loss layer backwards, and every
// layer must lead to it. The model's File says what was built; f stays as it is.
func Compose(f *graph.File, c Conf) (*graph.Model, error) {
	if len(f.Layers) > layerLimit {
		return nil, fmt.Errorf("%d layers, want at most %d", len(f.Layers), layerLimit)
	}
	if c.Dim <= 0 {
		c.Dim = max(f.Data.IndexRange, 0)
	}
	if c.Rate == 0 {
		c.Rate = f.Train.LR
	}
	if strings.Contains(strings.ToUpper(f.Model.ModelType), "SPARSE") {
		c.Sparse = true
	}
	dense := strings.Contains(strings.ToUpper(f.Model.ModelType), "DENSE")
	whole := *f
	whole.Data.IndexRange = c.Dim
	if c.Dim == 0 {
		whole.Data.IndexRange = -1
	}
	if whole.Model.ModelType == "" {
		whole.Model.ModelType = modelType(c)
	}
	if c.Rule != "" {
		rule, err := optim.Find(c.Rules, strings.ToLower(c.Rule))
		if err == nil {
			_, err = rule.Bind(c.Hyper)
		}
		if err != nil {
			return nil, err
		}
		whole.DefaultOptimizer = optimizer(c.Rule, c.Hyper)
	} else if whole.DefaultOptimizer == nil {
		whole.DefaultOptimizer = graph.Named(lr.Defaults.Rule)
	}
	whole.Layers = slices.Clone(f.Layers)
	for i := range whole.Layers {
		if e := &whole.Layers[i]; c.Bias != "" && e.BiasOptimizer == nil && !endsInLoss(e) {
			e.BiasOptimizer = graph.Named(c.Bias)
		}
		if e := &whole.Layers[i]; e.OutputFormat == "" && !endsInLoss(e) {
			if kind, err := layer.Find(c.Layers, e.Type); err == nil { // else it is an error later
				e.OutputFormat = c.Formats[kind.Name]
			}
		}
	}
	if err := penalise(&whole, &c); err != nil {
		return nil, err
	}
	b := &builder{
		file: &whole, conf: c, dense: dense, model: &graph.Model{File: &whole},
		byName: map[string]int{}, place: map[string]int{},
	}
	return b.build()
}

// modelType is Angel's row type of the weights.
func modelType(c Conf) string {
	switch {
	case c.Dim <= 0 || c.Dim > layer.DenseLimit || c.ColLo != 0:
		return "T_FLOAT_SPARSE_LONGKEY"
	case c.Sparse:
		return "T_FLOAT_SPARSE"
	}
	return "T_FLOAT_DENSE"
}

// endsInLoss reports whether the entry is the loss layer.
func endsInLoss(e *graph.Entry) bool {
	return strings.EqualFold(e.Type, "simplelosslayer") || strings.EqualFold(e.Type, "losslayer")
}

type builder struct {
	file   *graph.File
	conf   Conf
	dense  bool // all columns are stored, even if there are many
	model  *graph.Model
	byName map[string]int // entry of each name
	place  map[string]int // node of each name; -1 while its inputs are being built
	starts string         // the layer whose bias begins with start; "": none
	start  []float64      // what leads to scores of Conf.Start
}

func (b *builder) build() (*graph.Model, error) {
	end := -1
	for i := range b.file.Layers {
		e := &b.file.Layers[i]
		if _, twice := b.byName[e.Name]; twice || e.Name == "" {
			return nil, fmt.Errorf("layer %d is called %q, want a name that no other layer has", i, e.Name)
		}
		b.byName[e.Name] = i
		if !endsInLoss(e) {
			continue
		}
		if end >= 0 {
			return nil, fmt.Errorf("two loss layers, %q and %q, want one", b.file.Layers[end].Name, e.Name)
		}
		end = i
	}
	if end < 0 {
		return nil, fmt.Errorf("no layer of type simplelosslayer, want one")
	}
	last := &b.file.Layers[end]
	if err := b.defaults(); err != nil {
		return nil, err
	}
	if b.conf.Start != nil {
		b.starts, b.start = b.adds(last.Inputs(), 0)
	}
	if n := len(last.Inputs()); n != 1 {
		return nil, fmt.Errorf("loss layer %q reads %d layers, want one", last.Name, n)
	}
	if _, err := b.node(last.Inputs()[0], last.Name); err != nil {
		return nil, err
	}
	for _, e := range b.file.Layers {
		if _, built := b.place[e.Name]; !built && e.Name != last.Name {
			return nil, fmt.Errorf("layer %q does not lead to the loss layer %q, want every layer to be read on the way there", e.Name, last.Name)
		}
	}
	if err := b.loss(last); err != nil {
		return nil, err
	}
	return b.model, b.model.Check()
}

// node builds the layer of that name and those it reads, unless that is done, and answers its place.
func (b *builder) node(name, reader string) (int, error) {
	if at, ok := b.place[name]; ok {
		if at < 0 {
			return 0, fmt.Errorf("layer %q reads itself by way of %q", name, reader)
		}
		return at, nil
	}
	i, ok := b.byName[name]
	if !ok {
		near := ""
		if n := spell.Nearest(name, slices.Sorted(maps.Keys(b.byName))); n != "" {
			near = fmt.Sprintf("; did you mean %q?", n)
		}
		return 0, fmt.Errorf("layer %q reads %q, want the name of a layer%s", reader, name, near)
	}
	b.place[name] = -1
	e := &b.file.Layers[i]
	if endsInLoss(e) {
		return 0, fmt.Errorf("layer %q reads the loss layer %q", reader, name)
	}
	var in []int
	for _, from := range e.Inputs() {
		at, err := b.node(from, name)
		if err != nil {
			return 0, err
		}
		in = append(in, at)
	}
	if err := b.layers(e, in); err != nil {
		return 0, fmt.Errorf("layer %q: %w", name, err)
	}
	b.place[name] = len(b.model.Nodes) - 1
	return b.place[name], nil
}

// adds is the layer, of those named and what they sum up, whose bias decides the scores of examples without features, and its values for
// scores of Conf.Start; "" if no layer does. depth is the number of layers on the way to it.
func (b *builder) adds(names []string, depth int) (string, []float64) {
	for _, name := range names {
		i, ok := b.byName[name]
		if !ok || depth > len(b.file.Layers) { // which are errors later
			continue
		}
		switch e := &b.file.Layers[i]; strings.ToLower(e.Type) {
		case "simpleinputlayer", "sparseinputlayer", "denseinputlayer", "fclayer", "fc", "fullyconnectedlayer":
			if start := b.biases(e, depth == 0); start != nil {
				return name, start
			}
		case "sumpooling":
			if found, start := b.adds(e.Inputs(), depth+1); found != "" {
				return found, start
			}
		}
	}
	return "", nil
}

// biases are the biases of a layer by which its outputs are Conf.Start, nil if they do not lead there. Outputs that others are added to
// have to be the sums themselves.
func (b *builder) biases(e *graph.Entry, alone bool) []float64 {
	c, outputs := first(e.TransFunc, b.file.DefaultTransFunc, graph.Named("identity")), e.OutputDim
	if n := len(e.TransFuncs); n > 0 {
		c = &e.TransFuncs[n-1]
	}
	if n := len(e.OutputDims); n > 0 {
		outputs = e.OutputDims[n-1]
	}
	t, err := layer.FindTransfer(c.Type)
	if err != nil || t.Inverse == nil || outputs != len(b.conf.Start) || !alone && t.Name != "identity" {
		return nil
	}
	start := make([]float64, outputs)
	for k, v := range b.conf.Start {
		if start[k] = t.Inverse(v); math.IsNaN(start[k]) || math.IsInf(start[k], 0) {
			return nil
		}
	}
	return start
}

// defaults checks those for layers that say nothing, whether there are such layers or not.
func (b *builder) defaults() error {
	if c := b.file.DefaultTransFunc; c != nil {
		if err := transfer(c); err != nil {
			return fmt.Errorf("default_transfunc: %w", err)
		}
	}
	if c := b.file.DefaultLossFunc; c != nil {
		if _, _, err := b.bind(c); err != nil {
			return fmt.Errorf("default_lossfunc: %w", err)
		}
	}
	if _, err := update(b.conf.Rules, b.file.DefaultOptimizer, b.conf.Rate); err != nil {
		return fmt.Errorf("default_optimizer: %w", err)
	}
	return nil
}

// bind makes a loss with its settings.
func (b *builder) bind(c *graph.Choice) (*loss.Kind, graph.Loss, error) {
	kind, err := loss.Find(b.conf.Losses, c.Type)
	if err != nil {
		return nil, nil, err
	}
	if err := c.Check(psf.Names(kind.Hyper)); err != nil {
		return nil, nil, fmt.Errorf("loss function %s: %w", kind.Name, err)
	}
	l, err := kind.Bind(c.Num)
	return kind, l, err
}

func (b *builder) loss(e *graph.Entry) error {
	kind, l, err := b.bind(lossOf(b.file, e))
	if err != nil {
		return fmt.Errorf("layer %q: %w", e.Name, err)
	}
	b.model.Loss = l
	last := b.model.Nodes[len(b.model.Nodes)-1].Layer
	shape := last.Shape()
	if err := kind.Fits(shape.Cols); err != nil || shape.Ragged {
		return fmt.Errorf("layer %q has %w", last.Name(), err)
	}
	if b.model.Width = shape.Cols; b.starts != "" {
		b.model.Start = b.conf.Start
		if slices.Equal(b.start, b.conf.Start) { // the transfer function is the identity
			b.model.Bias = b.starts + "_bias"
		}
	}
	return nil
}

// first is the first choice that was made.
func first(all ...*graph.Choice) *graph.Choice {
	for _, c := range all {
		if c != nil {
			return c
		}
	}
	return nil
}
