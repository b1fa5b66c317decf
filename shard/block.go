package shard

import (
	"fmt"
	"iter"

	"thole.example/matrix"
	"thole.example/wire"
)

// The methods here speak of blocks, for callers that hold those; each does by deltas and bytes what the one without "Block"
// in its name does.

// FitsBlock tells why a block could not be applied: its element type or place. That its data are sound is for its Check.
func (s *Shard) FitsBlock(b matrix.Block) error {
	if !s.at.Contains(b.At) {
		return fmt.Errorf("matrix %s: delta at %v for the partition at %v", s.meta.Name, b.At, s.at)
	}
	if b.Data.DType() != s.meta.DType {
		return fmt.Errorf("matrix %s: delta of %v, want %v", s.meta.Name, b.Data.DType(), s.meta.DType)
	}
	return nil
}

// deltasOf is views of the cells that a block stores: those of sparse rows one row after the other.
func deltasOf[T number](b matrix.Block) []Delta {
	whole := Delta{Rows: b.At.Rows, Cols: b.At.Cols}
	switch d := b.Data.(type) {
	case *matrix.Dense[T]:
		whole.Values = wire.View(d.Val)
		return []Delta{whole}
	case *matrix.Cols[T]:
		whole.Keys, whole.Values = notNil(d.Idx), wire.View(d.Val)
		return []Delta{whole}
	case *matrix.CSR[T], *matrix.COO[T]:
		var all []Delta
		rows := b.ToCSR().Data.(*matrix.CSR[T])
		for r := range len(rows.Ptr) - 1 {
			from, to := rows.Ptr[r], rows.Ptr[r+1]
			row := b.At.Rows.Lo + int64(r)
			all = append(all, Delta{
				Rows: matrix.Range{Lo: row, Hi: row + 1}, Cols: b.At.Cols,
				Keys: notNil(rows.Idx[from:to]), Values: wire.View(rows.Val[from:to]),
			})
		}
		return all
	}
	return nil // Empty
}

func notNil(keys []int64) []int64 {
	if keys == nil {
		return []int64{}
	}
	return keys
}

// eachDelta calls f for the deltas of a block, up to the first error.
func (s *Shard) eachDelta(b matrix.Block, f func(d Delta) error) error {
	if err := s.FitsBlock(b); err != nil {
		return err
	}
	for _, d := range s.store.deltas(b) {
		if err := f(d); err != nil {
			return err
		}
	}
	return nil
}

// AddBlock adds the cells of a block to the values.
func (s *Shard) AddBlock(b matrix.Block) error { return s.eachDelta(b, s.Add) }

// SetBlock replaces the cells that a block stores: whole columns, or of sparse rows single cells.
func (s *Shard) SetBlock(b matrix.Block) error { return s.eachDelta(b, s.Set) }

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
