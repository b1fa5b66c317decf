package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Every implementation has the bits of plain loops, and writes nothing beside.
func TestPairDots(t *testing.T) {
	const rows, beside = 2, 32
	r := rand.New(rand.NewPCG(5, 5))
	for on := plain; on <= machine; on++ {
		for _, f := range []int{1, 2, 3, 7, 15, 16, 17, 18, 31, 32, 33, 39, 50} {
			for n := 1; n <= 40; n++ {
				pairs := f * (f - 1) / 2
				e, g := numbers(r, rows*f*n), numbers(r, rows*pairs)
				out, de := numbers(r, rows*pairs+beside), numbers(r, rows*f*n+beside)
				wantOut, wantDe := clone(out), clone(de)
				for row := range rows {
					p := row * pairs
					e, de := e[row*f*n:], wantDe[row*f*n:]
					for i := range f {
						for j := i + 1; j < f; j++ {
							var s float32
							for c := range n {
								s += float32(e[i*n+c] * e[j*n+c])
							}
							wantOut[p] = s
							p++
						}
						for j := range f {
							if j == i {
								continue
							}
							a, b := min(i, j), max(i, j)
							for c := range n {
								de[i*n+c] += float32(g[row*pairs+a*(2*f-a-1)/2+b-a-1] * e[j*n+c])
							}
						}
					}
				}
				what := fmt.Sprintf("level %d, %d vectors of %d", on, f, n)
				pairDots(on, out[:rows*pairs], e, f, n)
				sameBits(t, what, out, wantOut)
				pairDotsGrad(on, de[:rows*f*n], g, e, f, n)
				sameBits(t, what+", back", de, wantDe)
			}
		}
	}
}

func TestPairDotsPanics(t *testing.T) {
	x := make([]float32, 12)
	for name, wrong := range map[string]func(){
		"rows":     func() { PairDots(x[:3], x[:11], 3, 2) },
		"products": func() { PairDots(x[:5], x, 3, 2) },
		"n":        func() { PairDots(x[:0], x, 3, 0) },
		"gradient": func() { PairDotsGrad(x[:6], x[:6], make([]float32, 12), 3, 2) },
	} {
		if !panics(wrong) {
			t.Errorf("wrong %s did not panic", name)
		}
	}
}

func BenchmarkPairDots(b *testing.B) {
	const rows, f = 256, 39
	for _, n := range []int{8, 16} {
		e, de, g := random[float32](rows*f*n), make([]float32, rows*f*n), random[float32](rows*f*(f-1)/2)
		out := make([]float32, len(g))
		for on := plain; on <= machine; on++ {
			b.Run(fmt.Sprintf("n=%d/%d", n, on), func(b *testing.B) {
				for b.Loop() {
					pairDots(on, out, e, f, n)
				}
				b.ReportMetric(rows*float64(b.N)/float64(b.Elapsed().Microseconds()), "Mrows/s")
			})
			b.Run(fmt.Sprintf("Grad/n=%d/%d", n, on), func(b *testing.B) {
				for b.Loop() {
					pairDotsGrad(on, de, g, e, f, n)
				}
				b.ReportMetric(rows*float64(b.N)/float64(b.Elapsed().Microseconds()), "Mrows/s")
			})
		}
	}
}
