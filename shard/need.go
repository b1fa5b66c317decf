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
		each *= int64(rule.Slots) + 2 // the values, and the sum of gradients
	}
	return n * each, nil
}

// keyBytes is about what a key takes beside its values.
const keyBytes = 24

// Growth is about how many bytes more the partition takes when the delta is applied: nothing if it is dense, and for a
// sparse one the columns that it does not have yet. With exact false it is at least that, and quickly told.
func (s *Shard) Growth(d matrix.Block, exact bool) int64 {
	if s.meta.Layout != matrix.RowSparse {
		return 0
	}
	keys := []int64{}
	switch data := d.Data.(type) {
	case matrix.Keyed:
		keys = data.Keys()
	case matrix.Empty:
	default:
		keys = d.ToCSR().Data.(matrix.Keyed).Keys()
	}
	n := int64(len(keys))
	if exact {
		n = s.store.missing(keys)
	}
	slots := int64(0)
	if s.rule != nil {
		slots = int64(s.rule.Slots)
	}
	each := s.at.Rows.Len()*(slots+1)*int64(s.meta.DType.Size()) + keyBytes // rows have a limit
	if n > math.MaxInt64/each {
		return math.MaxInt64
	}
	return n * each
}
