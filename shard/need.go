package shard

import (
	"fmt"
	"math"

	"thole.example/matrix"
	"thole.example/psf"
)

// Need is how many bytes a partition of m at the place takes from the start: all of them if it is dense, almost none if
// it is sparse, where Growth tells more. It fails for a place that no partition may have.
func Need(m *matrix.Meta, at matrix.Rect, rule *psf.Rule) (int64, error) {
	if m.Layout == matrix.RowSparse {
		return 0, nil
	}
	n, ok := at.Cells()
	if !ok || n > cellLimit {
		return 0, fmt.Errorf("matrix %s: dense partition at %v, want at most 2^36 cells (a sparse layout has no such limit)",
			m.Name, at)
	}
	each := int64(m.DType.Size())
	if rule != nil {
		each *= int64(rule.Slots) + 1
	}
	return n * each, nil
}

// slotBytes is about what a key takes in the index.
const slotBytes = 18

// Growth is about how many bytes more the partition takes when the delta is applied: nothing if it is dense, and for a
// sparse one the columns that it does not have yet. With exact false it is at least that, and quickly told.
func (s *Shard) Growth(d Delta, exact bool) int64 {
	if s.meta.Layout != matrix.RowSparse || d.Rows.Len() == 0 {
		return 0
	}
	n := int64(len(d.Keys))
	switch {
	case d.Keys == nil:
		n = d.Cols.Len()
	case exact:
		n = int64(s.Missing(d.Keys))
	}
	slots := int64(0)
	if s.rule != nil {
		slots = int64(s.rule.Slots)
	}
	size := s.at.Rows.Len() * (slots + 1) * int64(s.meta.DType.Size()) // rows have a limit
	each := int64(strideOf(int(size))) + slotBytes
	if n > math.MaxInt64/each {
		return math.MaxInt64
	}
	return n * each
}
