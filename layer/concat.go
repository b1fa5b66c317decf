package layer

import (
	"thole.example/graph"
	"thole.example/kernel"
)

// concat puts the outputs of layers side by side, in their order:
//
//	out = [a | b | ...],  da = the columns of grad that a has, and so on
var concat = Kind{
	Name: "concatlayer", Also: []string{"concat"}, Least: 1, Most: Many,
	Help: "outputs side by side",
	New:  newConcat,
}

type concatenation struct {
	plain
	widths []int
}

func newConcat(s Spec) (graph.Layer, error) {
	l := &concatenation{plain: plain{name: s.Name}}
	for i := range s.In {
		in, err := s.flat(i)
		if err != nil {
			return nil, err
		}
		l.widths = append(l.widths, in.Cols)
		l.shape.Cols += in.Cols
	}
	return l, s.check(l.shape.Cols)
}

// Forward implements graph.Layer.
func (l *concatenation) Forward(x *graph.Input, _ []graph.Values, in []*graph.Tensor) (*graph.Tensor, error) {
	l.out.Resize(x.Len(), l.shape.Cols)
	for row := range x.Len() {
		out := l.out.Row(row)
		for _, t := range in {
			out = out[copy(out, t.Row(row)):]
		}
	}
	return &l.out, nil
}

// Backward implements graph.Layer.
func (l *concatenation) Backward(x *graph.Input, _, _ []graph.Values, grad *graph.Tensor, back []*graph.Tensor) error {
	for row := range x.Len() {
		g := grad.Row(row)
		for _, t := range back {
			addTo(t.Row(row), g[:t.Cols])
			g = g[t.Cols:]
		}
	}
	return nil
}

// addTo adds v to t.
func addTo(t, v []float32) { kernel.Add(v, t) }
