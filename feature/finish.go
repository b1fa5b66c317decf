package feature

import "math"

// finish makes the codes of a field ids, and raw numbers what is learned from, as float32, and if exact also as they are. ids has the id,
// counted from the field's first, of each code of a column with levels; nil: codes are ids.
func (f *field) finish(c *Column, ids []int32, v *Values, exact bool) {
	if f.isNumber() {
		v.ones(len(v.ID))
	}
	id, value := v.ID, v.Value
	switch {
	case f.part != nil && f.part.values > 0, f.kind == Hash:
		for k := range id {
			id[k] += f.base
		}
	case f.kind == Numeric:
		inv, log := 1/c.Deviation, c.Log != nil && *c.Log
		differ := false
		for k, x := range v.Exact {
			switch {
			case id[k] == isThere:
				x = c.scaled(x, log, inv)
			case !c.Nothing:
				x = 0
			}
			value[k], v.Exact[k] = nearest(x), x
			differ = differ || float64(value[k]) != x
			id[k] += f.base
		}
		if !exact || !differ {
			v.Exact = v.Exact[:0]
		}
	case f.kind == Buckets:
		for k, x := range v.Exact {
			there := id[k] == isThere
			if id[k], value[k] = f.base, 1; there {
				id[k] += 1 + int64(bucket(c.Bounds, x))
			} else if !c.Nothing {
				value[k] = 0
			}
		}
		v.Exact = v.Exact[:0]
	default:
		for k := range id {
			if ids != nil {
				id[k] = int64(ids[id[k]])
			}
			if id[k] == 0 && !c.Other {
				value[k] = 0
			}
			id[k] += f.base
		}
	}
}

// scaled is what is learned from of a number.
func (c *Column) scaled(v float64, log bool, inv float64) float64 {
	if log {
		v = logOf(v)
	}
	if c.Scale != None {
		v -= c.Mean
		if c.Deviation > 0 {
			v *= inv
		}
	}
	return v
}

// countLogs are the logarithms of small counts, which most numbers are of which logarithms are taken.
var countLogs = func() (all [1 << 10]float64) {
	for i := range all {
		all[i] = math.Log(1 + float64(i))
	}
	return all
}()

// logOf is sign(v) ln(1+|v|).
func logOf(v float64) float64 {
	if i := int(v); i > 0 && i < len(countLogs) && float64(i) == v {
		return countLogs[i]
	}
	switch a := math.Abs(v); {
	case a < 1e-3:
		return math.Copysign(math.Log1p(a), v)
	case v < 0:
		return -math.Log(1 + a) // as exact as a float32 can be
	default:
		return math.Log(1 + a)
	}
}

// bucket is the number of bounds up to x.
func bucket(bounds []float64, x float64) int {
	lo, hi := 0, len(bounds)
	for lo < hi {
		if mid := (lo + hi) / 2; bounds[mid] <= x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}
