package layer

import (
	"fmt"
	"math"

	"thole.example/graph"
	"thole.example/kernel"
	"thole.example/matrix"
)

// fieldAware is the second order of field-aware factorization machines (Y. Juan and others, Field-aware Factorization Machines for CTR
// Prediction, 2016): a feature has a vector of k factors for each of the F fields. For the stored values x_i of field f_i of an
// example
//
//	out = sum over i < j of <v_i[f_j], v_j[f_i]> * x_i*x_j     // V: [F*k, Dim] <name>_embedding, field after field
//	dv_i[f_j] += grad * x_i*x_j * v_j[f_i], and the other way round
//
// Vectors start uniform in [-0.5/sqrt(k*F), 0.5/sqrt(k*F)): the width is that of libffm, which divides the values of an example by its
// length, the root of F. Of positive numbers, as there, products of two would raise the scores of examples whose features were all in
// training above those of examples with new features, which have no vector.
var fieldAware = Kind{
	Name: "fieldawareembedding", Also: []string{"ffmlayer", "ffm", "biffmcross"},
	Keys: []string{"numfactors", "optimizer", "init", "outputformat"},
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
	if len(s.Widths) > 0 {
		return nil, fmt.Errorf("features of different numbers of factors: a feature has a vector for each field, want the same number for all")
	}
	l := &aware{plain: plain{name: s.Name, shape: graph.Shape{Cols: 1}}, fields: f, factors: k}
	s.OutputDim = 0
	if err := s.check(1); err != nil {
		return nil, err
	}
	var err error
	l.weight, err = s.features("embedding", "embedding", k*f, matrix.Init{Kind: "uniform", Scale: 0.5 / math.Sqrt(float64(k*f))})
	return l, err
}

// Params implements graph.Layer.
func (l *aware) Params() []graph.Param { return []graph.Param{l.weight} }

// fieldsOf are those of the examples' values; nil: by position.
func fieldsOf(x *graph.Input) []int32 {
	switch {
	case none(x):
		return []int32{}
	case x.Field == nil:
		return nil
	}
	return x.Field[x.Ptr[0]:x.Ptr[len(x.Ptr)-1]]
}

// Forward implements graph.Layer.
func (l *aware) Forward(x *graph.Input, params []graph.Values, _ []*graph.Tensor) (*graph.Tensor, error) {
	if err := fits(x, l.fields); err != nil {
		return nil, err
	}
	l.out.Resize(x.Len(), 1)
	kernel.FieldPairs(l.out.Val, params[0].Val, l.fields, l.factors, sparse(x, params[0].At), fieldsOf(x))
	return &l.out, nil
}

// Backward implements graph.Layer.
func (l *aware) Backward(x *graph.Input, params, grads []graph.Values, grad *graph.Tensor, _ []*graph.Tensor) error {
	kernel.FieldPairsGrad(grads[0].Val, grad.Val, params[0].Val, l.fields, l.factors, sparse(x, params[0].At), fieldsOf(x))
	return nil
}
