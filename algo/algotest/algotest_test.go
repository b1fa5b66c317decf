package algotest

import (
	"math"
	"math/rand/v2"
	"testing"

	"thole.example/data"
)

// small is 60 examples of three columns, one of them in few, with labels -1 and +1, or for counts 0 and 1.
func small(seed uint64, name string) *data.Batch {
	low := float32(-1)
	if name == "poisson" {
		low = 0
	}
	return Draw(60, 3, seed, func(rng *rand.Rand, set func(int64, float32)) float32 {
		v := rng.NormFloat64()
		set(0, float32(v))
		set(1, 1)
		if rng.IntN(10) == 0 {
			set(2, float32(rng.NormFloat64()))
		}
		if rng.Float64() < Sigmoid(v-0.5) {
			return 1
		}
		return low
	})
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s: %v, want %v within %v", what, got, want, within)
	}
}

// TestLeast compares with what can be worked out by hand.
func TestLeast(t *testing.T) {
	coin := Draw(10, 1, 1, func(rng *rand.Rand, _ func(int64, float32)) float32 {
		return float32(math.Copysign(1, rng.NormFloat64()))
	})
	heads := 0.0
	for _, y := range coin.Label {
		heads += float64(y+1) / 20
	}
	entropy := -heads*math.Log(heads) - (1-heads)*math.Log(1-heads)
	p := &Problem{Data: coin, Loss: Log, L2: 1}
	near(t, "log loss of a coin", p.Least(t), entropy, 1e-12)
	near(t, "squares of a coin", (&Problem{Data: coin, Loss: Squares}).Least(t), 2*heads*(1-heads), 1e-12)
	near(t, "hinge loss of a coin", (&Problem{Data: coin, Loss: Hinge, L2: 1}).Least(t), 2*min(heads, 1-heads), within)
	near(t, "error of a coin", p.Errors(p.Newton())[1], 1/math.Sqrt(10*heads*(1-heads)), 1e-9)

	side := float32(-1)
	pair := Draw(2, 1, 1, func(_ *rand.Rand, set func(int64, float32)) float32 {
		side = -side
		set(0, side)
		return side
	})
	for l2, want := range map[float64]float64{0.5: 0.25, 2: 0.75} { // at w = min(1, 1/l2)
		near(t, "hinge loss of a pair", (&Problem{Data: pair, Loss: Hinge, L2: l2}).Least(t), want, within)
		near(t, "squares of a pair", (&Problem{Data: pair, Loss: Squares, L2: l2}).Least(t), l2/2/(1+l2), 1e-12)
	}
}

// TestNothingBelow walks about the weights that were found, and finds none that are better, and no bound that does not hold.
func TestNothingBelow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for name, loss := range Losses() {
		for seed := range uint64(5) {
			p := &Problem{Data: small(seed, name), Loss: loss, L2: 0.05}
			var w []float64
			if name == "svm" {
				w, _ = p.ascend()
			} else {
				w = p.Newton()
			}
			least := p.Least(t)
			near(t, name+" from the least", p.Value(w), least, 1.1*within*least)
			for range 200 {
				other := make([]float64, len(w))
				for j := range w {
					other[j] = w[j] + rng.NormFloat64()*math.Pow(10, -4*rng.Float64())
				}
				value := p.Value(other)
				if value < least {
					t.Errorf("%s: %v at %v, below %v", name, value, other, least)
				}
				if name == "svm" {
					continue
				}
				if gap := p.Gap(other); value-gap > least+1e-12 {
					t.Errorf("%s: %v at %v is said to be within %v of the least, %v", name, value, other, gap, least)
				}
				l := &Problem{Data: p.Data, Loss: loss, L1: 0.1, L2: 0.05}
				other[0] = 0
				if gap := l.Gap(other); l.Value(other)-gap > l.Value(w) {
					t.Errorf("%s with l1: %v at %v is said to be within %v of the least", name, l.Value(other), other, gap)
				}
			}
		}
	}
}

// With squares and one column of values 1 and -1, L1 moves the weight to the mean of x*y less L1: there the bound is 0, and where
// the mean is less than L1 it is 0 at 0.
func TestGapWithL1(t *testing.T) {
	side := float32(-1)
	b := Draw(4, 1, 1, func(_ *rand.Rand, set func(int64, float32)) float32 {
		side = -side
		set(0, side)
		return 0.75 * side
	})
	for l1, want := range map[float64]float64{0.25: 0.5 / 1.5, 0.8: 0} {
		p := &Problem{Data: b, Loss: Squares, L1: l1, L2: 0.5}
		near(t, "gap at the least", p.Gap([]float64{want, 0}), 0, 1e-12)
		if gap := p.Gap([]float64{want + 0.1, 0}); !(gap > 0.001) {
			t.Errorf("gap %v beside the least, want more than nothing", gap)
		}
	}
}
