package layer

import (
	"fmt"
	"math"

	"thole.example/graph"
	"thole.example/kernel"
	"thole.example/matrix"
)

// cross is a layer of a cross network (R. Wang and others, DCN V2: Improved Deep & Cross Network, 2021). It reads the first
// input x0 and the layer x before it, both of n outputs; or one layer, which is both. With full rank
//
//	z   = x*W + b                  // X: [B, n]; W: [n, n] in the one row of <name>_weight, input after input; b: [1, n]
//	out = x0*z + x                 // element by element
//	D   = grad * x0                // [B, n]
//	dW  = X'*D,  db = sum of the rows of D,  dx = grad + D*W',  dx0 = grad * z
//
// and with a rank r the weights are a product of two: z = (x*V)*U + b with V: [n, r] in <name>_left and U: [r, n] in
// <name>_right.
var cross = Kind{
	Name: "crosslayer", Also: []string{"cross"}, Least: 1, Most: 2, Stacks: true,
	Keys: []string{"outputdims", "depth", "rank", "bias_optimizer", "optimizer", "init", "outputformat"},
	Help: "x0*(xW+b)+x of a cross network, W of full rank or of rank",
	New:  newCross,
}

type crossing struct {
	plain
	n, rank int
	params  []graph.Param
	x0, x   *graph.Tensor
	z       graph.Tensor
	low     graph.Tensor // x*V
	d, dlow []float32
}

func newCross(s Spec) (graph.Layer, error) {
	var in graph.Shape
	for i := range s.In {
		one, err := s.flat(i)
		if err != nil {
			return nil, err
		}
		if i > 0 && one.Cols != in.Cols {
			return nil, fmt.Errorf("reads layers of %d and %d outputs, want the same of both", in.Cols, one.Cols)
		}
		in = one
	}
	n := in.Cols
	if err := s.check(n); err != nil {
		return nil, err
	}
	if s.Rank < 0 || s.Rank > n {
		return nil, fmt.Errorf("rank %d, want 1 to %d, or none for full rank", s.Rank, n)
	}
	l := &crossing{plain: plain{name: s.Name, shape: graph.Shape{Cols: n}}, n: n, rank: s.Rank}
	type part struct {
		what     string
		from, to int
	}
	parts := []part{{"weight", n, n}}
	if l.rank > 0 {
		parts = []part{{"left", n, l.rank}, {"right", l.rank, n}}
	}
	for _, p := range parts {
		if cells, ok := matrix.Cells(int64(p.from), int64(p.to)); !ok || cells > WeightLimit {
			return nil, tooMany(p.from, p.to)
		}
		m, err := s.weights(p.what, "cross", 1, p.from*p.to, s.Weight, matrix.Init{Kind: "uniform", Scale: 1 / math.Sqrt(float64(p.from))})
		if err != nil {
			return nil, err
		}
		l.params = append(l.params, m)
	}
	bias, err := s.bias("cross", n)
	l.params = append(l.params, bias)
	return l, err
}

// Params implements graph.Layer.
func (l *crossing) Params() []graph.Param { return l.params }

// Forward implements graph.Layer.
func (l *crossing) Forward(x *graph.Input, params []graph.Values, in []*graph.Tensor) (*graph.Tensor, error) {
	l.x0, l.x = in[0], in[len(in)-1]
	b, n := x.Len(), l.n
	l.z.Resize(b, n)
	fillRows(l.z.Val, params[len(params)-1].Val)
	if l.rank == 0 {
		kernel.Gemm(b, n, n, l.x.Val, params[0].Val, l.z.Val)
	} else {
		l.low.Resize(b, l.rank)
		clear(l.low.Val)
		kernel.Gemm(b, l.rank, n, l.x.Val, params[0].Val, l.low.Val)
		kernel.Gemm(b, n, l.rank, l.low.Val, params[1].Val, l.z.Val)
	}
	l.out.Resize(b, n)
	copy(l.out.Val, l.x.Val)
	kernel.MulAdd(l.out.Val, l.x0.Val, l.z.Val)
	return &l.out, nil
}

// Backward implements graph.Layer.
func (l *crossing) Backward(x *graph.Input, params, grads []graph.Values, grad *graph.Tensor, back []*graph.Tensor) error {
	b, n := x.Len(), l.n
	dx0, dx := back[0].Val, back[len(back)-1].Val
	l.d = resize(l.d, b*n)
	kernel.Combine(kernel.Times, l.d, grad.Val, l.x0.Val)
	kernel.MulAdd(dx0, grad.Val, l.z.Val)
	addTo(dx, grad.Val)
	kernel.ColumnSums(grads[len(grads)-1].Val, l.d)
	if l.rank == 0 {
		kernel.GemmTN(n, n, b, l.x.Val, l.d, grads[0].Val)
		kernel.GemmNT(b, n, n, l.d, params[0].Val, dx)
		return nil
	}
	kernel.GemmTN(l.rank, n, b, l.low.Val, l.d, grads[1].Val)
	l.dlow = resize(l.dlow, b*l.rank)
	clear(l.dlow)
	kernel.GemmNT(b, l.rank, n, l.d, params[1].Val, l.dlow)
	kernel.GemmTN(n, l.rank, b, l.x.Val, l.dlow, grads[0].Val)
	kernel.GemmNT(b, n, l.rank, l.dlow, params[0].Val, dx)
	return nil
}
