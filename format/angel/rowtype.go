package angel

import (
	"fmt"
	"math"

	"thole.example/format"
	"thole.example/matrix"
)

// rowType is Angel's number for the element type, storage and key width of a matrix, as metadata of 2.0.0 and later
// have it.
type rowType = matrix.RowType

// storages are the ways to hold a row of an element type, and firstComplex the number after those of all four. What comes
// then holds Java objects.
const (
	storages     = 7
	firstComplex = rowType(4 * storages)
)

func checkRowType(t rowType) error {
	if t.Known() && t != matrix.IntArbitrary {
		return nil
	}
	return fmt.Errorf("%v, want 0..%d (double, float, long, int): %w", t, firstComplex-1, format.ErrVersion)
}

// elementOf is the element type; of objects, which cannot be read, it is bytes.
func elementOf(t rowType) matrix.DType {
	if t.Object() {
		return matrix.U8
	}
	return t.DType()
}

// parseRowType finds the type of a name such as T_FLOAT_DENSE.
func parseRowType(name string) (rowType, bool) {
	t, err := matrix.ParseRowType(name)
	return t, err == nil && t < firstComplex
}

// chooseRowType is the type to write a matrix as: the one it was read with if that still fits, else the plain one.
func chooseRowType(m *matrix.Meta, d matrix.DType) rowType {
	long := m.ColLo < math.MinInt32 || m.ColLo+m.Cols > math.MaxInt32+1
	if t, ok := parseRowType(m.Attrs[attrRowType]); ok && t.DType() == d && t.Layout() == m.Layout && (t.LongKeys() || !long) {
		return t
	}
	storage := 0
	switch {
	case m.Layout == matrix.RowSparse && long:
		storage = 5
	case m.Layout == matrix.RowSparse:
		storage = 3
	case long:
		storage = 2
	}
	for base := rowType(0); base < firstComplex; base += storages {
		if base.DType() == d {
			return base + rowType(storage)
		}
	}
	return -1
}

// heldAs is the element type that a matrix is written in: its own, or the narrowest of Angel's four that holds it.
func heldAs(d matrix.DType) matrix.DType {
	switch d {
	case matrix.F64, matrix.F32, matrix.I64, matrix.I32:
		return d
	case matrix.F16, matrix.BF16:
		return matrix.F32
	case matrix.U32, matrix.U64:
		return matrix.I64
	}
	return matrix.I32
}
