package kernel

import "math"

// NonFinite is the place of the first value that is infinite or no number, -1 if there is none.
func NonFinite(x []float32) int { return nonFiniteOn(machine, x) }

// NonFinite64 is the place of the first value that is infinite or no number, -1 if there is none.
func NonFinite64(x []float64) int { return nonFinite(x) }

// nonFinite adds v-v up, which is 0 for every finite value, and looks closer where the sum is not.
func nonFinite[T Float](x []T) int {
	for i := 0; i < len(x); i += 64 {
		some := x[i:min(i+64, len(x))]
		var sum T
		for _, v := range some {
			sum += v - v
		}
		if sum == 0 {
			continue
		}
		for k, v := range some {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				return i + k
			}
		}
	}
	return -1
}
