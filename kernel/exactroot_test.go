package kernel_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"thole.example/kernel"
)

// TestRoot compares with big numbers, also where the sum of squares is beyond float64.
func TestRoot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, sum := &kernel.Exact{}, new(big.Float).SetPrec(5000)
		for _, v := range rapid.SliceOfN(rapid.Float64(), 0, 6).Draw(t, "values") {
			x := math.Ldexp(v, rapid.IntRange(-900, 900).Draw(t, "scale"))
			if math.IsInf(x, 0) || x != x {
				continue
			}
			kernel.AddSquares(e, []float64{x})
			b := new(big.Float).SetPrec(5000).SetFloat64(x)
			sum.Add(sum, b.Mul(b, b))
		}
		want, _ := new(big.Float).SetPrec(9000).Sqrt(sum).Float64()
		if got := e.Root(); got != want {
			t.Fatalf("root %v, want %v", got, want)
		}
	})
	for _, c := range []struct {
		add  []float64
		want float64
	}{
		{nil, 0}, {[]float64{9}, 3}, {[]float64{-4}, math.NaN()}, {[]float64{math.Inf(1), 1}, math.Inf(1)}, {[]float64{math.NaN()}, math.NaN()},
		{[]float64{math.Inf(-1)}, math.NaN()}, {[]float64{5, -5}, 0},
	} {
		e := &kernel.Exact{}
		kernel.AddAll(e, c.add)
		if got := e.Root(); got != c.want && (got == got || c.want == c.want) {
			t.Errorf("root of the sum of %v is %v, want %v", c.add, got, c.want)
		}
	}
}
