package psf

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// oracle adds up with as many bits as it takes.
func oracle(vs []float64) float64 {
	sum := new(big.Float).SetPrec(4000)
	for _, v := range vs {
		sum.Add(sum, new(big.Float).SetPrec(4000).SetFloat64(v))
	}
	out, _ := sum.Float64()
	return out
}

func TestExactAgainstBig(t *testing.T) {
	value := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1, 1), rapid.SampledFrom([]float64{
		math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 0x1p-1022, 1, -1, 0,
	}))
	rapid.Check(t, func(t *rapid.T) {
		vs := rapid.SliceOfN(value, 0, 40).Draw(t, "values")
		cut := rapid.IntRange(0, len(vs)).Draw(t, "cut")
		one, two := &exact{}, &exact{}
		for i, v := range vs {
			if i < cut {
				one.add(v)
			} else {
				two.add(v)
			}
		}
		read, err := readExact(two.bytes())
		if err != nil {
			t.Fatal(err)
		}
		one.merge(read)
		if got, want := one.value(), oracle(vs); got != want {
			t.Fatalf("sum of %v is %v, want %v", vs, got, want)
		}
	})
}

func TestExactSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	e, sum := &exact{}, new(big.Float).SetPrec(4000)
	for range 1000 {
		v := rng.NormFloat64() * math.Pow(2, float64(rng.IntN(200)-100))
		e.addSquare(v)
		b := new(big.Float).SetPrec(4000).SetFloat64(v)
		sum.Add(sum, b.Mul(b, b))
	}
	if want, _ := sum.Float64(); e.value() != want {
		t.Errorf("sum of squares is %v, want %v", e.value(), want)
	}
}

func TestExactSpecial(t *testing.T) {
	for _, c := range []struct{ a, b, want float64 }{
		{math.Inf(1), 1, math.Inf(1)}, {math.Inf(-1), math.MaxFloat64, math.Inf(-1)}, {math.Inf(1), math.Inf(-1), math.NaN()}, {math.NaN(), 1, math.NaN()},
	} {
		e := &exact{}
		e.add(c.a)
		e.add(c.b)
		if got := e.value(); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%v + %v = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// The carries of 2^30 additions that all go one way fit.
func TestExactCarry(t *testing.T) {
	e := &exact{pending: carryAt - 3}
	for i := range e.limbs[:limbs-1] {
		e.limbs[i] = 1<<62 - 1
	}
	before := *e
	before.carry()
	for range 6 {
		e.add(-math.MaxFloat64)
		e.add(math.MaxFloat64)
	}
	e.carry()
	if e.limbs != before.limbs {
		t.Error("adding and taking away changed the sum")
	}
}
