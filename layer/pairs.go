package layer

import (
	"fmt"

	"thole.example/graph"
	"thole.example/kernel"
)

// innerCross is the products of all pairs of the F vectors u of an example (Y. Qu and others, Product-based Neural Networks for
// User Response Prediction, 2016), in the order (0,1), (0,2), ... (0,F-1), (1,2), ...:
//
//	out_ij = <u_i, u_j>                    // F*(F-1)/2 numbers
//	du_i   = sum over j of grad_ij * u_j
var innerCross = Kind{
	Name: "biinnercross", Least: 1, Most: 1,
	Help: "products of all pairs of vectors",
	New:  func(s Spec) (graph.Layer, error) { return newPairs(s, false) },
}

// outerCross is the outer products of all pairs of the F vectors of k factors (same paper), in the same order:
//
//	out_ij = u_i * u_j'                    // F*(F-1)/2 times k*k numbers, row-major
//	du_i  += grad_ij * u_j,  du_j += grad_ij' * u_i
var outerCross = Kind{
	Name: "bioutercross", Also: []string{"bioutter", "bioutterCross", "bioutercrosslayer"}, Least: 1, Most: 1,
	Help: "outer products of all pairs of vectors",
	New:  func(s Spec) (graph.Layer, error) { return newPairs(s, true) },
}

type pairs struct {
	plain
	outer           bool
	fields, factors int
	u               *graph.Tensor
}

func newPairs(s Spec, outer bool) (graph.Layer, error) {
	in, err := s.vectors()
	if err == nil {
		in, err = s.flat(0)
	}
	if err != nil {
		return nil, err
	}
	f := in.Cols / in.Factors
	if f < 2 {
		return nil, fmt.Errorf("reads %d vector, want at least 2 for pairs", f)
	}
	l := &pairs{plain: plain{name: s.Name, shape: graph.Shape{Cols: f * (f - 1) / 2}}, outer: outer, fields: f, factors: in.Factors}
	if outer {
		l.shape.Cols *= in.Factors * in.Factors
	}
	return l, s.check(l.shape.Cols)
}

// Forward implements graph.Layer.
func (l *pairs) Forward(x *graph.Input, _ []graph.Values, in []*graph.Tensor) (*graph.Tensor, error) {
	l.u = in[0]
	l.out.Resize(x.Len(), l.shape.Cols)
	if !l.outer {
		kernel.PairDots(l.out.Val, l.u.Val, l.fields, l.factors)
		return &l.out, nil
	}
	l.each(x, func(row, i, j, at int) {
		out := l.out.Val[at:]
		b := l.vector(l.u, row, j)
		for f, v := range l.vector(l.u, row, i) {
			for g, w := range b {
				out[f*l.factors+g] = v * w
			}
		}
	})
	return &l.out, nil
}

// Backward implements graph.Layer.
func (l *pairs) Backward(x *graph.Input, _, _ []graph.Values, grad *graph.Tensor, back []*graph.Tensor) error {
	if !l.outer {
		kernel.PairDotsGrad(back[0].Val, grad.Val, l.u.Val, l.fields, l.factors)
		return nil
	}
	l.each(x, func(row, i, j, at int) {
		d := grad.Val[at:]
		a, b := l.vector(l.u, row, i), l.vector(l.u, row, j)
		da, db := l.vector(back[0], row, i), l.vector(back[0], row, j)
		for f, v := range a {
			for g, w := range b {
				e := d[f*l.factors+g]
				da[f] += float32(e * w)
				db[g] += float32(e * v)
			}
		}
	})
	return nil
}

// vector is vector i of an example.
func (l *pairs) vector(t *graph.Tensor, row, i int) []float32 {
	return t.Val[(row*l.fields+i)*l.factors:][:l.factors]
}

// each calls f for all pairs of vectors of all examples, with the place of their outer product.
func (l *pairs) each(x *graph.Input, f func(row, i, j, at int)) {
	at := 0
	for row := range x.Len() {
		for i := range l.fields {
			for j := i + 1; j < l.fields; j++ {
				f(row, i, j, at)
				at += l.factors * l.factors
			}
		}
	}
}
