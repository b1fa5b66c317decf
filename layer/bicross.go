package layer

import (
	"thole.example/graph"
	"thole.example/kernel"
)

// innerSumCross adds up the products of all pairs of vectors u of an example (the second order of factorization machines; S.
// Rendle, Factorization Machines, 2010, lemma 3.1): with S the sum of the vectors and k factors
//
//	out  = sum over i < j of <u_i, u_j> = (|S|^2 - sum of |u_i|^2) / 2
//	du_i = grad * (S - u_i)
var innerSumCross = Kind{
	Name: "biinnersumcross", Least: 1, Most: 1,
	Help: "sum of the products of all pairs of vectors",
	New:  func(s Spec) (graph.Layer, error) { return newPairSum(s, true) },
}

// interactionCross is innerSumCross without the sum over factors (X. He and T. Chua, Neural Factorization Machines, 2017):
//
//	out  = (S*S - sum of u_i*u_i) / 2      // [k], element by element
//	du_i = grad * (S - u_i)
var interactionCross = Kind{
	Name: "biinteractioncross", Also: []string{"biinteractioncrosstiled"}, Least: 1, Most: 1,
	Help: "sum of the products of all pairs of vectors, factor by factor",
	New:  func(s Spec) (graph.Layer, error) { return newPairSum(s, false) },
}

type pairSum struct {
	plain
	sum     bool // over factors
	factors int
	fields  int // 0: any number
	ptr     []int
	u       *graph.Tensor
	sums    []float32
}

func newPairSum(s Spec, sum bool) (graph.Layer, error) {
	in, err := s.vectors()
	if err != nil {
		return nil, err
	}
	l := &pairSum{plain: plain{name: s.Name, shape: graph.Shape{Cols: 1}}, sum: sum, factors: in.Factors, fields: in.Cols / in.Factors}
	if sum {
		s.OutputDim = 0 // which Angel ignores
	} else {
		l.shape.Cols = in.Factors
	}
	return l, s.check(l.shape.Cols)
}

// vectors are the vectors of each example.
func (l *pairSum) vectors(x *graph.Input) kernel.Sparse {
	if l.fields == 0 {
		return kernel.Sparse{Ptr: x.Ptr}
	}
	l.ptr = multiples(l.ptr, x.Len(), l.fields)
	return kernel.Sparse{Ptr: l.ptr}
}

// multiples are 0, by, 2*by, ... n*by, over the memory of ptr.
func multiples(ptr []int, n, by int) []int {
	for len(ptr) <= n {
		ptr = append(ptr, len(ptr)*by)
	}
	return ptr[:n+1]
}

// Forward implements graph.Layer.
func (l *pairSum) Forward(x *graph.Input, _ []graph.Values, in []*graph.Tensor) (*graph.Tensor, error) {
	l.u = in[0]
	return l.forward(x, l.u.Val, l.vectors(x)), nil
}

// ForwardVectors implements graph.VectorReader.
func (l *pairSum) ForwardVectors(x *graph.Input, v graph.Values) (*graph.Tensor, error) {
	return l.forward(x, v.Val, sparse(x, v.At)), nil
}

func (l *pairSum) forward(x *graph.Input, src []float32, s kernel.Sparse) *graph.Tensor {
	l.out.Resize(x.Len(), l.shape.Cols)
	l.sums = resize(l.sums, x.Len()*l.factors)
	if l.sum {
		kernel.InteractSum(l.out.Val, l.sums, src, l.factors, s)
	} else {
		kernel.Interact(l.out.Val, l.sums, src, l.factors, s)
	}
	return &l.out
}

// Backward implements graph.Layer.
func (l *pairSum) Backward(x *graph.Input, _, _ []graph.Values, grad *graph.Tensor, back []*graph.Tensor) error {
	if l.sum {
		kernel.InteractSumGrad(back[0].Val, grad.Val, l.sums, l.u.Val, l.factors, l.vectors(x))
	} else {
		kernel.InteractGrad(back[0].Val, grad.Val, l.sums, l.u.Val, l.factors, l.vectors(x))
	}
	return nil
}

// resize is n numbers over the memory, if that is enough. They are not cleared.
func resize(memory []float32, n int) []float32 {
	if cap(memory) < n {
		return make([]float32, n)
	}
	return memory[:n]
}
