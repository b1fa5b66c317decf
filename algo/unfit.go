package algo

import (
	"fmt"
	"slices"

	"thole.example/graph"
	"thole.example/layer"
	"thole.example/loss"
)

// Unfit says which losses of a network read scores that they are not made for: probabilities have to come of a transfer function
// whose outputs are such. The tables are those of Conf.
func Unfit(f *graph.File, layers []layer.Kind, losses []loss.Kind) (all []string) {
	b := bounds{f, layers, map[string]*graph.Entry{}, map[string]layer.Bound{}}
	for i := range f.Layers {
		b.entries[f.Layers[i].Name] = &f.Layers[i]
	}
	for i := range f.Layers {
		e := &f.Layers[i]
		if !endsInLoss(e) {
			continue
		}
		kind, err := loss.Find(losses, lossOf(f, e).Type)
		if err != nil || !kind.Unit || len(e.Inputs()) != 1 {
			continue // which is said elsewhere
		}
		if from := e.Inputs()[0]; b.of(from) == layer.Unbounded {
			all = append(all, fmt.Sprintf("%s of %q reads %q, whose outputs may be any numbers: want probabilities, such as those of "+
				"transfunc sigmoid, or logloss, which makes them of any numbers", kind.Name, e.Name, from))
		}
	}
	return all
}

// bounds finds what is known of the outputs of layers.
type bounds struct {
	file    *graph.File
	kinds   []layer.Kind
	entries map[string]*graph.Entry
	known   map[string]layer.Bound
}

// of is the bound of a layer; one that there is not, and one that reads itself, are errors elsewhere.
func (b *bounds) of(name string) layer.Bound {
	e, ok := b.entries[name]
	if known, done := b.known[name]; done || !ok {
		return known
	}
	b.known[name] = layer.Unbounded
	kind, err := layer.Find(b.kinds, e.Type)
	switch {
	case err != nil:
	case kind.Bound != nil && len(e.Inputs()) > 0:
		var in []layer.Bound
		for _, from := range e.Inputs() {
			in = append(in, b.of(from))
		}
		b.known[name] = kind.Bound(in)
	case slices.Contains(kind.Keys, "transfunc"):
		c := first(e.TransFunc, b.file.DefaultTransFunc, graph.Named("identity"))
		if n := len(e.TransFuncs); n > 0 {
			c = &e.TransFuncs[n-1]
		}
		if t, err := layer.FindTransfer(c.Type); err == nil {
			b.known[name] = t.Bound
		}
	}
	return b.known[name]
}
