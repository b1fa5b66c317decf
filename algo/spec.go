package algo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"thole.example/graph"
	"thole.example/internal/spell"
	"thole.example/layer"
	"thole.example/matrix"
)

// layers builds what an entry describes, which reads the nodes in: one layer, or a stack of them. Those of a stack are called
// name_0, name_1, ... and the last one name, as in Angel; each reads the one before it, and where a layer reads two, the first
// that the entry reads with it.
func (b *builder) layers(e *graph.Entry, in []int) error {
	kind, err := layer.Find(b.conf.Layers, e.Type)
	if err != nil {
		return err
	}
	if !strings.EqualFold(e.Type, kind.Name) {
		e.Type = kind.Name // the spelling that others read, too
	}
	if n := len(in); n < kind.Least || n > kind.Most {
		return fmt.Errorf("%s reads %d layers, want %s", kind.Name, n, kind.Reads())
	}
	count := max(1, len(e.OutputDims), e.Depth)
	switch {
	case count > 1 && !kind.Stacks:
		return fmt.Errorf("%s with %d outputdims and depth %d, want one outputdim", kind.Name, len(e.OutputDims), e.Depth)
	case count > layerLimit:
		return fmt.Errorf("a stack of %d layers, want at most %d", count, layerLimit)
	case len(e.OutputDims) > 0 && len(e.TransFuncs) > 0 && len(e.TransFuncs) != len(e.OutputDims):
		return fmt.Errorf("%d transfuncs for %d outputdims, want one for each", len(e.TransFuncs), len(e.OutputDims))
	}
	from := in
	for i := range count {
		s, err := b.spec(e, i)
		if err != nil {
			return err
		}
		if i < count-1 {
			s.Name = fmt.Sprintf("%s_%d", e.Name, i)
		}
		for _, node := range in {
			s.In = append(s.In, b.model.Nodes[node].Layer.Shape())
		}
		l, err := kind.New(s)
		if err != nil {
			return err
		}
		b.model.Nodes = append(b.model.Nodes, graph.Node{Layer: l, In: in})
		last := len(b.model.Nodes) - 1
		if in = []int{last}; kind.Most > 1 {
			in = []int{from[0], last}
		}
	}
	return nil
}

// spec describes layer i of the stack of an entry.
func (b *builder) spec(e *graph.Entry, i int) (layer.Spec, error) {
	c := &b.conf
	s := layer.Spec{
		Name: e.Name, OutputDim: e.OutputDim, Factors: e.NumFactors, Fields: c.Size.Fields, Rank: e.Rank,
		Dim: c.Dim, ColLo: c.ColLo, Sparse: c.Sparse, Dense: b.dense, Init: c.Init, Keep: c.Keep, Storage: c.Storage,
		Widths: c.Widths,
		Format: e.OutputFormat,
	}
	if s.Fields == 0 {
		s.Fields = b.file.Data.NumField
	}
	if len(e.OutputDims) > 0 {
		s.OutputDim = e.OutputDims[i]
	}
	switch strings.ToLower(e.Pooling) {
	case "", "sum":
	case "mean":
		s.Mean = true
	default:
		return s, fmt.Errorf("pooling %q, want sum or mean", e.Pooling)
	}
	t := first(e.TransFunc, b.file.DefaultTransFunc)
	if len(e.TransFuncs) > 0 {
		t = &e.TransFuncs[min(i, len(e.TransFuncs)-1)]
	}
	if t != nil {
		if err := transfer(t); err != nil {
			return s, err
		}
		s.Transfer = layer.Choice{Name: t.Type, Set: t.Num}
	}
	if e.Proba != 0 {
		s.Transfer.Set = map[string]float64{"proba": e.Proba}
	}
	if e.Name == b.starts && i == max(1, len(e.OutputDims), e.Depth)-1 {
		s.Start = b.start
	}
	if e.Init != nil {
		if err := initial(e.Init, &s); err != nil {
			return s, err
		}
	}
	return s, b.updates(e, &s)
}

// transfer checks a transfer function and its settings.
func transfer(c *graph.Choice) error {
	f, err := layer.FindTransfer(c.Type)
	if err != nil {
		return err
	}
	var known []string
	if f.Drops {
		known = append(known, "proba")
	}
	numbers := *c
	numbers.Text = maps.Clone(c.Text)
	delete(numbers.Text, "actiontype") // Angel's, which has to be edited there between training and prediction
	if err := numbers.Check(known); err != nil {
		return fmt.Errorf("transfer function %s: %w", f.Name, err)
	}
	return nil
}

// initial takes the values that weights begin with. Without a scale that of the layer's kind is taken.
func initial(c *graph.Choice, s *layer.Spec) error {
	kinds := append(matrix.Inits(), "zero")
	kind := strings.ToLower(c.Type)
	if !slices.Contains(kinds, kind) {
		return spell.Unknown("init", c.Type, kinds)
	}
	var known []string
	if kind != "zero" {
		known = append(known, "scale")
	}
	if err := c.Check(known, "scale"); err != nil {
		return fmt.Errorf("init %s: %w", kind, err)
	}
	scale, given := c.Num["scale"]
	if scale < 0 || scale-scale != 0 {
		return fmt.Errorf("init %s: setting scale = %v, want a finite number from 0 on", kind, scale)
	}
	s.Init.Kind, s.Init.Scale, s.Own = kind, scale, !given
	return nil
}

// updates finds the update rules of an entry.
func (b *builder) updates(e *graph.Entry, s *layer.Spec) (err error) {
	rate := b.conf.Rate
	if s.Weight, err = update(b.conf.Rules, first(e.Optimizer, b.file.DefaultOptimizer), rate); err != nil {
		return err
	}
	if s.Bias, err = ofBias(b.conf.Rules, s.Weight); err != nil {
		return err
	}
	if e.BiasOptimizer != nil {
		s.Bias, err = update(b.conf.Rules, e.BiasOptimizer, rate)
	}
	return err
}
