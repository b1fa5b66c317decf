package layer

import (
	"math"

	"thole.example/graph"
	"thole.example/kernel"
	"thole.example/matrix"
)

// connected is a fully connected layer of K outputs over n inputs: for B examples
//
//	out = f(X*W + b)               // X: [B, n]; W: [n, K] in the one row of <name>_weight, input after input; b: [1, K]
//	D   = grad * f'(out)           // [B, K], element by element
//	dW  = X'*D,  db = sum of the rows of D,  dX = D*W'
//
// Weights start uniform in [-1/sqrt(n), 1/sqrt(n)) (LeCun and others, Efficient BackProp, 1998; what PyTorch does).
var connected = Kind{
	Name: "fclayer", Also: []string{"fc", "fullyconnectedlayer"}, Least: 1, Most: 1, Stacks: true,
	Keys: []string{"outputdims", "transfunc", "transfuncs", "bias_optimizer", "optimizer", "init", "outputformat"},
	Help: "f(XW+b) over the outputs of another layer",
	New:  newConnected,
}

type full struct {
	name            string
	inputs, outputs int
	transfer        *activation
	weight, bias    graph.Param
	x               *graph.Tensor
	out             graph.Tensor
}

func newConnected(s Spec) (graph.Layer, error) {
	in, err := s.flat(0)
	if err != nil {
		return nil, err
	}
	if err := s.check(s.OutputDim); err != nil {
		return nil, err
	}
	l := &full{name: s.Name, inputs: in.Cols, outputs: s.OutputDim}
	if l.transfer, err = s.activation(); err != nil {
		return nil, err
	}
	if n, ok := matrix.Cells(int64(l.inputs), int64(l.outputs)); !ok || n > WeightLimit {
		return nil, tooMany(l.inputs, l.outputs)
	}
	init := matrix.Init{Kind: "uniform", Scale: 1 / math.Sqrt(float64(l.inputs))}
	if l.weight, err = s.weights("weight", "fc", 1, l.inputs*l.outputs, s.Weight, init); err != nil {
		return nil, err
	}
	l.bias, err = s.bias("fc", l.outputs)
	return l, err
}

// Name implements graph.Layer.
func (l *full) Name() string { return l.name }

// Params implements graph.Layer.
func (l *full) Params() []graph.Param { return []graph.Param{l.weight, l.bias} }

// Shape implements graph.Layer.
func (l *full) Shape() graph.Shape { return graph.Shape{Cols: l.outputs} }

// Forward implements graph.Layer.
func (l *full) Forward(x *graph.Input, params []graph.Values, in []*graph.Tensor) (*graph.Tensor, error) {
	l.x = in[0]
	l.out.Resize(x.Len(), l.outputs)
	fillRows(l.out.Val, params[1].Val)
	kernel.Gemm(x.Len(), l.outputs, l.inputs, l.x.Val, params[0].Val, l.out.Val)
	l.transfer.apply(x, &l.out)
	return &l.out, nil
}

// Backward implements graph.Layer.
func (l *full) Backward(x *graph.Input, params, grads []graph.Values, grad *graph.Tensor, back []*graph.Tensor) error {
	l.transfer.slope(x, &l.out, grad.Val)
	kernel.GemmTN(l.inputs, l.outputs, x.Len(), l.x.Val, grad.Val, grads[0].Val)
	kernel.ColumnSums(grads[1].Val, grad.Val)
	kernel.GemmNT(x.Len(), l.inputs, l.outputs, grad.Val, params[0].Val, back[0].Val)
	return nil
}

// fillRows makes every row of t the given one.
func fillRows(t, row []float32) {
	for ; len(t) > 0; t = t[len(row):] {
		copy(t, row)
	}
}
