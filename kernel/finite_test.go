package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Every implementation finds the first value that is not finite, wherever it stands.
func TestNonFinite(t *testing.T) {
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.Float32frombits(0x7f800001)}
	even := []float32{0, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, math.Float32frombits(0x007fffff)}
	rapid.Check(t, func(t *rapid.T) {
		x := make([]float32, rapid.IntRange(0, 300).Draw(t, "n"))
		y := make([]float64, len(x))
		for i := range x {
			x[i] = even[i%len(even)]
		}
		want := -1
		if len(x) > 0 && rapid.Bool().Draw(t, "some") {
			for range rapid.IntRange(1, 3).Draw(t, "how many") {
				at := rapid.IntRange(0, len(x)-1).Draw(t, "at")
				x[at] = rapid.SampledFrom(odd).Draw(t, "value")
				if want < 0 || at < want {
					want = at
				}
			}
		}
		for i, v := range x {
			y[i] = float64(v)
		}
		for on := plain; on <= machine; on++ {
			if got := nonFiniteOn(on, x); got != want {
				t.Fatalf("level %d: %d, want %d", on, got, want)
			}
		}
		if got := NonFinite64(y); got != want {
			t.Fatalf("float64: %d, want %d", got, want)
		}
	})
}

func BenchmarkNonFinite(b *testing.B) {
	x := random[float32](160000)
	for on := plain; on <= machine; on++ {
		b.Run([]string{"plain", "avx2", "avx512"}[on], func(b *testing.B) {
			b.SetBytes(int64(4 * len(x)))
			for b.Loop() {
				if nonFiniteOn(on, x) >= 0 {
					b.Fatal("found one")
				}
			}
		})
	}
}
