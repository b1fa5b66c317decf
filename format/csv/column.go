package csv

import (
	"thole.example/format"
	"thole.example/matrix"
)

// newColumn reads cells of the type.
func newColumn(d matrix.DType, e empty) column {
	switch d {
	case matrix.F64:
		return newCells[float64](e)
	case matrix.F32:
		return newCells[float32](e)
	case matrix.I64:
		return newCells[int64](e)
	case matrix.I32:
		return newCells[int32](e)
	case matrix.I16:
		return newCells[int16](e)
	case matrix.I8:
		return newCells[int8](e)
	case matrix.U64:
		return newCells[uint64](e)
	case matrix.U32:
		return newCells[uint32](e)
	case matrix.U16:
		return newCells[uint16](e)
	case matrix.U8:
		return newCells[uint8](e)
	case matrix.F16:
		return newCells[matrix.Float16](e)
	case matrix.BF16:
		return newCells[matrix.BFloat16](e)
	}
	return newCells[matrix.Boolean](e)
}

func newCells[T matrix.Stored](e empty) column {
	return &cells[T]{read: format.CellReader[T](), dtype: matrix.DTypeOf[T](), empty: e}
}
