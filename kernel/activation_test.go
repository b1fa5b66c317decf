package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// oneActivation is an activation of one number, as its contract words it; a curve in float64, which its contract allows for.
func oneActivation(f activation, old, x, y float32) float64 {
	v, d := float64(x), float32(0)
	switch f {
	case relu:
		return max(v, 0)
	case reluGrad:
		if x > 0 {
			d = y
		}
	case sigmoidOf:
		return 1 / (1 + math.Exp(-v))
	case tanhOf:
		return math.Tanh(v)
	case sigmoidGrad:
		d = float32(y*x) * (1 - x)
	case tanhGrad:
		d = float32(y*(1-x)) * (1 + x)
	case mulAdd:
		d = old + float32(x*y)
	}
	return float64(d)
}

// nearCurve reports whether got is within units in the last place of exact; numbers below float32 count as they are rounded.
func nearCurve(got float32, exact, units float64) bool {
	if got != got || exact != exact {
		return got != got && exact != exact
	}
	ulp := math.Exp2(math.Max(math.Floor(math.Log2(math.Abs(exact))), -126) - 23)
	return float64(got) == exact || math.Abs(float64(got)-exact) <= units*ulp
}

// Every implementation of an activation has the bits of the plain one, in place too, and those are what the contract says.
func TestActivations(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for f := range activations {
		for _, n := range around {
			old, x, y := numbers(r, n), numbers(r, n+1)[1:], numbers(r, n)
			for i := range x {
				x[i] *= float32(math.Exp(3 * r.NormFloat64()))
			}
			plainly := clone(old)
			activate(plain, f, plainly, x, y)
			for i := range plainly {
				units := 0.0
				if f == sigmoidOf || f == tanhOf {
					units = 0.51
				}
				if exact := oneActivation(f, old[i], x[i], y[i]); !nearCurve(plainly[i], exact, units) {
					t.Fatalf("activation %d of %v, %v is %v, want %v", f, x[i], y[i], plainly[i], exact)
				}
			}
			for on := avx2; on <= machine; on++ {
				what := fmt.Sprintf("activation %d at level %d", f, on)
				got := clone(old)
				activate(on, f, got, x, y)
				sameBits(t, what, got, plainly)
				if f == mulAdd {
					continue
				}
				overX, overY := clone(x), clone(y)
				activate(on, f, overX, overX, y)
				sameBits(t, what+" over x", overX, plainly)
				activate(on, f, overY, x, overY)
				sameBits(t, what+" over y", overY, plainly)
			}
		}
	}
}

// The curves are near the true ones everywhere, and where it ends.
func TestCurves32(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	x := []float32{0, 1e-45, -1e-45, 1e-30, 1e-4, -1e-4, 8, 9.01, 17, -17, 88, -88, -103.2, -104, -150, 255, 257, -257, 1e38, -1e38, inf, -inf, nan}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		x = append(x, float32(r.NormFloat64()*math.Exp(4*r.NormFloat64())))
	}
	y := make([]float32, len(x))
	for f, curve := range map[activation]func(x, y []float32){sigmoidOf: Sigmoid, tanhOf: Tanh} {
		curve(x, y)
		for i, v := range x {
			if exact := oneActivation(f, 0, v, 0); !nearCurve(y[i], exact, 0.51) {
				t.Fatalf("curve %d of %v is %v, want %v", f, v, y[i], exact)
			}
		}
	}
}

// The gradients are those of the functions, by central differences.
func TestActivationSlopes(t *testing.T) {
	for name, c := range map[string]struct {
		f    func(x, y []float32)
		grad func(y, g, dx []float32)
	}{"relu": {Relu, ReluGrad}, "sigmoid": {Sigmoid, SigmoidGrad}, "tanh": {Tanh, TanhGrad}} {
		for _, x := range []float32{-2, -0.5, 0.3, 1.5} {
			const h = 1.0 / 64
			v := []float32{x, x + h, x - h}
			c.f(v, v)
			d := []float32{2}
			c.grad(v[:1], d, d)
			if want := float64(v[1]-v[2]) / h; math.Abs(float64(d[0])-want) > 1e-3 {
				t.Errorf("%s at %v: slope %v, want %v", name, x, d[0]/2, want/2)
			}
		}
	}
}

func TestBias(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for on := plain; on <= machine; on++ {
		for n := range 70 {
			for rows := range 5 {
				a, row, sum := numbers(r, rows*n), numbers(r, n), numbers(r, n)
				more, sums := clone(a), clone(sum)
				for i, v := range a {
					more[i] += row[i%n]
					sums[i%n] += v
				}
				columnSums(on, sum, a)
				sameBits(t, "sums", sum, sums)
				addRow(on, a, row)
				sameBits(t, "sum with a row", a, more)
			}
		}
	}
	x := make([]float32, 7)
	for name, wrong := range map[string]func(){
		"rows": func() { AddRow(x, x[:2]) }, "sums": func() { ColumnSums(make([]float32, 3), x) }, "no columns": func() { AddRow(x, nil) },
	} {
		if !panics(wrong) {
			t.Errorf("%s of seven numbers did not panic", name)
		}
	}
}

func BenchmarkActivation(b *testing.B) {
	names := [activations]string{"Relu", "ReluGrad", "Sigmoid", "SigmoidGrad", "Tanh", "TanhGrad", "MulAdd"}
	x, y, dst := random[float32](1<<13), random[float32](1<<13), make([]float32, 1<<13)
	for f, name := range names {
		for on := plain; on <= machine; on++ {
			b.Run(fmt.Sprintf("%s/%d", name, on), func(b *testing.B) {
				b.SetBytes(4 << 13)
				for b.Loop() {
					activate(on, activation(f), dst, x, y)
				}
			})
		}
	}
}

func BenchmarkBias(b *testing.B) {
	const rows, n = 256, 128
	a, row, sum := random[float32](rows*n), random[float32](n), make([]float32, n)
	for on := plain; on <= machine; on++ {
		b.Run(fmt.Sprintf("AddRow/%d", on), func(b *testing.B) {
			b.SetBytes(4 * rows * n)
			for b.Loop() {
				addRow(on, a, row)
			}
		})
		b.Run(fmt.Sprintf("ColumnSums/%d", on), func(b *testing.B) {
			b.SetBytes(4 * rows * n)
			for b.Loop() {
				columnSums(on, sum, a)
			}
		})
	}
}
