package shard

import (
	"fmt"
	"iter"

	"thole.example/matrix"
	"thole.example/wire"
)

// The methods here let tests speak of blocks.

// AddBlock adds the cells of a block to the values.
func (s *Shard) AddBlock(b matrix.Block) error { return s.eachDelta(b, s.Add) }

// ApplyBlocks takes the blocks of one clock in their order.
func (s *Shard) ApplyBlocks(blocks []matrix.Block, weight, rate float64) error {
	var all []Delta
	for _, b := range blocks {
		if err := s.FitsBlock(b); err != nil {
			return err
		}
	}
	for _, b := range blocks {
		all = append(all, s.store.deltas(b)...)
	}
	return s.Apply(all, weight, rate)
}

// ReadBlock copies the cells of the place, or only its columns cols if they are not nil. Without cols the answer is dense
// for dense matrices, and the stored columns for sparse ones; with cols it is *matrix.Cols, which has cols itself.
func (s *Shard) ReadBlock(at matrix.Rect, cols []int64) (matrix.Block, error) {
	if !s.at.Contains(at) {
		return matrix.Block{}, fmt.Errorf("matrix %s: read of %v from the partition at %v", s.meta.Name, at, s.at)
	}
	if cols == nil && s.meta.Layout != matrix.RowSparse {
		b := matrix.NewDense(s.meta.DType, at)
		dst, _ := wire.ViewAny(b.Data.Values())
		return b, s.ReadRect(dst, at)
	}
	if cols == nil {
		cols = s.store.keys(at.Cols)
	}
	b := matrix.Block{At: at, Data: matrix.KindOf(s.meta.DType).Cols(cols, int(at.Rows.Len()))}
	if at.Rows.Len() == 0 {
		return b, s.has(cols, s.at.Cols) // the place may lie anywhere
	}
	dst, _ := wire.ViewAny(b.Data.Values())
	return b, s.Read(dst, at.Rows, cols)
}

// saveCols is how many columns go into one block when saving.
const saveCols = 1 << 18

// Blocks gives copies of all stored values, for saving: the whole place as one dense block, or the stored columns,
// ascending.
func (s *Shard) Blocks() iter.Seq[matrix.Block] {
	return func(yield func(matrix.Block) bool) {
		if s.meta.Layout != matrix.RowSparse {
			b, _ := s.ReadBlock(s.at, nil) // the place is its own
			yield(b)
			return
		}
		cols, at := s.store.keys(s.at.Cols), s.at
		for first := true; first || len(cols) > 0; first = false {
			n := min(saveCols, len(cols))
			at.Cols.Hi = s.at.Cols.Hi
			if n < len(cols) {
				at.Cols.Hi = cols[n]
			}
			b, _ := s.ReadBlock(at, cols[:n:n])
			if !yield(b) {
				return
			}
			cols, at.Cols.Lo = cols[n:], at.Cols.Hi
		}
	}
}
