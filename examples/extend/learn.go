package extend

import (
	"math"
	"strconv"

	"thole.example/graph"
	"thole.example/layer"
	"thole.example/loss"
	"thole.example/matrix"
	"thole.example/psf"
)

// Constant is a layer without features: its output is its bias, for every example. The gradient by the bias is the sum of the
// gradients of the batch.
var Constant = layer.Kind{Name: "constantlayer", Help: "one number for all examples",
	New: func(s layer.Spec) (graph.Layer, error) { return &constant{spec: s}, nil }}

type constant struct {
	spec layer.Spec
	out  graph.Tensor
}

func (c *constant) Name() string { return c.spec.Name }

func (c *constant) Shape() graph.Shape { return graph.Shape{Cols: 1} }

func (c *constant) Params() []graph.Param {
	return []graph.Param{{Meta: matrix.Meta{Name: c.spec.Name + "_bias", Rows: 1, Cols: 1, DType: matrix.F32,
		Rule: c.spec.Bias.Rule, Hyper: c.spec.Bias.Hyper}}}
}

func (c *constant) Forward(x *graph.Input, params []graph.Values, _ []*graph.Tensor) (*graph.Tensor, error) {
	c.out.Resize(x.Len(), 1)
	for i := range c.out.Val {
		c.out.Val[i] = params[0].Val[0]
	}
	return &c.out, nil
}

func (c *constant) Backward(_ *graph.Input, _, grads []graph.Values, grad *graph.Tensor, _ []*graph.Tensor) error {
	for _, g := range grad.Val {
		grads[0].Val[0] += g
	}
	return nil
}

// Absolute is the loss |s-y|, whose best constant is the median of the labels: dL/ds = sign(s-y).
var Absolute = loss.Kind{Name: "absoluteloss", Help: "|s-y|; predicts the score", Width: 1,
	New: func(map[string]float64) graph.Loss { return absolute{} }}

type absolute struct{ loss.Numbers }

func (absolute) Name() string { return "absoluteloss" }

func (absolute) Loss(score *graph.Tensor, label []float32, grad *graph.Tensor) (sum float64) {
	for i, s := range score.Val {
		d := float64(s) - float64(label[i])
		sum += math.Abs(d)
		switch {
		case d > 0:
			grad.Val[i] = 1
		case d < 0:
			grad.Val[i] = -1
		default:
			grad.Val[i] = 0
		}
	}
	return sum
}

func (absolute) Predict(to []float64, score []float32) []float64 {
	return append(to, float64(score[0]))
}

// Fading is an update rule: gradient descent whose steps fade with their number, w = w - rate/sqrt(t) * g. No slots.
var Fading = psf.Rule{Name: "fading", Help: "gradient descent with steps of rate/sqrt(t)",
	Rates: psf.Rates{Classes: 0.5, Numbers: 0.1},
	New: func(map[string]float64) psf.Step {
		return psf.Step{
			F32: func(w, g []float32, _ [][]float32, rate float64, t int64) { fade(w, g, rate, t) },
			F64: func(w, g []float64, _ [][]float64, rate float64, t int64) { fade(w, g, rate, t) },
		}
	}}

func fade[T float32 | float64](w, g []T, rate float64, t int64) {
	by := T(rate / math.Sqrt(float64(t)))
	for i := range w {
		w[i] -= by * g[i]
	}
}

// Negatives is a get function: how many cells are below zero. (What is not stored of a sparse matrix is 0 here.)
var Negatives = psf.Func{Name: "negatives", Help: "number of cells below zero",
	Bind: func(psf.Args, *matrix.Meta) (*psf.Call, error) {
		all := psf.Rows{All: true}
		return &psf.Call{Reads: all, Part: negatives(all), Merge: addUp}, nil
	}}

// negatives counts in one partition.
func negatives(rows psf.Rows) func(v psf.View) ([]byte, error) {
	return func(v psf.View) ([]byte, error) {
		n := int64(0)
		err := psf.Each(v, rows, false, func(c *psf.Chunk[float64]) error {
			for _, row := range c.Rows {
				for _, x := range row {
					if x < 0 {
						n++
					}
				}
			}
			return nil
		})
		return strconv.AppendInt(nil, n, 10), err
	}
}

// addUp makes one count of those of the partitions.
func addUp(parts [][]byte) (psf.Answer, error) {
	sum := int64(0)
	for _, p := range parts {
		n, err := strconv.ParseInt(string(p), 10, 64)
		if err != nil {
			return nil, err
		}
		sum += n
	}
	return strconv.AppendInt(nil, sum, 10), nil
}
