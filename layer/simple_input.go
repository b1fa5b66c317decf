package layer

import (
	"thole.example/graph"
	"thole.example/kernel"
	"thole.example/matrix"
)

// simpleInput is the layer that reads sparse features: for B examples, Dim features and K outputs
//
//	out = f(X*W' + b)              // X: [B, Dim] sparse; W: [K, Dim] <name>_weight; b: [1, K] <name>_bias; out: [B, K]
//	D   = grad * f'(out)           // [B, K], element by element
//	dW  = D'*X,  db = sum of the rows of D
//
// Weights start at zero, but with a transfer function: then uniform in [-0.1, 0.1), as hidden outputs that are all alike
// would stay so.
var simpleInput = Kind{
	Name: "simpleinputlayer", Also: []string{"sparseinputlayer", "denseinputlayer"},
	Keys: []string{"transfunc", "bias_optimizer", "optimizer", "init", "outputformat"},
	Help: "f(XW+b) over sparse features",
	New:  newInput,
}

type input struct {
	name         string
	outputs      int
	transfer     *activation
	weight, bias graph.Param
	out          graph.Tensor
}

func newInput(s Spec) (graph.Layer, error) {
	if err := s.check(s.OutputDim); err != nil {
		return nil, err
	}
	l := &input{name: s.Name, outputs: s.OutputDim}
	var err error
	if l.transfer, err = s.activation(); err != nil {
		return nil, err
	}
	init := matrix.Init{}
	if l.transfer.Name != identity.Name {
		init = matrix.Init{Kind: "uniform", Scale: 0.1}
	}
	if l.weight, err = s.features("weight", "simpleinput", s.OutputDim, init); err != nil {
		return nil, err
	}
	l.bias, err = s.bias("simpleinput", s.OutputDim)
	return l, err
}

// Name implements graph.Layer.
func (l *input) Name() string { return l.name }

// Params implements graph.Layer.
func (l *input) Params() []graph.Param { return []graph.Param{l.weight, l.bias} }

// Shape implements graph.Layer.
func (l *input) Shape() graph.Shape { return graph.Shape{Cols: l.outputs} }

// sparse is the rows of the examples, whose values are in the columns at.
func sparse(x *graph.Input, at []uint32) kernel.Sparse {
	lo, hi := x.Ptr[0], x.Ptr[len(x.Ptr)-1]
	return kernel.Sparse{Ptr: x.Ptr, At: at[lo:hi], X: x.Val[lo:hi]}
}

// Forward implements graph.Layer.
func (l *input) Forward(x *graph.Input, params []graph.Values, _ []*graph.Tensor) (*graph.Tensor, error) {
	l.out.Resize(x.Len(), l.outputs)
	clear(l.out.Val)
	kernel.Linear(l.out.Val, params[0].Val, l.outputs, sparse(x, params[0].At))
	kernel.AddRow(l.out.Val, params[1].Val)
	l.transfer.apply(x, &l.out)
	return &l.out, nil
}

// Backward implements graph.Layer.
func (l *input) Backward(x *graph.Input, _, grads []graph.Values, grad *graph.Tensor, _ []*graph.Tensor) error {
	l.transfer.slope(x, &l.out, grad.Val)
	kernel.LinearGrad(grads[0].Val, grad.Val, l.outputs, sparse(x, grads[0].At))
	kernel.ColumnSums(grads[1].Val, grad.Val)
	return nil
}
