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

func TestExp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	worst := 0.0
	for range 300_000 {
		x := math.Copysign(r.Float64()*math.Exp(r.Float64()*12-5.5), r.Float64()-0.5)
		if math.Abs(x) > 708.3 {
			continue
		}
		worst = max(worst, ulps(Exp(x), math.Exp(x)))
	}
	if worst > 2 {
		t.Errorf("up to %v units in the last place from math.Exp, want 2", worst)
	}
	for x, want := range map[float64]float64{0: 1, -1000: 0, math.Inf(-1): 0, -1e-300: 1, 1e-300: 1, 709.79: math.Inf(1), math.Inf(1): math.Inf(1)} {
		if got := Exp(x); got != want {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{-708.39, -708, 709, 709.4, 709.78} {
		if got := Exp(x); ulps(got, math.Exp(x)) > 2 {
			t.Errorf("exp(%v) = %v, want %v", x, got, math.Exp(x))
		}
	}
	if !math.IsNaN(Exp(math.NaN())) {
		t.Error("exp(NaN) is a number")
	}
}

func BenchmarkExp(b *testing.B) {
	x, sum := random[float64](1000), 0.0
	for b.Loop() {
		for _, v := range x {
			sum += Exp(v)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/number")
	if sum < 0 {
		b.Fatal(sum)
	}
}
