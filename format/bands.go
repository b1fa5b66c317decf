package format

import "thole.example/matrix"

// Bands cuts a place into pieces of at most cells cells (at least one), in row-major order: several whole rows, or parts
// of one row.
func Bands(at matrix.Rect, cells int64) func(yield func(matrix.Rect) bool) {
	return func(yield func(matrix.Rect) bool) {
		if at.Empty() {
			return
		}
		cells := max(1, cells)
		width := min(at.Cols.Len(), cells)
		for rows := range steps(at.Rows, max(1, cells/width)) {
			for cols := range steps(at.Cols, width) {
				if !yield(matrix.Rect{Rows: rows, Cols: cols}) {
					return
				}
			}
		}
	}
}

// steps cuts a range into pieces of at most n, also where its length or its end plus n is beyond int64.
func steps(r matrix.Range, n int64) func(yield func(matrix.Range) bool) {
	return func(yield func(matrix.Range) bool) {
		for lo := r.Lo; lo < r.Hi; {
			hi := lo + min(n, matrix.Range{Lo: lo, Hi: r.Hi}.Len())
			if !yield(matrix.Range{Lo: lo, Hi: hi}) {
				return
			}
			lo = hi
		}
	}
}
