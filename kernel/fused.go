package kernel

import "math"

// fusedTiles is gemmer.run in pure Go.
func fusedTiles[T Float](rows, n, k int, a []T, aRow, aCol int, b []T, bRow, bTile int, c []T, cRow int) {
	for j := 0; j < n; j += 32 {
		w := min(32, n-j)
		for i := range rows {
			out := c[i*cRow+j:][:w]
			for p := range k {
				fusedAxpy(a[i*aRow+p*aCol], b[j/32*bTile+p*bRow:][:w], out)
			}
		}
	}
}

// fusedAxpy adds a*x to y, each sum rounded once.
func fusedAxpy[T Float](a T, x, y []T) {
	y = y[:len(x)]
	switch x := any(x).(type) {
	case []float32:
		f, y := float32(a), any(y).([]float32)
		if contracts {
			contracted(f, x, y)
			return
		}
		for i, v := range x {
			y[i] = fma32(f, v, y[i])
		}
	case []float64:
		f, y := float64(a), any(y).([]float64)
		for i, v := range x {
			y[i] = math.FMA(f, v, y[i])
		}
	}
}

// contracted is fusedAxpy where the compiler makes one instruction of a product and its sum, which it may and on most
// processors does, but need not.
//
//go:noinline
func contracted(a float32, x, y []float32) {
	for i, v := range x {
		y[i] += a * v
	}
}

// contracts reports whether contracted is fused: otherwise nothing is left of 1 - 2^-46 less 1.
var contracts = func() bool {
	y := []float32{-1}
	contracted(1+1.0/(1<<23), []float32{1 - 1.0/(1<<23)}, y)
	return y[0] != 0
}()
