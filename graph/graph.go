// Package graph wires layers into a network and runs it forward and backward on a batch. Layers are pure: they say
// which parameter matrices they have, and compute from values that they are given. Where parameters live is behind the
// interface [Params], which package ps satisfies.
//
// # A step
//
// [Run.Lookups] plans the different feature columns of a batch once for all matrices, and says what is to be pulled.
// [Run.Step] then takes the examples some hundred at a time ([BlockRows]) through all layers forward and backward, so that
// activations stay in the second cache; gradients of parameters add up over the batch. [Run.Push] gives them away. What a
// step computes does not depend on how columns are planned, nor on where the parameters live.
package graph

import (
	"context"

	"thole.example/matrix"
)

// Lookup is what a batch needs of a parameter matrix.
type Lookup = matrix.Lookup

// Params is what a model needs of the world. It belongs to one task and is used by one goroutine.
type Params interface {
	// Plan plans the columns keys, in any order and with duplicates, for lookups and pushes of the matrices: one plan for
	// each, the same one where that will do. Plans are valid until the call after the next.
	Plan(keys []int64, matrices []string) ([]matrix.Plan, error)
	// Pull gives the parameters of the lookups, in their order, as of the task's clock.
	Pull(ctx context.Context, lookups []Lookup) ([]matrix.Block, error)
	// Push keeps a gradient until Clock. The block belongs to Params from then on.
	Push(name string, grad matrix.Block) error
	// PushPlanned keeps a gradient by the planned columns until Clock: for each of plan.Unique the values of all rows. It
	// copies them.
	PushPlanned(name string, plan matrix.Plan, grad []float32) error
	// Clock sends what was pushed, says that the gradients are sums over weight examples and are to be applied with the
	// learning rate, and moves the task's clock on by one. It does not wait for other tasks.
	Clock(ctx context.Context, weight, rate float64) error
}

// Counter is what Params have to be for models with columns that are counted (matrix.Keep.Counts).
type Counter interface {
	// PushCounts keeps the shows and clicks of the planned columns until Clock: two values for each of plan.Unique. It copies them.
	PushCounts(name string, plan matrix.Plan, counts []float32) error
}

// WholeLimit is the largest number of weights of a dense matrix of features that is pulled and pushed whole; of larger ones
// each batch takes the columns that occur in it.
const WholeLimit = 1 << 16

// Param is a parameter matrix of a layer.
type Param struct {
	matrix.Meta
	// Features says that columns are feature columns: a batch needs those that occur in it.
	Features bool
	// Rate is by what the learning rate of a step is multiplied for this matrix; 0 counts as 1. If it is Fixed it is the rate
	// of all steps.
	Rate  float64
	Fixed bool
}

// Whole reports whether the matrix is pulled whole, whatever the batch.
func (p *Param) Whole() bool {
	if !p.Features {
		return true
	}
	cells, ok := matrix.Cells(p.Rows, p.Cols)
	return p.Layout == matrix.RowDense && ok && cells <= WholeLimit
}

// Values are values of a parameter matrix for a batch, or gradients by them. Of a matrix of features Val has column after
// column, each with its values for all rows, and At says for each stored value of the examples (see Input) at which of
// these its column is. Of other matrices Val is row-major and At is nil.
type Values struct {
	At  []uint32
	Val []float32
}

// Shape is what a layer gives for each example: Cols numbers, which are vectors of Factors numbers if that is not 0. With
// Ragged they are vectors of Factors numbers, as many as the example has stored values.
type Shape struct {
	Cols, Factors int
	Ragged        bool
}

// Tensor is a dense matrix of activations, row-major: one row per example, or, for Ragged shapes, per stored value.
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

// Input is some consecutive examples of a batch, as layers see them: the stored values of example i are Val[k] in column
// Idx[k] for k from Ptr[i] to Ptr[i+1], where Ptr[0] need not be 0. It is read-only.
type Input struct {
	Label []float32
	// Weight is how much each example counts; nil: 1. The gradients that layers get have it in them.
	Weight []float32
	Ptr    []int
	Idx    []int64
	Val    []float32
	// Field is the field of each stored value, ascending within an example; nil if fields are not known.
	Field  []int32
	Fields int // how many; 0 if they are not known

	First int    // number of the first example in the batch
	Train bool   // parameters are being learned: layers that then behave otherwise do so
	Salt  uint64 // of random choices: differs between batches, tasks and seeds
}

// Len is the number of examples.
func (x *Input) Len() int { return len(x.Ptr) - 1 }

// Layer is a node of the network. A Layer keeps what Backward needs between Forward and Backward, so each task has its
// own. The slices that it is given are the caller's and are used again after the call.
type Layer interface {
	Name() string
	// Params describes the parameter matrices of the layer.
	Params() []Param
	// Shape is that of the output.
	Shape() Shape
	// Forward computes the activations of the examples from the parameters (as Params has them) and the outputs of the
	// input layers. The result is valid until the next Forward; all arguments stay as they are until Backward.
	Forward(x *Input, params []Values, in []*Tensor) (*Tensor, error)
	// Backward takes the gradient of the loss by the output, which it may change, and adds the gradients by the
	// parameters to those in grads and the gradients by the inputs to those in back.
	Backward(x *Input, params, grads []Values, grad *Tensor, back []*Tensor) error
}

// WholeBatch is a Layer that has to see all examples of a batch at once, to learn.
type WholeBatch interface {
	Layer
	// NeedsBatch reports whether it does.
	NeedsBatch() bool
}

// Embedder is a Layer whose one matrix has a vector for each feature.
type Embedder interface {
	Layer
	// Vectors reports whether the output is, for each stored value of the examples in their order, the value times its vector, and
	// nothing else.
	Vectors() bool
}

// VectorReader is a Layer that reads one other, and can read the vectors of an Embedder where they are, so that nobody copies them.
type VectorReader interface {
	Layer
	// ForwardVectors is Forward, with the same bits, of what an Embedder of the values v gives. It is not followed by Backward.
	ForwardVectors(x *Input, v Values) (*Tensor, error)
}
