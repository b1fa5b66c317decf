package kernel

// nonFiniteOn looks at whole 32 values at a time for exponents of ones alone.
func nonFiniteOn(on level, x []float32) int {
	n := len(x) &^ 31
	if on == plain || n == 0 || !finiteAVX2(&x[0], n) {
		return nonFinite(x)
	}
	if at := nonFinite(x[n:]); at >= 0 {
		return n + at
	}
	return -1
}

// finiteAVX2 reports whether n values, a multiple of 32, are finite.
//
//go:noescape
func finiteAVX2(x *float32, n int) bool
