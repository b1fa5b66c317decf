package kernel

// dropOn does the first numbers and tells how many. AVX2 has no product of 64 bits that would pay.
func dropOn(on level, v []float32, state SplitMix, limit uint32, scale float32) int {
	n := len(v) &^ 7
	if on != avx512 || n == 0 {
		return 0
	}
	drop512(&v[0], n, state, limit, scale)
	return n
}

// drop512 does n numbers, a multiple of 8 and not 0.
//
//go:noescape
func drop512(v *float32, n int, state SplitMix, limit uint32, scale float32)
