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

// ColumnBytes is about what a column takes that a sparse partition does not have yet.
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
