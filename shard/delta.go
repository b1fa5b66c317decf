package shard

import (
	"fmt"

	"thole.example/kernel"
	"thole.example/matrix"
)

// Delta is values for some cells of a matrix: a change, a gradient, or what cells become. With Keys it has whole columns,
// in any order but none twice: the values of the rows of column Keys[0], those of Keys[1], and so on. Without (nil) it has
// every cell of Rows x Cols, row after row. Values are numbers of the matrix's element type in the order of this machine's
// bytes, and begin at a multiple of their size; a shard reads them where they are, and keeps nothing of a Delta.
type Delta struct {
	Rows, Cols matrix.Range
	Keys       []int64
	Values     []byte
}

// At is the place of the delta.
func (d *Delta) At() matrix.Rect { return matrix.Rect{Rows: d.Rows, Cols: d.Cols} }

// cells is how many values the delta has to have.
func (d *Delta) cells() (int64, bool) {
	if d.Keys != nil {
		return matrix.Cells(int64(len(d.Keys)), d.Rows.Len())
	}
	return d.At().Cells()
}

// Fits tells why a delta could not be applied: a place or a key outside of the partition, or values that are not as many
// as its cells. That no key comes twice is for whoever made it: such a delta changes only the columns that it names, but
// is taken as two deltas in part.
func (s *Shard) Fits(d Delta) error {
	at := d.At()
	if s.counting(&d) {
		at.Rows = s.at.Rows
	}
	if !s.at.Contains(at) && !(d.Keys != nil && d.Rows.Len() == 0) {
		return fmt.Errorf("matrix %s: delta at %v for the partition at %v", s.meta.Name, at, s.at)
	}
	n, ok := d.cells()
	size := int64(s.meta.DType.Size())
	if !ok || n > int64(len(d.Values))/size || n*size != int64(len(d.Values)) {
		return fmt.Errorf("matrix %s: %d bytes of values for a delta at %v with %d keys, want %d values of %v",
			s.meta.Name, len(d.Values), at, len(d.Keys), n, s.meta.DType)
	}
	if !s.store.aligned(d.Values) {
		return fmt.Errorf("matrix %s: values do not begin at a multiple of %d bytes", s.meta.Name, size)
	}
	return s.has(d.Keys, d.Cols)
}

// has reports the first key outside of the columns.
func (s *Shard) has(keys []int64, cols matrix.Range) error {
	if i := kernel.Within(keys, cols.Lo, cols.Hi, 0, 0); i < len(keys) {
		return fmt.Errorf("matrix %s: column %d, want one in %v", s.meta.Name, keys[i], cols)
	}
	return nil
}
