package kernel

func MinMax[T Number](v []T) (lo, hi T) {
	lo, hi = v[0], v[0]
	for _, x := range v {
		lo, hi = min(lo, x), max(hi, x)
	}
	return lo, hi
}
func AbsMinMax[T Number](v []T) (lo, hi T) {
	w := append([]T(nil), v...)
	for i := range w {
		if w[i] < 0 {
			w[i] = -w[i]
		}
	}
	return MinMax(w)
}
func NonZero[T Number](v []T) (n int) {
	for _, x := range v {
		if x != 0 {
			n++
		}
	}
	return n
}
func Different[T Number](a, b []T, t T) (n int) {
	for i, x := range a {
		if d := x - b[i]; !(d <= t && d >= -t) && x != b[i] {
			n++
		}
	}
	return n
}
func Fill[T Number](a []T, t T) {
	for i := range a {
		a[i] = t
	}
}
func Above[T Number](v []T, limit T, at []uint32) []uint32 {
	for i, x := range v {
		if x > limit {
			at = append(at, uint32(i))
		}
	}
	return at
}
func AboveAbs[T Number](v []T, limit T, at []uint32) []uint32 {
	for i, x := range v {
		if x > limit || -x > limit {
			at = append(at, uint32(i))
		}
	}
	return at
}
