package kernel

import "math"

// extremes are the smallest and the largest of what was seen, and whether something was no number.
type extremes[T Number] struct {
	lo, hi T
	nan    bool
}

// noExtremes are those of nothing, which every value widens.
func noExtremes[T Number]() (r extremes[T]) {
	switch r := any(&r).(type) {
	case *extremes[float32]:
		r.lo, r.hi = float32(math.Inf(1)), float32(math.Inf(-1))
	case *extremes[float64]:
		r.lo, r.hi = math.Inf(1), math.Inf(-1)
	case *extremes[int32]:
		r.lo, r.hi = math.MaxInt32, math.MinInt32
	case *extremes[int64]:
		r.lo, r.hi = math.MaxInt64, math.MinInt64
	}
	return r
}

// result is what was found. A zero is +0: which one would come first in memory must not show.
func (r *extremes[T]) result() (lo, hi T) {
	if r.nan {
		nan := T(math.NaN())
		return nan, nan
	}
	return r.lo + 0, r.hi + 0
}

// MinMax is the smallest and the largest value of v: both NaN if v has one, and the largest and the smallest of all T, or
// infinities, if v is empty, so that results of pieces can be put together with min and max.
func MinMax[T Number](v []T) (lo, hi T) { return minMax(machine, v) }

func minMax[T Number](on level, v []T) (lo, hi T) {
	r := noExtremes[T]()
	for _, x := range v[extremesOn(on, &r, v, false):] {
		r.add(x)
	}
	return r.result()
}

// AbsMinMax is MinMax of absolute values. That of the smallest integer is taken for the largest integer.
func AbsMinMax[T Number](v []T) (lo, hi T) { return absMinMax(machine, v) }

func absMinMax[T Number](on level, v []T) (lo, hi T) {
	r := noExtremes[T]()
	most := r.lo
	for _, x := range v[extremesOn(on, &r, v, true):] {
		if x < 0 {
			if x = -x; x < 0 {
				x = most
			}
		}
		r.add(x)
	}
	return r.result()
}

func (r *extremes[T]) add(x T) {
	if x < r.lo {
		r.lo = x
	}
	if x > r.hi {
		r.hi = x
	}
	if x != x {
		r.nan = true
	}
}

// NonZero counts the values of v that are not 0; a NaN is not, -0 is.
func NonZero[T Number](v []T) int { return nonZero(machine, v) }

func nonZero[T Number](on level, v []T) int {
	zeros, n := zerosOn(on, v)
	for _, x := range v[n:] {
		if x == 0 {
			zeros++
		}
	}
	return len(v) - zeros
}

// Different counts the places where a and b, which have one length, are not equal and |a-b| is above the tolerance. The
// difference of floats is rounded, that of integers is exact. A NaN differs from everything.
func Different[T Number](a, b []T, tolerance T) int { return different(machine, a, b, tolerance) }

func different[T Number](on level, a, b []T, tolerance T) int {
	checkLen(len(b), len(a), "b")
	differ, n := differentOn(on, a, b, tolerance)
	a, b = a[n:], b[n:len(a)]
	for i, x := range a {
		y := b[i]
		if x == y {
			continue
		}
		d := x - y
		if x < y {
			d = y - x
		}
		if !(d >= 0 && d <= tolerance) { // below 0: a difference of integers that is beyond T
			differ++
		}
	}
	return differ
}

// Above appends to at the places of the values of v that are above the limit, in order. NaN is above nothing. v has at most
// 2^32 values.
func Above[T Number](v []T, limit T, at []uint32) []uint32 {
	return above(machine, v, limit, false, at)
}

// AboveAbs is Above for absolute values.
func AboveAbs[T Number](v []T, limit T, at []uint32) []uint32 {
	return above(machine, v, limit, true, at)
}

func above[T Number](on level, v []T, limit T, abs bool, at []uint32) []uint32 {
	for i := 0; i < len(v); {
		n, block := notAboveOn(on, v[i:], limit, abs)
		i += n
		end := min(i+block, len(v))
		for ; i < end; i++ {
			// Not -limit: the smallest integer has no negative. Not -x either.
			if x := v[i]; x > limit || abs && x < 0 && x < -limit || abs && limit < 0 && x == x {
				at = append(at, uint32(i))
			}
		}
	}
	return at
}

// Histogram counts values in equal bins between lo and hi, which are finite, lo below hi: counts[0] is about those below lo,
// the last one about those above hi, and the bins, at least one, are between; hi itself is in the last bin. A value goes to
// bin (v-lo)/(hi-lo) times the number of bins, rounded down, in float64. What was counted before stays; NaN are only
// counted in the result.
func Histogram[T Number](v []T, lo, hi float64, counts []int64) (nans int64) {
	bins := len(counts) - 2
	checkLen(max(bins, 1), bins, "counts")
	half := 1.0
	if math.IsInf(hi-lo, 0) {
		half = 0.5
	}
	from, width, n := lo*half, hi*half-lo*half, float64(bins)
	for _, x := range v {
		x := float64(x)
		switch {
		case x >= lo && x <= hi:
			counts[1+min(int((x*half-from)/width*n), bins-1)]++
		case x < lo:
			counts[0]++
		case x > hi:
			counts[bins+1]++
		default:
			nans++
		}
	}
	return nans
}
