package layer

import (
	"fmt"
	"math"

	"thole.example/graph"
	"thole.example/matrix"
)

// fieldAware is the second order of field-aware factorization machines (Y. Juan and others, Field-aware Factorization Machines for CTR
// Prediction, 2016): a feature has a vector of k factors for each of the F fields. For the stored values x_i of field f_i of an
// example
//
//	out = sum over i < j of <v_i[f_j], v_j[f_i]> * x_i*x_j     // V: [F*k, Dim] <name>_embedding, field after field
//	dv_i[f_j] += grad * x_i*x_j * v_j[f_i], and the other way round
//
// Vectors start uniform in [0, 0.5/sqrt(k)), as in libffm.
var fieldAware = Kind{
	Name: "fieldawareembedding", Also: []string{"ffmlayer", "ffm", "biffmcross"},
	Help: "products of the vectors that features have for each other's fields",
	New:  newFieldAware,
}

type aware struct {
	plain
	fields, factors int
	weight          graph.Param
}

func newFieldAware(s Spec) (graph.Layer, error) {
	k, f := s.Factors, s.Fields
	if k < 1 || f < 2 || k > OutputLimit || f > OutputLimit || k*f > OutputLimit {
		return nil, fmt.Errorf("%d fields of numfactors %d, want at least 2 and 1, and at most %d numbers for a feature", f, k, OutputLimit)
	}
	l := &aware{plain: plain{name: s.Name, shape: graph.Shape{Cols: 1}}, fields: f, factors: k}
	s.OutputDim = 0
	if err := s.check(1); err != nil {
		return nil, err
	}
	var err error
	l.weight, err = s.features("embedding", "embedding", k*f, matrix.Init{Kind: "positive", Scale: 0.5 / math.Sqrt(float64(k))})
	return l, err
}

// Params implements graph.Layer.
func (l *aware) Params() []graph.Param { return []graph.Param{l.weight} }

// each calls f for each pair of values of an example: the vectors of both, and the product of their values.
func (l *aware) each(x *graph.Input, row int, at []uint32, f func(i, j int, xx float32)) {
	lo, hi := x.Ptr[row], x.Ptr[row+1]
	k, n := l.factors, l.fields*l.factors
	field := func(v int) int {
		if x.Field == nil {
			return v - lo
		}
		return int(x.Field[v])
	}
	for i := lo; i < hi; i++ {
		for j := i + 1; j < hi; j++ {
			f(int(at[i])*n+field(j)*k, int(at[j])*n+field(i)*k, x.Val[i]*x.Val[j])
		}
	}
}

// Forward implements graph.Layer.
func (l *aware) Forward(x *graph.Input, params []graph.Values, _ []*graph.Tensor) (*graph.Tensor, error) {
	if err := fits(x, l.fields); err != nil {
		return nil, err
	}
	v, k := params[0].Val, l.factors
	l.out.Resize(x.Len(), 1)
	for row := range x.Len() {
		sum := float32(0)
		l.each(x, row, params[0].At, func(i, j int, xx float32) {
			dot := float32(0)
			for f, a := range v[i:][:k] {
				dot += float32(a * v[j+f])
			}
			sum += float32(xx * dot)
		})
		l.out.Val[row] = sum
	}
	return &l.out, nil
}

// Backward implements graph.Layer.
func (l *aware) Backward(x *graph.Input, params, grads []graph.Values, grad *graph.Tensor, _ []*graph.Tensor) error {
	v, dv, k := params[0].Val, grads[0].Val, l.factors
	for row := range x.Len() {
		g := grad.Val[row]
		l.each(x, row, params[0].At, func(i, j int, xx float32) {
			d := g * xx
			for f := range k {
				dv[i+f] += float32(d * v[j+f])
				dv[j+f] += float32(d * v[i+f])
			}
		})
	}
	return nil
}
