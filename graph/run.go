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

// BlockRows is how many examples go through the network at a time: as many as keep the activations in the second cache.
const BlockRows = 256

// Run is a model at work for one task; one goroutine uses it. It works on one batch at a time: Lookups, then Step or
// Scores of what was pulled, then Push. Lookups of the next batch may come before Step of
// the present one.
type Run struct {
	model *Model
	// Seed is of the random choices of layers, such as dropout: tasks have different ones.
	Seed uint64
	// Offset is added to every score that Step compares with a label, and to no other: how the scores of examples that were drawn by
	// their labels differ from those of all.
	Offset float64
	batch  batch
	first  []int  // parameter matrices before those of each node
	stays  []bool // vectors of the node are read where they are, but to learn
	out    []*Tensor
	in     []*Tensor // scratch: inputs of one node
	to     []*Tensor // scratch: where gradients by them go
	back   []Tensor  // gradient by each output
	scores Tensor
	moved  Tensor // scores with the offset
	whole  bool   // a layer needs the whole batch, to learn
	steps  uint64
}

// NewRun checks the model and readies it.
func NewRun(m *Model) (*Run, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	n := len(m.Nodes)
	r := &Run{model: m, first: make([]int, n+1), stays: make([]bool, n), out: make([]*Tensor, n), back: make([]Tensor, n)}
	for i, node := range m.Nodes {
		r.batch.params = append(r.batch.params, node.Layer.Params()...)
		r.first[i+1] = len(r.batch.params)
		if l, ok := node.Layer.(Embedder); ok {
			r.stays[i] = l.Vectors()
		}
		if _, ok := node.Layer.(VectorReader); !ok {
			for _, in := range node.In {
				r.stays[in] = false
			}
		}
		if l, ok := node.Layer.(WholeBatch); ok && l.NeedsBatch() {
			r.whole = true
		}
	}
	r.batch.lookedUp = newLookedUp(r.batch.params)
	r.batch.grads = make([]Values, len(r.batch.params))
	return r, nil
}

// Model is the model that runs.
func (r *Run) Model() *Model { return r.model }

// Lookups plans the columns of the batch and says which parameters it needs: one lookup for each matrix of the model, in that
// order. They are valid until the second Lookups after, and so are batch and parameters.
func (r *Run) Lookups(p Params, b *data.Batch) ([]Lookup, error) {
	lookups, err := r.batch.lookups(p, b)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", r.model.Name, err)
	}
	return lookups, nil
}

// Scores runs the batch forward on the parameters that it looked up. The result is valid until the next Scores or Step.
func (r *Run) Scores(b *data.Batch, params []matrix.Block) (*Tensor, error) {
	if err := r.take(b, params); err != nil {
		return nil, err
	}
	return r.score(b, func(int, int) {})
}

// score runs the batch forward on the values that there are, some examples at a time; ready is told of the stored values that
// they have, before.
func (r *Run) score(b *data.Batch, ready func(lo, hi int)) (*Tensor, error) {
	r.scores.Resize(b.Len(), r.model.Width)
	for lo := 0; lo < b.Len(); lo += BlockRows {
		x := r.batch.input(lo, min(lo+BlockRows, b.Len()))
		ready(x.Ptr[0], x.Ptr[x.Len()])
		score, err := r.forward(x)
		if err != nil {
			return nil, err
		}
		copy(r.scores.Val[lo*r.model.Width:], score.Val)
	}
	return &r.scores, nil
}

// Loss is the sum of the losses of the batch, each times the weight of the example, without gradients.
func (r *Run) Loss(b *data.Batch, params []matrix.Block) (lossSum float64, err error) {
	score, err := r.Scores(b, params)
	if err != nil {
		return 0, err
	}
	var grad Tensor
	grad.Resize(score.Rows, score.Cols)
	return Weighted(r.model.Loss, score, b.Label, b.Weight, &grad), nil
}

// Step runs the batch forward and backward on the parameters that it looked up, and answers the sum of the losses, each times the
// weight of the example; Push then has the gradients of that sum. The error wraps ErrDiverged if the loss is not finite.
func (r *Run) Step(b *data.Batch, params []matrix.Block) (lossSum float64, err error) {
	if err := r.take(b, params); err != nil {
		return 0, err
	}
	r.batch.clearGrads()
	r.steps++
	size := BlockRows
	if r.whole {
		size = b.Len()
	}
	for lo := 0; lo < b.Len(); lo += size {
		x := r.batch.input(lo, min(lo+size, b.Len()))
		x.Train, x.Salt = true, r.Seed+r.steps*0x9e3779b97f4a7c15
		loss, err := r.learn(x)
		if err != nil {
			return 0, err
		}
		lossSum += loss
	}
	r.batch.narrow()
	return lossSum, nil
}

// Skip makes the random choices of layers those after so many steps more.
func (r *Run) Skip(steps uint64) { r.steps += steps }

// take takes what was pulled for the batch.
func (r *Run) take(b *data.Batch, params []matrix.Block) error {
	if err := r.batch.take(b, params); err != nil {
		return fmt.Errorf("model %q: %w", r.model.Name, err)
	}
	return nil
}

// forward runs some examples forward.
func (r *Run) forward(x *Input) (*Tensor, error) {
	var err error
	for i, n := range r.model.Nodes {
		if r.out[i], err = r.output(x, i, n); err != nil {
			return nil, fmt.Errorf("layer %q: %w", n.Layer.Name(), err)
		}
	}
	score := r.out[len(r.out)-1]
	if score.Rows != x.Len() || score.Cols != r.model.Width {
		return nil, fmt.Errorf("model %q: scores of %d x %d, want %d x %d for %s", r.model.Name, score.Rows, score.Cols,
			x.Len(), r.model.Width, r.model.Loss.Name())
	}
	return score, nil
}

// output runs some examples through a node whose inputs are there. Vectors that stay where they are give none.
func (r *Run) output(x *Input, i int, n Node) (*Tensor, error) {
	if !x.Train {
		if r.stays[i] {
			return nil, nil
		}
		if len(n.In) == 1 && r.stays[n.In[0]] {
			return n.Layer.(VectorReader).ForwardVectors(x, r.batch.values[r.first[n.In[0]]])
		}
	}
	r.in = r.in[:0]
	for _, in := range n.In {
		r.in = append(r.in, r.out[in])
	}
	return n.Layer.Forward(x, r.batch.values[r.first[i]:r.first[i+1]], r.in)
}

// learn runs some examples forward and backward.
func (r *Run) learn(x *Input) (loss float64, err error) {
	score, err := r.forward(x)
	if err != nil {
		return 0, err
	}
	for i := range r.back {
		r.back[i].Resize(r.out[i].Rows, r.out[i].Cols)
		clear(r.back[i].Val)
	}
	last := len(r.back) - 1
	loss = Weighted(r.model.Loss, r.shifted(score), x.Label, x.Weight, &r.back[last])
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return 0, fmt.Errorf("model %q: loss %v: %w", r.model.Name, loss, ErrDiverged)
	}
	for i := last; i >= 0; i-- {
		n := r.model.Nodes[i]
		r.to = r.to[:0]
		for _, in := range n.In {
			r.to = append(r.to, &r.back[in])
		}
		lo, hi := r.first[i], r.first[i+1]
		if err := n.Layer.Backward(x, r.batch.values[lo:hi], r.batch.grads[lo:hi], &r.back[i], r.to); err != nil {
			return 0, fmt.Errorf("layer %q: %w", n.Layer.Name(), err)
		}
	}
	return loss, nil
}

// shifted is the scores with the offset. Those of the last layer stay as they are: it may go back by them.
func (r *Run) shifted(score *Tensor) *Tensor {
	if r.Offset == 0 {
		return score
	}
	r.moved.Resize(score.Rows, score.Cols)
	for i, v := range score.Val {
		r.moved.Val[i] = float32(float64(v) + r.Offset)
	}
	return &r.moved
}

// Push gives the gradients of the last Step away, for all matrices in the order of Lookups.
func (r *Run) Push(p Params) error { return r.batch.push(p) }

// Train pulls what the batch needs, computes, pushes the gradients and moves the clock on.
func (r *Run) Train(ctx context.Context, p Params, b *data.Batch, rate float64) (lossSum float64, err error) {
	params, err := r.pull(ctx, p, b)
	if err != nil {
		return 0, err
	}
	if lossSum, err = r.Step(b, params); err != nil {
		return lossSum, err
	}
	weight := b.TotalWeight()
	if weight > 0 || b.Weight == nil { // of examples that count nothing there is no mean to push
		err = r.Push(p)
	}
	if err != nil {
		return lossSum, err
	}
	return lossSum, p.Clock(ctx, weight, rate)
}

// Predict pulls what the batch needs and answers the scores, valid until the next Scores, Step, Train or Predict.
func (r *Run) Predict(ctx context.Context, p Params, b *data.Batch) (*Tensor, error) {
	params, err := r.pull(ctx, p, b)
	if err != nil {
		return nil, err
	}
	return r.Scores(b, params)
}

func (r *Run) pull(ctx context.Context, p Params, b *data.Batch) ([]matrix.Block, error) {
	lookups, err := r.Lookups(p, b)
	if err != nil {
		return nil, err
	}
	return p.Pull(ctx, lookups)
}
