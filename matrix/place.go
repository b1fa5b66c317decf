package matrix

import "fmt"

// Range is the half-open interval [Lo, Hi) of row or column numbers. Keys may be any int64 but math.MaxInt64, which
// no half-open range can contain.
type Range struct{ Lo, Hi int64 }

// Len is the number of integers in the range, 0 if it is empty or reversed. Ranges longer than math.MaxInt64 (hashed
// 64-bit keys) answer math.MaxInt64.
func (r Range) Len() int64 {
	if r.Hi <= r.Lo {
		return 0
	}
	if n := r.Hi - r.Lo; n > 0 {
		return n
	}
	return 1<<63 - 1
}

// Has reports whether i lies in the range.
func (r Range) Has(i int64) bool { return r.Lo <= i && i < r.Hi }

// Contains reports whether every integer of s lies in r; an empty s always does.
func (r Range) Contains(s Range) bool { return s.Hi <= s.Lo || r.Lo <= s.Lo && s.Hi <= r.Hi }

// Intersect is the part that both ranges share; it is empty (Lo == Hi) if they share none.
func (r Range) Intersect(s Range) Range {
	lo, hi := max(r.Lo, s.Lo), min(r.Hi, s.Hi)
	if hi < lo {
		hi = lo
	}
	return Range{lo, hi}
}

// String prints the range as "[lo,hi)".
func (r Range) String() string { return fmt.Sprintf("[%d,%d)", r.Lo, r.Hi) }

// Rect is a place in a matrix: rows by columns.
type Rect struct{ Rows, Cols Range }

// At is the rectangle of rows [r0,r1) and columns [c0,c1).
func At(r0, r1, c0, c1 int64) Rect { return Rect{Range{r0, r1}, Range{c0, c1}} }

// Empty reports whether the rectangle has no cell.
func (r Rect) Empty() bool { return r.Rows.Len() == 0 || r.Cols.Len() == 0 }

// Contains reports whether every cell of s lies in r.
func (r Rect) Contains(s Rect) bool {
	return s.Empty() || r.Rows.Contains(s.Rows) && r.Cols.Contains(s.Cols)
}

// Intersect is the rectangle that both share; it is Empty if they share none.
func (r Rect) Intersect(s Rect) Rect {
	return Rect{r.Rows.Intersect(s.Rows), r.Cols.Intersect(s.Cols)}
}

// Cells is rows times columns; ok is false if the product does not fit an int64.
func (r Rect) Cells() (n int64, ok bool) { return Cells(r.Rows.Len(), r.Cols.Len()) }

// Cells multiplies two non-negative sizes; ok is false if the product does not fit an int64.
func Cells(rows, cols int64) (n int64, ok bool) {
	if rows == 0 || cols == 0 {
		return 0, true
	}
	n = rows * cols
	return n, n/cols == rows && n > 0
}

// String prints the rectangle as "rows [lo,hi) x cols [lo,hi)".
func (r Rect) String() string { return fmt.Sprintf("rows %v x cols %v", r.Rows, r.Cols) }
