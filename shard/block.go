package shard

import (
	"fmt"

	"thole.example/matrix"
	"thole.example/wire"
)

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

// SetBlock replaces the cells that a block stores: whole columns, or of sparse rows single cells.
func (s *Shard) SetBlock(b matrix.Block) error { return s.eachDelta(b, s.Set) }
