package data

import (
	"fmt"
	"slices"
	"thole.example/internal/number"
)

// Columns are those that a model has.
type Columns struct {
	Lo, Hi int64
	Keys   []int64 // ascending; nil: all from Lo to Hi
}

// Has reports whether the model has the column.
func (c *Columns) Has(col int64) bool {
	if col < c.Lo || col >= c.Hi {
		return false
	}
	if c.Keys == nil {
		return true
	}
	_, found := slices.BinarySearch(c.Keys, col)
	return found
}

// Unseen counts features that a model does not have.
type Unseen struct {
	Features int `json:"features"` // different columns
	Values   int `json:"values"`   // in all examples together
	Examples int `json:"examples"` // that had some

	Levels  bool `json:"-"` // of the columns of tables, which count as the rare ones of theirs
	Missing bool `json:"-"` // or as if there were none
}

// Text says what was left out of n examples.
func (u Unseen) Text(n int) string {
	they := "were not in training; they count as zero"
	if u.Features == 1 {
		they = "was not in training; it counts as zero"
	}
	if u.Levels {
		as := "the rare ones of its column"
		if u.Missing {
			as = "missing"
		}
		return fmt.Sprintf("%s in %d of %d examples had no example of training, or too few: each counts as %s",
			number.Of(u.Features, "level"), u.Examples, n, as)
	}
	return fmt.Sprintf("%s in %d of %d examples %s", number.Of(u.Features, "feature"), u.Examples, n, they)
}

// unseen gathers what was left out, in memory for each of the different columns.
type unseen struct {
	cols     []int64 // with duplicates from distinct on
	distinct int
	values   int
	examples int
}

func (u *unseen) reset() { *u = unseen{cols: u.cols[:0]} }

func (u *unseen) add(other *unseen) {
	const some = 1 << 16
	if u.cols = append(u.cols, other.cols...); len(u.cols) > 2*u.distinct+some {
		u.compact()
	}
	u.values += len(other.cols)
	u.examples += other.examples
}

func (u *unseen) compact() {
	slices.Sort(u.cols)
	u.cols = slices.Compact(u.cols)
	u.distinct = len(u.cols)
}

func (u *unseen) count() Unseen {
	u.compact()
	return Unseen{Features: u.distinct, Values: u.values, Examples: u.examples}
}

// keep leaves out what the columns do not have of the row that begins at idx[from], and answers with the first column left out,
// -1 if there is none.
func (r *rows) keep(c *Columns, from int, out *unseen) (first int64) {
	first = -1
	to := from
	exact := len(r.exact) > from
	if exact {
		r.widen()
	}
	for i := from; i < len(r.idx); i++ {
		if c.Has(r.idx[i]) {
			r.idx[to], r.val[to] = r.idx[i], r.val[i]
			if len(r.field) > 0 {
				r.field[to] = r.field[i]
			}
			if exact {
				r.exact[to] = r.exact[i]
			}
			to++
			continue
		}
		if first < 0 {
			first = r.idx[i]
			out.examples++
		}
		out.cols = append(out.cols, r.idx[i])
	}
	r.idx, r.val, r.field = r.idx[:to], r.val[:to], r.field[:min(to, len(r.field))]
	r.exact = r.exact[:min(to, len(r.exact))]
	return first
}
