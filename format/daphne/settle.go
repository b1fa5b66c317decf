package daphne

import (
	"fmt"
	"math/bits"
	"slices"

	"thole.example/matrix"
	"thole.example/wire"
)

// settle finds out whether the positions of the blocks count cells or blocks, and checks that the blocks cover the
// matrix, each cell once.
func (f *file) settle() error {
	if f.rect().Empty() {
		if len(f.blocks) > 1 || len(f.blocks) == 1 && f.blocks[0].At != f.rect() {
			return misfit(f.header.size, "%d blocks for a matrix of %d x %d", len(f.blocks), f.rows, f.cols)
		}
		return nil
	}
	slices.SortStableFunc(f.blocks, func(a, b entry) int { return byPlace(a.At, b.At) })
	inCells := f.covers(f.places())
	if inCells == nil {
		return nil
	}
	if places, ok := f.onGrid(); ok {
		order := make([]int, len(places))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return byPlace(places[i], places[j]) })
		blocks, sorted := make([]entry, len(places)), make([]matrix.Rect, len(places))
		for k, i := range order {
			blocks[k], sorted[k] = f.blocks[i], places[i]
			blocks[k].At = places[i]
		}
		if f.covers(sorted) == nil {
			f.blocks = blocks
			f.notes = append(f.notes, "the positions of blocks count blocks, not cells")
			return nil
		}
	}
	return inCells
}

func (f *file) places() []matrix.Rect {
	places := make([]matrix.Rect, len(f.blocks))
	for i, e := range f.blocks {
		places[i] = e.At
	}
	return places
}

// covers checks places in row-major order.
func (f *file) covers(places []matrix.Rect) error {
	var missing matrix.Rect
	bad, complete := tile(f.rect(), places, func(r matrix.Rect) bool {
		missing = r
		return false
	})
	switch {
	case !complete:
		return misfit(f.header.size, "no block holds %v of %d x %d: %w", missing, f.rows, f.cols, wire.ErrTruncated)
	case bad >= 0:
		off := f.blocks[bad].off - int64(f.blocks[bad].Len())
		return misfit(off, "block %v lies on another or outside %d x %d", places[bad], f.rows, f.cols)
	}
	return nil
}

// onGrid reads positions as numbers of blocks of the size of the largest. ok is false if some place leaves int64.
func (f *file) onGrid() (places []matrix.Rect, ok bool) {
	var height, width int64
	for _, e := range f.blocks {
		height, width = max(height, e.At.Rows.Len()), max(width, e.At.Cols.Len())
	}
	for _, e := range f.blocks {
		row, ok1 := times(e.At.Rows.Lo, height)
		col, ok2 := times(e.At.Cols.Lo, width)
		r := matrix.At(row, row+e.At.Rows.Len(), col, col+e.At.Cols.Len())
		if !ok1 || !ok2 || r.Rows.Hi < row || r.Cols.Hi < col {
			return nil, false
		}
		places = append(places, r)
	}
	return places, true
}

func times(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(lo), hi == 0 && lo < 1<<63
}

// describe is the structure in a few words.
func (f *file) describe() string {
	what := fmt.Sprintf("%s of %d x %d", dataTypes[f.data], f.rows, f.cols)
	if f.data != frame {
		what += " " + f.types[0].String()
	}
	if len(f.blocks) == 1 {
		return what + " in 1 block"
	}
	return fmt.Sprintf("%s in %d blocks", what, len(f.blocks))
}
