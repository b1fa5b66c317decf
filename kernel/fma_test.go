package kernel

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestFMA32 holds fma32 to sums of rational numbers, rounded once.
func TestFMA32(t *testing.T) {
	number := rapid.Custom(func(t *rapid.T) float32 {
		return math.Float32frombits(rapid.Uint32().Draw(t, "bits")&^(1<<30) | rapid.Uint32Range(0, 1).Draw(t, "large")<<30)
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := number.Draw(t, "a"), number.Draw(t, "b"), number.Draw(t, "c")
		if rapid.Bool().Draw(t, "near") { // where products and c nearly cancel, or c is just below what shows
			c = float32(-float64(a) * float64(b) * rapid.SampledFrom([]float64{1, -1, 1 << 24, 1 << 25, 1.0 / (1 << 24), 1.0 / (1 << 25)}).Draw(t, "by"))
		}
		if a-a != 0 || b-b != 0 || c-c != 0 {
			return
		}
		exact := new(big.Rat).Mul(new(big.Rat).SetFloat64(float64(a)), new(big.Rat).SetFloat64(float64(b)))
		exact.Add(exact, new(big.Rat).SetFloat64(float64(c)))
		want, _ := exact.Float32()
		if got := fma32(a, b, c); got != want {
			t.Fatalf("fma32(%v, %v, %v) = %v, want %v", a, b, c, got, want)
		}
	})
}
