package csv

import (
	"thole.example/format"
	"thole.example/matrix"
)

// newColumn reads cells of the type.
func (s *shape) newColumn(d matrix.DType) column {
	switch d {
	case matrix.F64:
		return newCells[float64](s)
	case matrix.F32:
		return newCells[float32](s)
	case matrix.I64:
		return newCells[int64](s)
	case matrix.I32:
		return newCells[int32](s)
	case matrix.I16:
		return newCells[int16](s)
	case matrix.I8:
		return newCells[int8](s)
	case matrix.U64:
		return newCells[uint64](s)
	case matrix.U32:
		return newCells[uint32](s)
	case matrix.U16:
		return newCells[uint16](s)
	case matrix.U8:
		return newCells[uint8](s)
	case matrix.F16:
		return newCells[matrix.Float16](s)
	case matrix.BF16:
		return newCells[matrix.BFloat16](s)
	}
	return newCells[matrix.Boolean](s)
}

func newCells[T matrix.Stored](s *shape) column {
	return &cells[T]{read: format.CellReader[T](), dtype: matrix.DTypeOf[T](), empty: s.empty, decimal: s.decimal}
}
