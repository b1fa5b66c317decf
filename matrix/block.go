package matrix

import (
	"fmt"
	"slices"
)

// Block is a place in a matrix and the values in it. Passing a Block passes its slices; who may keep or change them is
// said by the function that takes it.
type Block struct {
	At   Rect
	Data Data
}

// Data holds the values of a block in one of five ways: Empty, *Dense, *CSR, *COO or *Cols. The interface is sealed, so
// that a type switch over it can be complete.
type Data interface {
	// DType is the element type.
	DType() DType
	// NNZ is the number of stored values, zeros included.
	NNZ() int
	// Values is the []T of stored values, nil for Empty. It is the data's own slice, not a copy.
	Values() any

	check(at Rect) error
	clone() Data
	cut(at, want Rect) Data
	dense(at Rect) Data
	csr(at Rect) Data
	compact(at Rect) (rows []int64, d Data)
	cast(to DType) (d Data, exact bool)
	addTo(dst Data, at, place Rect) error
	putTo(dst Data, at, place Rect) error
	scale(by float64)
	divide(n int64)
	prune(at Rect, below float64) (Data, int)
	text(at Rect, emit func(row, col int64, value []byte) error) error
}

// Empty stores no value: zeros in a dense matrix, nothing in a sparse one.
type Empty struct{ D DType }

// Dense stores every cell of the place, row-major: len(Val) is rows times columns.
type Dense[T Stored] struct{ Val []T }

// CSR stores the cells of row i (from At.Rows.Lo on) in Idx[Ptr[i]:Ptr[i+1]] and Val[Ptr[i]:Ptr[i+1]]. Idx are
// absolute column ids, strictly ascending in a row. len(Ptr) is rows plus one.
type CSR[T Stored] struct {
	Ptr []int
	Idx []int64
	Val []T
}

// COO stores the cell in row Row[i] (counted from At.Rows.Lo), column Col[i] (absolute) as Val[i], in any order, no
// cell twice.
type COO[T Stored] struct {
	Row, Col []int64
	Val      []T
}

// Cols stores the columns Idx (absolute, strictly ascending), each with its values for all rows of the place: column
// Idx[k] has Val[k*rows:(k+1)*rows].
type Cols[T Stored] struct {
	Idx []int64
	Val []T
}

// DType implements Data.
func (e Empty) DType() DType     { return e.D }
func (d *Dense[T]) DType() DType { return DTypeOf[T]() }
func (d *CSR[T]) DType() DType   { return DTypeOf[T]() }
func (d *COO[T]) DType() DType   { return DTypeOf[T]() }
func (d *Cols[T]) DType() DType  { return DTypeOf[T]() }

// NNZ implements Data.
func (e Empty) NNZ() int     { return 0 }
func (d *Dense[T]) NNZ() int { return len(d.Val) }
func (d *CSR[T]) NNZ() int   { return len(d.Val) }
func (d *COO[T]) NNZ() int   { return len(d.Val) }
func (d *Cols[T]) NNZ() int  { return len(d.Val) }

// Values implements Data.
func (e Empty) Values() any     { return nil }
func (d *Dense[T]) Values() any { return d.Val }
func (d *CSR[T]) Values() any   { return d.Val }
func (d *COO[T]) Values() any   { return d.Val }
func (d *Cols[T]) Values() any  { return d.Val }

// Check reports the first violation of the rules that the types above state: lengths, order, ids outside the place.
func (b Block) Check() error {
	if b.Data == nil {
		return fmt.Errorf("block %v: no data", b.At)
	}
	if b.At.Rows.Hi < b.At.Rows.Lo || b.At.Cols.Hi < b.At.Cols.Lo {
		return fmt.Errorf("block %v: reversed range", b.At)
	}
	if err := b.Data.check(b.At); err != nil {
		return fmt.Errorf("block %v: %w", b.At, err)
	}
	return nil
}

// Clone is a copy of b that shares no slice with it.
func (b Block) Clone() Block { return Block{b.At, b.Data.clone()} }

func (e Empty) clone() Data     { return e }
func (d *Dense[T]) clone() Data { return &Dense[T]{slices.Clone(d.Val)} }
func (d *CSR[T]) clone() Data {
	return &CSR[T]{slices.Clone(d.Ptr), slices.Clone(d.Idx), slices.Clone(d.Val)}
}
func (d *COO[T]) clone() Data {
	return &COO[T]{slices.Clone(d.Row), slices.Clone(d.Col), slices.Clone(d.Val)}
}
func (d *Cols[T]) clone() Data { return &Cols[T]{slices.Clone(d.Idx), slices.Clone(d.Val)} }
