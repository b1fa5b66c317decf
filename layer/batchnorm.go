package layer

import (
	"math"

	"thole.example/graph"
	"thole.example/matrix"
)

// batchNorm makes each column of its input have mean 0 and variance 1 within a batch, and then scales and shifts it (Ioffe and
// Szegedy, Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate Shift, 2015). With mean and
// variance of a column over the B examples of a task's batch, and eps = 1e-5
//
//	h    = (x - mean) / sqrt(variance + eps)
//	out  = weight*h + bias
//	dh   = grad * weight
//	dx   = (dh - mean of dh - h * mean of dh*h) / sqrt(variance + eps)
//	dweight = sum of grad*h,  dbias = sum of grad
//
// A trained network takes the running means in <name>_mean and <name>_var instead, which every step moves by a tenth towards those
// of its batch, all tasks together; the variance is that of a sample (divided by B-1). A batch of one example has none, and learns by the
// running means as they are. Weights of examples are in the gradients alone: mean and variance are of the examples as they come.
var batchNorm = Kind{
	Name: "batchnormlayer", Also: []string{"batchnorm", "batchnormalization"}, Least: 1, Most: 1, Free: true,
	Keys: []string{"optimizer", "init", "outputformat"},
	Help: "columns of mean 0 and variance 1 within a batch, scaled and shifted",
	New:  newBatchNorm,
}

const (
	normEps  = 1e-5 // as PyTorch
	normPart = 0.1  // of the way that running means go in a step; as PyTorch
)

type norm struct {
	plain
	n      int
	params []graph.Param // weight, bias, mean, var
	h      graph.Tensor
	mean   []float64
	square []float64 // variance
	scale  []float64 // 1/sqrt(variance + eps)
	moved  bool      // mean and variance are those of the batch
}

func newBatchNorm(s Spec) (graph.Layer, error) {
	in, err := s.flat(0)
	if err != nil {
		return nil, err
	}
	if err := s.check(in.Cols); err != nil {
		return nil, err
	}
	l := &norm{plain: plain{name: s.Name, shape: in}, n: in.Cols}
	one, zero := matrix.Init{Kind: "constant", Scale: 1}, matrix.Init{}
	s.Init.Kind = "" // weights that begin at random would make the scale of activations random
	for _, p := range []struct {
		what string
		init matrix.Init
		rule Update
	}{{"weight", one, s.Bias}, {"bias", zero, s.Bias}, {"mean", zero, Update{Rule: "sgd"}}, {"var", one, Update{Rule: "sgd"}}} {
		m, err := s.weights(p.what, "batchnorm", 1, l.n, p.rule, p.init)
		if err != nil {
			return nil, err
		}
		if p.what == "mean" || p.what == "var" {
			m.Rate, m.Fixed = normPart, true
		}
		l.params = append(l.params, m)
	}
	l.mean, l.square, l.scale = make([]float64, l.n), make([]float64, l.n), make([]float64, l.n)
	return l, nil
}

// Params implements graph.Layer.
func (l *norm) Params() []graph.Param { return l.params }

// NeedsBatch implements graph.WholeBatch.
func (l *norm) NeedsBatch() bool { return true }

// Forward implements graph.Layer.
func (l *norm) Forward(x *graph.Input, params []graph.Values, in []*graph.Tensor) (*graph.Tensor, error) {
	b := x.Len()
	if l.moved = x.Train && b > 1; l.moved { // one example has no variance: it learns by the running means
		l.measure(in[0])
	} else {
		for c := range l.n {
			l.mean[c], l.square[c] = float64(params[2].Val[c]), float64(params[3].Val[c])
		}
	}
	for c, v := range l.square {
		l.scale[c] = 1 / math.Sqrt(v+normEps)
	}
	l.h.Resize(b, l.n)
	l.out.Resize(b, l.n)
	weight, bias := params[0].Val, params[1].Val
	for row := range b {
		h, out := l.h.Row(row), l.out.Row(row)
		for c, v := range in[0].Row(row) {
			h[c] = float32((float64(v) - l.mean[c]) * l.scale[c])
			out[c] = float32(weight[c]*h[c]) + bias[c]
		}
	}
	return &l.out, nil
}

// measure finds mean and variance of the columns, in two passes.
func (l *norm) measure(t *graph.Tensor) {
	clear(l.mean)
	clear(l.square)
	for row := range t.Rows {
		for c, v := range t.Row(row) {
			l.mean[c] += float64(v)
		}
	}
	for c := range l.mean {
		l.mean[c] /= float64(t.Rows)
	}
	for row := range t.Rows {
		for c, v := range t.Row(row) {
			d := float64(v) - l.mean[c]
			l.square[c] += float64(d * d)
		}
	}
	for c := range l.square {
		l.square[c] /= float64(t.Rows)
	}
}

// Backward implements graph.Layer. The gradients by the running means are what a fixed rate moves them along.
func (l *norm) Backward(x *graph.Input, params, grads []graph.Values, grad *graph.Tensor, back []*graph.Tensor) error {
	b, w := float64(grad.Rows), float64(grad.Rows)
	if x.Weight != nil { // by the sum of which the step of the running means is divided
		w = 0
		for _, v := range x.Weight {
			w += float64(v)
		}
	}
	sum, along := make([]float64, l.n), make([]float64, l.n) // of grad and of grad*h
	for row := range grad.Rows {
		h := l.h.Row(row)
		for c, g := range grad.Row(row) {
			sum[c] += float64(g)
			along[c] += float64(g) * float64(h[c])
		}
	}
	for c := range l.n {
		grads[0].Val[c] += float32(along[c])
		grads[1].Val[c] += float32(sum[c])
		if !l.moved {
			sum[c], along[c] = 0, 0 // means do not depend on the batch
			continue
		}
		grads[2].Val[c] += float32(w * (float64(params[2].Val[c]) - l.mean[c]))
		grads[3].Val[c] += float32(w * (float64(params[3].Val[c]) - l.square[c]*b/(b-1)))
	}
	for row := range grad.Rows {
		h, to := l.h.Row(row), back[0].Row(row)
		for c, g := range grad.Row(row) {
			d := float64(g) - sum[c]/b - float64(h[c])*along[c]/b
			to[c] += float32(float64(params[0].Val[c]) * l.scale[c] * d)
		}
	}
	return nil
}
