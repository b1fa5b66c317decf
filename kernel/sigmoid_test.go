package kernel

import (
	"math"
	"testing"
)

// Softplus has its precision in both types, and Sigmoid64 its own.
func TestCurves(t *testing.T) {
	x := append(random[float64](999), 0, 1e-30, -1e-30, 30, -30, 80, -80, 700, -700, 1000, -1000, math.Inf(1), math.Inf(-1))
	narrow := make([]float32, len(x))
	for i, v := range x {
		narrow[i] = float32(v)
	}
	sigma, soft, soft32 := make([]float64, len(x)), make([]float64, len(x)), make([]float32, len(x))
	Sigmoid64(x, sigma)
	Softplus64(x, soft)
	Softplus(narrow, soft32)
	for i, v := range x {
		if want := 1 / (1 + math.Exp(-v)); math.Abs(sigma[i]-want) > 1e-15*want+1e-307 {
			t.Errorf("sigmoid(%v) = %v, want %v", v, sigma[i], want)
		}
		if want := softplusOf(v); soft[i] != want && math.Abs(soft[i]-want) > 1e-15*want+1e-307 {
			t.Errorf("softplus(%v) = %v, want %v", v, soft[i], want)
		}
		if want := softplusOf(float64(narrow[i])); !nearCurve(soft32[i], want, 0.51) {
			t.Errorf("softplus(%v) = %v, want %v", narrow[i], soft32[i], want)
		}
	}
	for name, f := range map[string]func(x, y []float64){"sigmoid": Sigmoid64, "softplus": Softplus64} {
		nan := []float64{math.NaN()}
		if f(nan, nan); nan[0] == nan[0] {
			t.Errorf("%s(NaN) = %v", name, nan)
		}
	}
}

func softplusOf(v float64) float64 {
	if v > 30 {
		return v + math.Exp(-v)
	}
	return math.Log1p(math.Exp(v))
}

func TestSoftplusInPlace(t *testing.T) {
	wide, want := random[float64](100), make([]float64, 100)
	Softplus64(wide, want)
	Softplus64(wide, wide)
	sameBits(t, "softplus in place", wide, want)
}
