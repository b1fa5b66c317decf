package shard

import "math"

// narrow is v as T: for integers cut off toward zero and held at the bounds of the type, NaN as 0.
func narrow[T number](v float64) T {
	lo, hi := int64(math.MinInt64), int64(math.MaxInt64)
	switch any(T(0)).(type) {
	case float64, float32:
		return T(v)
	case int32:
		lo, hi = math.MinInt32, math.MaxInt32
	}
	switch {
	case v != v:
		return 0
	case v >= float64(hi):
		return T(hi)
	case v <= float64(lo):
		return T(lo)
	}
	return T(v)
}
