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

func curves[T Float](t *testing.T, unit, tiny float64) {
	inf := T(math.Inf(1))
	x := append(random[T](999), 0, 1e-30, -1e-30, 30, -30, 80, -80, 700, -700, 1000, -1000, inf, -inf)
	for _, k := range tables[T]() {
		s, p := make([]T, len(x)), make([]T, len(x))
		k.sigmoid(x, s)
		k.softplus(x, p)
		for i, v := range x {
			v := float64(v)
			sigma, soft := 1/(1+math.Exp(-v)), math.Log1p(math.Exp(v))
			if v > 30 {
				soft = v + math.Exp(-v)
			}
			if math.Abs(float64(s[i])-sigma) > unit*sigma+tiny {
				t.Errorf("%s sigmoid(%v) = %v, want %v", k.name, v, s[i], sigma)
			}
			if soft != float64(p[i]) && math.Abs(float64(p[i])-soft) > unit*soft+tiny {
				t.Errorf("%s softplus(%v) = %v, want %v", k.name, v, p[i], soft)
			}
		}
		nan := []T{T(math.NaN())}
		if k.sigmoid(nan, nan); nan[0] == nan[0] {
			t.Errorf("sigmoid(NaN) = %v", nan)
		}
		if k.softplus(nan, nan); nan[0] == nan[0] {
			t.Errorf("softplus(NaN) = %v", nan)
		}
	}
}

func TestCurves(t *testing.T) {
	t.Run("32", func(t *testing.T) { curves[float32](t, 1e-7, 1.5e-45) })
	t.Run("64", func(t *testing.T) { curves[float64](t, 1e-15, 1e-307) })
}

func TestCurvesInPlace(t *testing.T) {
	x := random[float32](100)
	want := make([]float32, len(x))
	Sigmoid(x, want)
	got := clone(x)
	Sigmoid(got, got)
	sameBits(t, "sigmoid in place", got, want)
	wide, wideWant := random[float64](100), make([]float64, 100)
	Softplus64(wide, wideWant)
	Softplus64(wide, wide)
	sameBits(t, "softplus in place", wide, wideWant)
}
