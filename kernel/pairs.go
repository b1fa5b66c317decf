package kernel

// PairDots writes the products of all pairs of vectors of each row: e is [rows x f x n], out is [rows x f*(f-1)/2], and each row
// of out is <e_0,e_1>, <e_0,e_2>, ..., <e_f-2,e_f-1>. A product is the sum of those of its n numbers, one by one from 0.
func PairDots(out, e []float32, f, n int) { pairDots(machine, out, e, f, n) }

// PairDotsGrad is the way back of PairDots: de_i += the sum over j of g_ij * e_j, one by one in the order of j, with g as out
// there. de is as e, and must not overlap it.
func PairDotsGrad(de, g, e []float32, f, n int) { pairDotsGrad(machine, de, g, e, f, n) }

// checkPairs panics unless the lengths fit together.
func checkPairs(pairs, e []float32, f, n int) {
	if f < 1 || n < 1 {
		checkLen(min(f, n), 1, "a row of vectors")
	}
	rows := rowsOf(len(e), f*n)
	checkLen(len(pairs), rows*(f*(f-1)/2), "the products")
}

func pairDots(on level, out, e []float32, f, n int) {
	checkPairs(out, e, f, n)
	for pairs := f * (f - 1) / 2; pairs > 0 && len(e) > 0; e, out = e[f*n:], out[pairs:] {
		if !pairDotsOn(on, out[:pairs], e[:f*n], f, n) {
			pairDotsOf(out[:pairs], e[:f*n], f, n)
		}
	}
}

func pairDotsGrad(on level, de, g, e []float32, f, n int) {
	checkPairs(g, e, f, n)
	checkLen(len(de), len(e), "de")
	for pairs := f * (f - 1) / 2; pairs > 0 && len(e) > 0; e, de, g = e[f*n:], de[f*n:], g[pairs:] {
		if !pairDotsGradOn(on, de[:f*n], g[:pairs], e[:f*n], f, n) {
			pairDotsGradOf(de[:f*n], g[:pairs], e[:f*n], f, n)
		}
	}
}

// pairDotsOf does one row.
func pairDotsOf(out, e []float32, f, n int) {
	p := 0
	for i := range f {
		a := e[i*n:][:n]
		for j := i + 1; j < f; j++ {
			var s float32
			for c, v := range e[j*n:][:n] {
				s += float32(v * a[c])
			}
			out[p] = s
			p++
		}
	}
}

// pairDotsGradOf does one row.
func pairDotsGradOf(de, g, e []float32, f, n int) {
	for i := range f {
		to := de[i*n:][:n]
		p := i - 1 // of (j, i), then of (i, j)
		for j := range f {
			if j != i {
				axpy(g[p], e[j*n:][:n], to)
			}
			if j < i {
				p += f - 2 - j
			} else {
				p++
			}
		}
	}
}
