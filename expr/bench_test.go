package expr

import (
	"slices"
	"testing"
	"unsafe"
)

const (
	benchCells = 10_000_000
	benchChunk = 16384
)

// BenchmarkMap compares an expression with a loop that is compiled in, in turns over the same cells.
func BenchmarkMap(b *testing.B) {
	b.Run("f64", benchMap[float64])
	b.Run("f32", benchMap[float32])
}

func benchMap[F floating](b *testing.B) {
	x, y, d := make([]F, benchCells), make([]F, benchCells), make([]F, benchCells)
	for i := range x {
		x[i], y[i] = F(i%1000)/7, F((i*31)%997)/7
	}
	for _, c := range []struct {
		text     string
		rows     [][]F
		compiled func(d, x, y []F)
	}{
		{"2*x+1", [][]F{x}, func(d, x, _ []F) {
			x = x[:len(d)]
			for i := range d {
				d[i] = 2*x[i] + 1
			}
		}},
		{"max(x, y)", [][]F{x, y}, func(d, x, y []F) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = max(x[i], y[i])
			}
		}},
		{"x > y ? x - 0.5 : 0.25*x + 0.75*y", [][]F{x, y}, func(d, x, y []F) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				if x[i] > y[i] {
					d[i] = x[i] - 0.5
				} else {
					d[i] = 0.25*x[i] + 0.75*y[i]
				}
			}
		}},
	} {
		e, err := Parse(c.text)
		if err != nil {
			b.Fatal(err)
		}
		p, err := Bind[F](e, nil)
		if err != nil {
			b.Fatal(err)
		}
		bytes := int64(len(c.rows)+1) * benchCells * int64(unsafe.Sizeof(F(0)))
		b.Run(c.text+"/compiled", func(b *testing.B) {
			b.SetBytes(bytes)
			for range b.N {
				for lo := 0; lo < benchCells; lo += benchChunk {
					hi := min(lo+benchChunk, benchCells)
					c.compiled(d[lo:hi], x[lo:hi], y[lo:hi])
				}
			}
		})
		want := slices.Clone(d)
		b.Run(c.text+"/expr", func(b *testing.B) {
			b.SetBytes(bytes)
			in := make([][]F, len(c.rows))
			for range b.N {
				for lo := 0; lo < benchCells; lo += benchChunk {
					hi := min(lo+benchChunk, benchCells)
					for k, row := range c.rows {
						in[k] = row[lo:hi]
					}
					if err := p.Run(d[lo:hi], in, int64(lo), nil); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		if !slices.Equal(d, want) {
			b.Errorf("%s: the expression gives something else than the loop", c.text)
		}
	}
}
