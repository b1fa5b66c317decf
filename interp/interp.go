// Package interp runs the topology of a Paddle model on its parameters: the operators that inference of small networks
// needs, one line of a table each, in float32.
//
// # Arithmetic
//
// Floats are float32, and every operator gives float32; integers (ids, shapes) are int64. Sums of many terms are kept in
// float64 and rounded to float32 once, so that they are nearer to the truth than any order of float32 additions. Results
// do not depend on the machine, but for exp, log, tanh and pow, which the Go library computes in float64.
//
//   - products of matrices: products, which are exact in float64, are added one by one in the order of the inner index
//   - conv2d: the same over channel, row and column of the filter
//   - reduce_sum, reduce_mean, mean, pool2d, the denominator of softmax: one by one, in the order of storage;
//     reduce_prod likewise
//   - instance_norm like layer_norm; comparisons give truth values
//   - gelu, swish, elu, softplus, hard_sigmoid, hard_swish, pow, clip, rsqrt and log_softmax compute in float64 and round once,
//     layer_norm rounds the normalized value, its product with the scale and the sum
//   - all else rounds to float32 after each step: batch_norm is (x - mean) * (1 / sqrt(variance + epsilon)) * scale + bias
//     from left to right
//
// Half-precision parameters are widened, so a model of half floats gives other digits than in Paddle.
//
// # Operators
//
// A program is checked before anything runs: operators that the table does not have are named with their positions,
// attributes must have the types that the table says, and every variable must be made before it is used. Attributes that
// steer execution only (use_cudnn and the like) are passed over; others that the table does not know are refused unless
// they are false, zero or empty.
//
// # Control flow
//
// Loops and branches run the blocks that their attributes name. Variables of all blocks live in one table, since the names
// of a block must not hide those around it; a block's own are gone behind it, and the step behind which a variable is not
// needed is known before anything runs.
package interp

import (
	"errors"
	"fmt"
	"strings"

	"thole.example/matrix"
)

// ErrOp says that a program has operators, attributes or types that are not supported.
var ErrOp = errors.New("not supported")

// ErrShape says that shapes do not fit together.
var ErrShape = errors.New("shapes do not fit")

// Position is an operator of a program.
type Position struct {
	Block, Index int
	Type         string
}

// String is "operator 3 (mul)", with the block where it is not the first.
func (p Position) String() string {
	if p.Block != 0 {
		return fmt.Sprintf("operator %d (%s) of block %d", p.Index, p.Type, p.Block)
	}
	return fmt.Sprintf("operator %d (%s)", p.Index, p.Type)
}

// UnknownOpsError lists the operators that the interpreter does not have. It wraps ErrOp.
type UnknownOpsError struct{ Ops []Position }

// Error implements error.
func (e *UnknownOpsError) Error() string {
	var all []string
	for _, p := range e.Ops {
		if len(all) == 20 {
			all = append(all, fmt.Sprintf("and %d more", len(e.Ops)-len(all)))
			break
		}
		all = append(all, p.String())
	}
	return "not known to the interpreter: " + strings.Join(all, ", ")
}

// Unwrap gives ErrOp.
func (e *UnknownOpsError) Unwrap() error { return ErrOp }

// maxElems is the largest number of elements of one tensor.
const maxElems = 1 << 28

// Tensor is values with a shape, row-major. Floats are in F (Type is matrix.F32), integers and truth values in I (Type is
// any integer type or matrix.Bool).
type Tensor struct {
	Dims []int
	Type matrix.DType
	F    []float32
	I    []int64
}

// Floats is a tensor of float32 over the values, which must be as many as the product of the dimensions.
func Floats(v []float32, dims ...int) *Tensor { return &Tensor{Dims: dims, Type: matrix.F32, F: v} }

// Ints is a tensor of int64 over the values, which must be as many as the product of the dimensions.
func Ints(v []int64, dims ...int) *Tensor { return &Tensor{Dims: dims, Type: matrix.I64, I: v} }

// Len is the number of values.
func (t *Tensor) Len() int { return len(t.F) + len(t.I) }

// check holds a tensor from outside to what its fields promise.
func (t *Tensor) check() error {
	n, err := elems(t.Dims)
	switch {
	case err != nil:
		return err
	case t.Type == matrix.F32 && (len(t.F) != n || t.I != nil), t.Type != matrix.F32 && (len(t.I) != n || t.F != nil):
		return fmt.Errorf("%d values of shape %v and type %v, want %d: %w", t.Len(), t.Dims, t.Type, n, ErrShape)
	case t.Type.Float() && t.Type != matrix.F32 || t.Type.Size() == 0:
		return fmt.Errorf("values of type %v, want f32 or integers: %w", t.Type, ErrOp)
	}
	return nil
}

// elems is the number of elements of a shape; it fails beyond maxElems. A dimension of 0 does not make up for others, through
// which operators count.
func elems(dims []int) (int, error) {
	n, others := 1, 1 // others: without dimensions of 0
	for _, d := range dims {
		if d < 0 {
			return 0, fmt.Errorf("shape %v: dimension %d, want none below 0: %w", dims, d, ErrShape)
		}
		if n *= d; d > 0 {
			others *= d
		}
		if d > maxElems || others > maxElems {
			return 0, fmt.Errorf("shape %v: more than %d elements: %w", dims, maxElems, ErrShape)
		}
	}
	return n, nil
}

// newFloats is a tensor of zeros.
func newFloats(dims []int) (*Tensor, error) {
	n, err := elems(dims)
	if err != nil {
		return nil, err
	}
	return Floats(make([]float32, n), dims...), nil
}

// reshaped is the same values in another shape of as many elements.
func (t *Tensor) reshaped(dims []int) (*Tensor, error) {
	n, err := elems(dims)
	if err != nil {
		return nil, err
	}
	if n != t.Len() {
		return nil, fmt.Errorf("%d values of shape %v as %v: %w", t.Len(), t.Dims, dims, ErrShape)
	}
	return &Tensor{Dims: dims, Type: t.Type, F: t.F, I: t.I}, nil
}

// like is a tensor of zeros of another shape and t's type.
func (t *Tensor) like(dims []int) (*Tensor, error) {
	n, err := elems(dims)
	if err != nil {
		return nil, err
	}
	out := &Tensor{Dims: dims, Type: t.Type}
	if t.Type == matrix.F32 {
		out.F = make([]float32, n)
	} else {
		out.I = make([]int64, n)
	}
	return out, nil
}

// zeros is a tensor of t's shape and of a type.
func (t *Tensor) zeros(as matrix.DType) *Tensor {
	out, _ := (&Tensor{Type: as}).like(t.Dims) // no error: t has as many elements
	return out
}
