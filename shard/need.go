package shard

import (
	"fmt"

	"thole.example/matrix"
	"thole.example/psf"
)

// Need is how many bytes a partition of m at the place takes from the start: all of them if it is dense, almost none if
// it is sparse, where [ColumnBytes] tells more. It fails for a place that no partition may have.
func Need(m *matrix.Meta, at matrix.Rect, rule *psf.Rule) (int64, error) {
	if m.Layout == matrix.RowSparse {
		return 0, nil
	}
	n, ok := at.Cells()
	if !ok || n > cellLimit {
		return 0, fmt.Errorf("matrix %s: dense partition at %v, want at most 2^36 cells (a sparse layout has no such limit)",
			m.Name, at)
	}
	slots := Slots(m, rule)
	low, size := cellBytes(m, 1, slots)
	return n * int64(low+size), nil
}

// KeyBytes is about what a key takes in the index.
const KeyBytes = 18

// ColumnBytes is about what a column takes that a sparse partition does not have yet: one of all rows, if columns have several widths.
func ColumnBytes(m *matrix.Meta, rule *psf.Rule) int64 {
	slots := Slots(m, rule)
	return rowBytes(m, slots) + KeyBytes
}

// rowBytes is what a column takes in the slab.
func rowBytes(m *matrix.Meta, slots int) int64 {
	if p := newPacking[float32](m, m.Rect(), slots); p != nil {
		return int64(p.size())
	}
	return int64(strideOf(int(m.Rows) * (slots + 1) * m.DType.Size())) // rows have a limit
}

// kindRowBytes is rowBytes of a column that stores so many rows of a matrix with slots.
func kindRowBytes(m *matrix.Meta, rows int64, slots int) int64 {
	kind, own := ofKind(m, rows, slots)
	return rowBytes(&kind, own)
}

// ofKind is the matrix that the columns of a matrix with slots would be by themselves that store so many rows, and its slots.
func ofKind(m *matrix.Meta, rows int64, slots int) (matrix.Meta, int) {
	kind := *m
	kind.Rows, kind.Widths = rows, nil
	return kind, slots - m.Keep.CountSlots(m.Rows) + m.Keep.CountSlots(rows)
}
