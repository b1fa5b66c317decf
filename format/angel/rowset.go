package angel

import (
	"iter"

	"thole.example/matrix"
)

// rowSet is a set of rows: ranges in ascending order.
type rowSet []matrix.Range

// savedIn are the saved rows within a range.
func savedIn(m *matrix.Meta, within matrix.Range) (s rowSet) {
	for _, r := range m.SavedRows() {
		if r = r.Intersect(within); r.Len() > 0 {
			s = append(s, r)
		}
	}
	return s
}

func (s rowSet) len() (n int64) {
	for _, r := range s {
		n += r.Len()
	}
	return n
}

// contains reports whether all rows of another set are in this one. The ranges of neither touch each other.
func (s rowSet) contains(other rowSet) bool {
	for _, r := range other {
		for len(s) > 0 && s[0].Hi < r.Hi {
			s = s[1:]
		}
		if r.Len() > 0 && (len(s) == 0 || s[0].Lo > r.Lo) {
			return false
		}
	}
	return true
}

// merged is the set in ranges that do not touch each other.
func (s rowSet) merged() (out rowSet) {
	for _, r := range s {
		if k := len(out) - 1; k >= 0 && out[k].Hi == r.Lo {
			out[k].Hi = r.Hi
		} else {
			out = append(out, r)
		}
	}
	return out
}

// bounds is the range from the first row to the last.
func (s rowSet) bounds() matrix.Range {
	if len(s) == 0 {
		return matrix.Range{}
	}
	return matrix.Range{Lo: s[0].Lo, Hi: s[len(s)-1].Hi}
}

func (s rowSet) all() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, r := range s {
			for row := r.Lo; row < r.Hi; row++ {
				if !yield(row) {
					return
				}
			}
		}
	}
}

// list are the rows one by one.
func (s rowSet) list() []int64 {
	rows := make([]int64, 0, s.len())
	for row := range s.all() {
		rows = append(rows, row)
	}
	return rows
}
