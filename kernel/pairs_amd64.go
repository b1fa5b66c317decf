package kernel

// pairDotsOn does a row with at least one pair, or answers false.
func pairDotsOn(on level, out, e []float32, f, n int) bool {
	if on != avx512 || n%4 != 0 {
		return false
	}
	for j := 0; j < f; j += 16 {
		for c := 0; c < n; c += 16 {
			pairDots512(&out[0], &e[c], f, n, j, min(16, n-c), min(c, 1))
		}
	}
	return true
}

// pairDotsGradOn does a row with at least one pair, or answers false.
func pairDotsGradOn(on level, de, g, e []float32, f, n int) bool {
	switch {
	case on == avx512 && n > 8:
		pairDotsGrad512(&de[0], &g[0], &e[0], f, n)
	case on == avx512:
		pairDotsGrad512Short(&de[0], &g[0], &e[0], f, n)
	case on == avx2 && n%8 == 0:
		pairDotsGradAVX2(&de[0], &g[0], &e[0], f, n)
	default:
		return false
	}
	return true
}

// pairDots512 multiplies vectors j to j+15 of a row with those before them, cols numbers of each: 4, 8, 12 or 16. It adds to out
// if more is not 0.
//
//go:noescape
func pairDots512(out, e *float32, f, n, j, cols, more int)

//go:noescape
func pairDotsGrad512(de, pairs, e *float32, f, n int)

//go:noescape
func pairDotsGrad512Short(de, pairs, e *float32, f, n int)

//go:noescape
func pairDotsGradAVX2(de, pairs, e *float32, f, n int)
