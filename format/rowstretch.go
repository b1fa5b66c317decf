package format

import (
	"context"
	"slices"

	"thole.example/matrix"
)

// stretch writes the band of sparse lanes, which have the cells of the rows and no others. What it does follows the cells:
// the sink sees rows without one only between near ones, unless it needs all.
func (w *rowWriter) stretch(ctx context.Context, band matrix.Range, rows []int64, lanes []matrix.Block) error {
	next := band.Lo
	for lo := 0; lo < len(rows); {
		hi := near(rows, lo, lanes)
		at := matrix.Range{Lo: rows[lo], Hi: rows[hi-1] + 1}
		if err := w.without(ctx, matrix.Range{Lo: next, Hi: at.Lo}); err != nil {
			return err
		}
		part := slices.Clone(lanes)
		for i, b := range part {
			if hi-lo < len(rows) {
				b = b.Cut(matrix.Rect{Rows: matrix.Range{Lo: int64(lo), Hi: int64(hi)}, Cols: b.At.Cols})
			}
			part[i] = b.Spread(rows[lo:hi], at)
		}
		if err := w.sink.Rows(ctx, part); err != nil {
			return err
		}
		lo, next = hi, at.Hi
	}
	return w.without(ctx, matrix.Range{Lo: next, Hi: band.Hi})
}

// near is the end of the rows that are written with the first: there are not many more rows than cells, nor too many cells.
func near(rows []int64, first int, lanes []matrix.Block) int {
	const perCell, free = 16, 1 << 10 // rows
	cells := int64(0)
	for i := first; i < len(rows); i++ {
		before := cells
		for _, b := range lanes {
			ends := b.Data.(matrix.Rowed).Ends()
			cells += int64(ends[i+1] - ends[i])
		}
		span := rows[i] - rows[first]
		if i > first && (cells > bandCells || span > min(perCell*before+free, bandCells)) {
			return i
		}
	}
	return len(rows)
}

// without writes rows that have no cell, for a sink that needs them.
func (w *rowWriter) without(ctx context.Context, rows matrix.Range) error {
	if w.file.Gaps {
		return nil
	}
	for at := range steps(rows, bandCells) {
		lanes := make([]matrix.Block, len(w.lanes))
		for i, l := range w.lanes {
			lanes[i] = matrix.Block{At: matrix.Rect{Rows: at, Cols: l.Cols}, Data: matrix.Empty{D: l.DType}}.ToCSR()
		}
		if err := w.sink.Rows(ctx, lanes); err != nil {
			return err
		}
	}
	return nil
}
