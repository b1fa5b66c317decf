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

// fusedAxpy adds a*x to y, each element rounded once.
func fusedAxpy[T Float](a T, x, y []T) {
	switch x := any(x).(type) {
	case []float32:
		f, y := float32(a), any(y).([]float32)[:len(x)]
		for i, v := range x {
			y[i] = fma32(f, v, y[i])
		}
	case []float64:
		f, y := float64(a), any(y).([]float64)[:len(x)]
		for i, v := range x {
			y[i] = math.FMA(f, v, y[i])
		}
	}
}
