package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// codesOf makes rows of groups with so many codes each, and counts the cells.
func codesOf(seed uint64, rows int, narrow, wide []int) (c *Codes, cells int) {
	c = &Codes{}
	for _, n := range narrow {
		c.Narrow, cells = append(c.Narrow, uint32(cells)), cells+n
	}
	for _, n := range wide {
		c.Wide, cells = append(c.Wide, uint32(cells)), cells+n
	}
	if c.Stride = len(narrow); len(wide) > 0 {
		c.Stride = c.WideAt() + 2*len(wide)
	}
	c.Bytes = make([]byte, rows*c.Stride)
	for r := range rows {
		row := c.Row(r)
		for i, n := range narrow {
			row[i] = byte(Hash(seed+uint64(r*1000+i)) % uint64(n))
		}
		for i, n := range wide {
			code := Hash(seed+uint64(r*1000+500+i)) % uint64(n)
			row[c.WideAt()+2*i], row[c.WideAt()+2*i+1] = byte(code), byte(code>>8)
		}
	}
	return c, cells
}

func TestSumGradients(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(1, 200).Draw(t, "rows")
		narrow := rapid.SliceOfN(rapid.IntRange(1, 256), 0, 11).Draw(t, "narrow")
		wide := rapid.SliceOfN(rapid.IntRange(1, 1<<16), 0, 3).Draw(t, "wide")
		c, cells := codesOf(7, rows, narrow, wide)
		if cells == 0 {
			return
		}
		grads := make([]Gradient, rows)
		for i := range grads {
			grads[i] = Gradient{int32(Hash(uint64(i))), int32(Hash(uint64(-i)) & math.MaxInt32)}
		}
		some := rapid.SliceOfN(rapid.Uint32Range(0, uint32(rows-1)), 0, 60).Draw(t, "some")
		want := make([]GradientSum, cells)
		sumGradients(want, c, some, grads)
		got := make([]GradientSum, cells)
		SumGradients(got, c, some, grads)
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

func BenchmarkSumGradients(b *testing.B) {
	const rows = 1 << 18
	c, cells := codesOf(1, rows, slices.Repeat([]int{255}, 28), nil)
	sums, grads := make([]GradientSum, cells), make([]Gradient, rows)
	for _, every := range []int{1, 7} {
		var some []uint32
		for r := 0; r < rows; r += every {
			some = append(some, uint32(r))
		}
		for name, on := range map[string]level{"plain": plain, "machine": machine} {
			b.Run(fmt.Sprintf("every=%d/%s", every, name), func(b *testing.B) {
				for b.Loop() {
					if rest := sumGradientsOn(on, sums, c, some, grads); len(rest) > 0 {
						sumGradients(sums, c, rest, grads)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(some)*28), "ns/cell")
			})
		}
	}
}
