package daphne

import (
	"cmp"
	"container/heap"
	"slices"

	"thole.example/matrix"
)

// tiling checks that places cover a matrix, each cell once, in n log n steps whatever the places are. It grows a
// skyline from the first row on: column ranges with the row up to which each is covered. The next place in row-major
// order must begin at the skyline's lowest range, and there at its left end.
type tiling struct{ lowest segments }

// segment is a range of columns covered up to a row. A taken one is left in the heap until it comes up.
type segment struct {
	cols  matrix.Range
	row   int64
	right *segment
	taken bool
}

type segments []*segment

func (s segments) Len() int { return len(s) }
func (s segments) Less(i, j int) bool {
	return s[i].row < s[j].row || s[i].row == s[j].row && s[i].cols.Lo < s[j].cols.Lo
}
func (s segments) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *segments) Push(x any)   { *s = append(*s, x.(*segment)) }
func (s *segments) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// byPlace orders places row-major.
func byPlace(a, b matrix.Rect) int {
	return cmp.Or(cmp.Compare(a.Rows.Lo, b.Rows.Lo), cmp.Compare(a.Cols.Lo, b.Cols.Lo))
}

// tile compares the places, in row-major order, with the matrix. gap is called for the places that none covers, also
// in row-major order; it says whether to go on. It returns the first place that overlaps an earlier one or lies outside,
// and -1 if there is none; complete is false if gap ended the walk.
func tile(whole matrix.Rect, places []matrix.Rect, gap func(matrix.Rect) bool) (bad int, complete bool) {
	if whole.Empty() {
		for i := range places {
			return i, true
		}
		return -1, true
	}
	t := &tiling{}
	t.push(whole.Cols, whole.Rows.Lo, nil)
	for i := 0; ; {
		low := t.low(whole.Rows.Hi)
		if low == nil {
			if i < len(places) {
				return i, true
			}
			return -1, true
		}
		if i < len(places) {
			p := places[i]
			if p.Empty() || !whole.Contains(p) || p.Rows.Lo < low.row || p.Rows.Lo == low.row && p.Cols.Lo < low.cols.Lo {
				return i, true
			}
			if p.Rows.Lo == low.row && p.Cols.Lo == low.cols.Lo {
				if !t.take(low, p.Cols, p.Rows.Hi) {
					return i, true
				}
				i++
				continue
			}
		}
		free := hole(low, whole, places[i:])
		if !gap(free) {
			return -1, false
		}
		t.take(low, free.Cols, free.Rows.Hi)
	}
}

// hole is the place at the low segment that no place covers: to the next place in the same row, down to the next row in
// which a place begins.
func hole(low *segment, whole matrix.Rect, rest []matrix.Rect) matrix.Rect {
	free := matrix.Rect{Rows: matrix.Range{Lo: low.row, Hi: whole.Rows.Hi}, Cols: low.cols}
	if len(rest) > 0 && rest[0].Rows.Lo == low.row {
		free.Cols.Hi = min(free.Cols.Hi, rest[0].Cols.Lo)
	}
	next, _ := slices.BinarySearchFunc(rest, low.row, func(p matrix.Rect, row int64) int {
		if p.Rows.Lo > row {
			return 1
		}
		return -1
	})
	if next < len(rest) {
		free.Rows.Hi = rest[next].Rows.Lo
	}
	return free
}

func (t *tiling) push(cols matrix.Range, row int64, right *segment) *segment {
	s := &segment{cols: cols, row: row, right: right}
	heap.Push(&t.lowest, s)
	return s
}

// low is the lowest segment, the leftmost of those; nil if all reach the end.
func (t *tiling) low(end int64) *segment {
	for len(t.lowest) > 0 {
		if s := t.lowest[0]; s.taken {
			heap.Pop(&t.lowest)
		} else if s.row < end {
			return s
		} else {
			return nil
		}
	}
	return nil
}

// take covers columns from the left end of s, the lowest, on down to a row, which takes neighbours to the right of the same height
// too. It is false if one of another height stands in the way.
func (t *tiling) take(s *segment, cols matrix.Range, row int64) bool {
	last := s
	for last.cols.Hi < cols.Hi {
		if last.right == nil || last.right.row != s.row {
			return false
		}
		last.taken = true
		last = last.right
	}
	last.taken = true
	right := last.right
	if last.cols.Hi > cols.Hi {
		right = t.push(matrix.Range{Lo: cols.Hi, Hi: last.cols.Hi}, s.row, right)
	}
	// s becomes the covered piece itself, so that its left neighbour need not be told. It is still the heap's first.
	s.cols, s.row, s.right, s.taken = cols, row, right, false
	heap.Fix(&t.lowest, 0)
	return true
}
