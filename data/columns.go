package data

import "slices"

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

// keep removes values of columns that c does not have, or that the scaler (nil: no scaling) reserves, from the row that begins at
// idx[from]. It counts them unless out is nil, and returns the first such column, -1 if all values stay.
func (r *rows) keep(c *Columns, scaler *scaler, from int, out *unseen) (first int64) {
	first = -1
	to := from
	exact := len(r.exact) > from
	if exact {
		r.widen()
	}
	for i := from; i < len(r.idx); i++ {
		if c.Has(r.idx[i]) && !scaler.reserves(r.idx[i]) {
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
			if first = r.idx[i]; out != nil {
				out.examples++
			}
		}
		if out != nil {
			out.cols = append(out.cols, r.idx[i])
		}
	}
	r.idx, r.val, r.field = r.idx[:to], r.val[:to], r.field[:min(to, len(r.field))]
	r.exact = r.exact[:min(to, len(r.exact))]
	return first
}
