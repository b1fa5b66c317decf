// Package graph wires layers into a network and runs it forward and backward on a batch. Layers are pure: they say
// which parameters they look up, compute from the blocks they are given, and answer with gradients. Where parameters live
// is behind the interface [Params], which package ps satisfies.
package graph

import (
	"context"

	"thole.example/data"
	"thole.example/matrix"
)

// Lookup is what a batch needs of a parameter matrix: all its rows, of the columns Cols (ascending, no column twice), or of
// all columns if Cols is nil. The answer is a *matrix.Dense[float32] for all columns and a *matrix.Cols[float32] for some.
type Lookup = matrix.Lookup

// Params is what a model needs of the world. It belongs to one task and is used by one goroutine.
type Params interface {
	// Pull gives the parameters of the lookups, in their order, as of the task's clock.
	Pull(ctx context.Context, lookups []Lookup) ([]matrix.Block, error)
	// Push keeps a gradient until Clock. The block belongs to Params from then on.
	Push(name string, grad matrix.Block) error
	// Clock sends what was pushed, says that the gradients are sums over weight examples and are to be applied with the
	// learning rate, and moves the task's clock on by one. It does not wait for other tasks.
	Clock(ctx context.Context, weight, rate float64) error
}

// Tensor is a dense matrix of activations: one row per example, row-major.
type Tensor struct {
	Rows, Cols int
	Val        []float32
}

// NewTensor is a tensor of zeros.
func NewTensor(rows, cols int) *Tensor { return &Tensor{rows, cols, make([]float32, rows*cols)} }

// Resize makes t a tensor of rows x cols over the same memory if that is large enough. The values are undefined.
func (t *Tensor) Resize(rows, cols int) {
	t.Rows, t.Cols = rows, cols
	if n := rows * cols; n <= cap(t.Val) {
		t.Val = t.Val[:n]
	} else {
		t.Val = make([]float32, n)
	}
}

// Row is the view of row i.
func (t *Tensor) Row(i int) []float32 { return t.Val[i*t.Cols : (i+1)*t.Cols] }

// Layer is a node of the network. A Layer keeps what Backward needs between Forward and Backward, so each task has its
// own.
type Layer interface {
	Name() string
	// Params describes the parameter matrices of the layer.
	Params() []matrix.Meta
	// Lookups are the parameters that the batch needs: one for each matrix of Params, in that order. The slices are the
	// caller's. The next batches may be asked for before this one goes forward.
	Lookups(b *data.Batch) []Lookup
	// Forward computes the activations from what was looked up and the outputs of the input layers. The result is valid
	// until the next Forward, the inputs must stay as they are until Backward.
	Forward(b *data.Batch, params []matrix.Block, in []*Tensor) (*Tensor, error)
	// Backward turns the gradient of the loss by this layer's output into the gradients by its inputs and by its
	// parameters: sums over the batch, one block per Lookup, in that order. grad is not changed; the gradients by the
	// inputs are valid until the next Backward, the blocks are new ones, which the caller may keep and give away.
	Backward(grad *Tensor) (in []*Tensor, params []matrix.Block, err error)
}
