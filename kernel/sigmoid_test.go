package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// ulps is the distance of two floats in units in the last place.
func ulps(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(a-b) / (math.Nextafter(math.Abs(b), math.Inf(1)) - math.Abs(b))
}

func TestExpNegative(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	worst := 0.0
	for range 300_000 {
		x := -r.Float64() * math.Exp(r.Float64()*12-5.5)
		if x < -708.3 {
			continue
		}
		worst = max(worst, ulps(expNegative(x), math.Exp(x)))
	}
	if worst > 2 {
		t.Errorf("up to %v units in the last place from math.Exp, want 2", worst)
	}
	for x, want := range map[float64]float64{0: 1, -1000: 0, math.Inf(-1): 0, -1e-300: 1} {
		if got := expNegative(x); got != want {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	if !math.IsNaN(expNegative(math.NaN())) {
		t.Error("exp(NaN) is a number")
	}
}

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
