package graph

import (
	"context"
	"errors"
	"fmt"
	"math"

	"thole.example/data"
	"thole.example/matrix"
)

// ErrDiverged means that the loss of a batch is not a finite number; the gradients of that batch are of no use.
var ErrDiverged = errors.New("training diverged: try a lower learning rate")

// Grad is the gradient of a parameter matrix, a sum over a batch.
type Grad struct {
	Matrix string
	Block  matrix.Block
}

// Run is a model at work for one task; one goroutine uses it. Lookups, Step and Scores compute and touch nothing else,
// so the caller decides when to pull and push: lookups of the next batch may be pulled while this one is computed.
type Run struct {
	model  *Model
	counts []int // parameter matrices of each node
	names  []string
	used   []int // how many inputs of other nodes each output is
	out    []*Tensor
	in     []*Tensor // scratch: inputs of one node
	back   []*Tensor // gradient by each output
	sum    []Tensor  // where gradients of outputs read more than once add up
	grad   Tensor
}

// NewRun checks the model and readies it.
func NewRun(m *Model) (*Run, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	n := len(m.Nodes)
	r := &Run{
		model: m, counts: make([]int, n), used: make([]int, n),
		out: make([]*Tensor, n), back: make([]*Tensor, n), sum: make([]Tensor, n),
	}
	for i, node := range m.Nodes {
		for _, meta := range node.Layer.Params() {
			r.names = append(r.names, meta.Name)
			r.counts[i]++
		}
		for _, in := range node.In {
			r.used[in]++
		}
	}
	return r, nil
}

// Model is the model that runs.
func (r *Run) Model() *Model { return r.model }

// Lookups are the parameters that the batch needs: one for each matrix of the model, in that order.
func (r *Run) Lookups(b *data.Batch) []Lookup {
	var all []Lookup
	for _, n := range r.model.Nodes {
		all = append(all, n.Layer.Lookups(b)...)
	}
	return all
}

// Scores runs the batch forward on the parameters that it looked up. The result is valid until the next Scores or Step.
func (r *Run) Scores(b *data.Batch, params []matrix.Block) (*Tensor, error) {
	if len(params) != len(r.names) {
		return nil, fmt.Errorf("model %q: parameters of %d lookups, want %d", r.model.Name, len(params), len(r.names))
	}
	var err error
	for i, n := range r.model.Nodes {
		r.in = r.in[:0]
		for _, in := range n.In {
			r.in = append(r.in, r.out[in])
		}
		if r.out[i], err = n.Layer.Forward(b, params[:r.counts[i]], r.in); err != nil {
			return nil, fmt.Errorf("layer %q: %w", n.Layer.Name(), err)
		}
		params = params[r.counts[i]:]
	}
	score := r.out[len(r.out)-1]
	if score.Rows != b.Len() || score.Cols != r.model.Width {
		return nil, fmt.Errorf("model %q: scores of %d x %d, want %d x %d for %s", r.model.Name, score.Rows, score.Cols,
			b.Len(), r.model.Width, r.model.Loss.Name())
	}
	return score, nil
}

// Loss is the sum of the losses of the batch, without gradients.
func (r *Run) Loss(b *data.Batch, params []matrix.Block) (lossSum float64, err error) {
	score, err := r.Scores(b, params)
	if err != nil {
		return 0, err
	}
	r.grad.Resize(score.Rows, score.Cols)
	return r.model.Loss.Loss(score, b.Label, &r.grad), nil
}

// Step runs the batch forward and backward on the parameters that it looked up: the sum of the losses, and the gradient of
// that sum by each of them, in the order of Lookups. The blocks are the caller's. The error wraps ErrDiverged if the loss is
// not finite.
func (r *Run) Step(b *data.Batch, params []matrix.Block) (lossSum float64, grads []Grad, err error) {
	if lossSum, err = r.Loss(b, params); err != nil {
		return 0, nil, err
	}
	if math.IsNaN(lossSum) || math.IsInf(lossSum, 0) {
		return lossSum, nil, fmt.Errorf("model %q: loss %v: %w", r.model.Name, lossSum, ErrDiverged)
	}
	grads = make([]Grad, len(r.names))
	clear(r.back)
	r.back[len(r.back)-1] = &r.grad
	at := len(r.names)
	for i := len(r.model.Nodes) - 1; i >= 0; i-- {
		n := r.model.Nodes[i]
		in, blocks, err := n.Layer.Backward(r.back[i])
		if err != nil {
			return 0, nil, fmt.Errorf("layer %q: %w", n.Layer.Name(), err)
		}
		if len(in) != len(n.In) || len(blocks) != r.counts[i] {
			return 0, nil, fmt.Errorf("layer %q: gradients by %d inputs and %d matrices, want %d and %d",
				n.Layer.Name(), len(in), len(blocks), len(n.In), r.counts[i])
		}
		at -= r.counts[i]
		for k, block := range blocks {
			grads[at+k] = Grad{r.names[at+k], block}
		}
		for k, from := range n.In {
			r.collect(from, in[k])
		}
	}
	return lossSum, grads, nil
}

// collect adds g to the gradient by the output of a node. Outputs read once take g as it is.
func (r *Run) collect(node int, g *Tensor) {
	if r.used[node] == 1 {
		r.back[node] = g
		return
	}
	sum := &r.sum[node]
	if r.back[node] == nil {
		r.back[node] = sum
		sum.Resize(g.Rows, g.Cols)
		copy(sum.Val, g.Val)
		return
	}
	for i, v := range g.Val {
		sum.Val[i] += v
	}
}

// Train pulls what the batch needs, computes, pushes the gradients and moves the clock on.
func (r *Run) Train(ctx context.Context, p Params, b *data.Batch, rate float64) (lossSum float64, err error) {
	params, err := p.Pull(ctx, r.Lookups(b))
	if err != nil {
		return 0, err
	}
	lossSum, grads, err := r.Step(b, params)
	if err != nil {
		return lossSum, err
	}
	for _, g := range grads {
		if err := p.Push(g.Matrix, g.Block); err != nil {
			return lossSum, err
		}
	}
	return lossSum, p.Clock(ctx, float64(b.Len()), rate)
}

// Predict pulls what the batch needs and answers the scores, valid until the next Scores, Step, Train or Predict.
func (r *Run) Predict(ctx context.Context, p Params, b *data.Batch) (*Tensor, error) {
	params, err := p.Pull(ctx, r.Lookups(b))
	if err != nil {
		return nil, err
	}
	return r.Scores(b, params)
}
