package kernel

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// ditherings are the types that numbers are rounded to.
var ditherings = []struct {
	as      NarrowType
	largest float64
	least   float64 // of the numbers above 0, or of the differences
	bits    int     // of a number's fraction; 0: all differences are the least
}{
	{Float16, 65504, math.Ldexp(1, -24), 11},
	{BFloat16, float64(math.Float32frombits(0x7f7f0000)), math.Ldexp(1, -133), 8},
	{Int8, 0, 0, 0},
}

// dithered is what n numbers of each row become, in every second row of a slab whose rows have gaps, which stay as they are.
func dithered(t interface{ Fatalf(string, ...any) }, as NarrowType, on level, src []float32, n int, seeds []uint32, first uint32) []float32 {
	size := NarrowBytes(as, n)
	r := NarrowRows{As: as, Step: size + 7&^1, N: n}
	r.Slab = make([]byte, 2*len(seeds)*r.Step)
	for i := range r.Slab {
		r.Slab[i] = 0xa5
	}
	rows, dst := make([]uint32, len(seeds)), make([]float32, len(src))
	for i := range rows {
		rows[i] = uint32(2*i + 1)
	}
	r.ditherOn(on, src, rows, seeds, first)
	for i, b := range r.Slab {
		if row, at := i/r.Step, i%r.Step; b != 0xa5 && (row%2 == 0 || at >= size) {
			t.Fatalf("level %d: byte %d of row %d was written", on, at, row)
		}
	}
	r.widenOn(on, dst, rows, 0, n)
	if n > 3 { // a part of them
		some := make([]float32, 2*len(rows))
		r.widenOn(on, some, rows, 1, 2)
		for i := range rows {
			if math.Float32bits(some[2*i+1]) != math.Float32bits(dst[i*n+2]) {
				t.Fatalf("level %d: number 2 of row %d is %v alone, %v with the others", on, i, some[2*i+1], dst[i*n+2])
			}
		}
	}
	return dst
}

// anyFloat is a number of any size, mostly one near others that matter.
func anyFloat(t *rapid.T) float32 {
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
	case 1:
		return rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), 65504, 65505, 65520, -65536, 127.0 / 8, -128.0 / 8, float32(math.Inf(1)),
			float32(math.Inf(-1)), float32(math.NaN()), math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 0x1p-14, 0x1p-24, 0x1p-25}).Draw(t, "edge")
	case 2:
		return float32(rapid.IntRange(-1100<<13, 1100<<13).Draw(t, "tiny")) * 0x1p-37
	}
	return float32(rapid.Float64Range(-20, 20).Draw(t, "usual"))
}

// TestDither: numbers become one of the two beside them, the upper one if their place's noise is below how far they are from the
// lower one, in every implementation.
func TestDither(t *testing.T) {
	for _, d := range ditherings {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(0, 40).Draw(t, "n")
			src, seeds := make([]float32, n*rapid.IntRange(0, 4).Draw(t, "rows")), []uint32{}
			for i := range src {
				src[i] = anyFloat(t)
			}
			for range len(src) / max(1, n) {
				seeds = append(seeds, rapid.Uint32().Draw(t, "seed"))
			}
			first := rapid.Uint32().Draw(t, "first")
			for _, on := range levels() {
				for i, got := range dithered(t, d.as, on, src, n, seeds, first) {
					largest, least := d.largest, d.least
					if d.as == Int8 {
						least = math.Ldexp(1, naiveExponent(src[i/n*n:][:n]))
						largest = 127 * least
					}
					want := naiveDither(src[i], largest, least, d.bits, noise(seeds[i/n], first+uint32(i%n)))
					if math.Float32bits(got) != math.Float32bits(want) {
						t.Fatalf("type %d, level %d: %v (%x) at %d became %v (%x), want %v", d.as, on, src[i], math.Float32bits(src[i]), i, got,
							math.Float32bits(got), want)
					}
				}
			}
		})
	}
}

// naiveExponent is the least with which 127 is enough for the finite numbers.
func naiveExponent(src []float32) int {
	most := 0.0
	for _, v := range src {
		if v-v == 0 {
			most = max(most, math.Abs(float64(v)))
		}
	}
	if most == 0 {
		return 0
	}
	e := -126
	for e < 121 && 127*math.Ldexp(1, e) < most {
		e++
	}
	return e
}

// naiveDither rounds a number whose fraction has so many bits, or whose multiples of the least there are.
func naiveDither(v float32, largest, least float64, bits int, noise uint32) float32 {
	abs := math.Abs(float64(v))
	sign := func(abs float64) float32 { return float32(math.Copysign(abs, float64(v))) }
	switch {
	case bits == 0 && v-v != 0:
		return math.Float32frombits(quietNaN)
	case v != v:
		return math.Float32frombits(quietNaN | math.Float32bits(v)&(1<<31))
	case math.IsInf(abs, 0):
		return v
	case abs >= largest:
		return sign(largest)
	}
	gap := least
	if _, exp := math.Frexp(abs); bits > 0 {
		gap = max(least, math.Ldexp(1, exp-bits))
	}
	units := float64(float32(abs / gap)) // exact, or nothing where that is far too small
	low := math.Floor(units) * gap
	if float64(noise>>8)/(1<<24) < units-math.Floor(units) {
		low = min(low+gap, largest)
	}
	if low == 0 && bits == 0 {
		return 0 // an int8 has one zero
	}
	return sign(low)
}

// TestDitherMean: the mean of what a number becomes at many places is the number.
func TestDitherMean(t *testing.T) {
	const n = 1 << 16
	for _, d := range ditherings {
		for _, v := range []float32{1.0003, -3.14159, 0x1p-9 + 0x1p-23, -7.9999, 0.03} {
			src := make([]float32, n)
			for i := range src {
				src[i] = v
			}
			src[0] = -10 // of a scale
			for _, seed := range []uint32{0, 1, 0x9e3779b9} {
				sum, gap := 0.0, 0.0
				for _, got := range dithered(t, d.as, machine, src, n, []uint32{seed}, 7)[1:] {
					sum += float64(got)
					gap = max(gap, math.Abs(float64(got-v)))
				}
				if off := math.Abs(sum/(n-1) - float64(v)); off > 4*gap/math.Sqrt(n) {
					t.Errorf("type %d: the mean of %v is %v off, want at most 4 deviations of it, %v", d.as, v, off, 4*gap/math.Sqrt(n))
				}
			}
		}
	}
}

// TestNearest: numbers are rounded to nearest, what is too large to the largest, and what was rounded once stays as it is.
func TestNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(ditherings).Draw(t, "type")
		src := make([]float32, rapid.IntRange(1, 40).Draw(t, "n"))
		for i := range src {
			src[i] = anyFloat(t)
		}
		r := NarrowRows{As: d.as, Slab: make([]byte, NarrowBytes(d.as, len(src))), N: len(src)}
		first, again := make([]float32, len(src)), make([]float32, len(src))
		r.Nearest(src, 0)
		r.Widen(first, []uint32{0}, 0, len(src))
		for i, v := range src {
			gap, largest := d.least, d.largest
			if d.as == Int8 {
				gap = math.Ldexp(1, naiveExponent(src))
				largest = 127 * gap
			} else if _, exp := math.Frexp(float64(v)); v-v == 0 {
				gap = max(gap, math.Ldexp(1, exp-d.bits))
			}
			got := float64(first[i])
			switch abs := math.Abs(float64(v)); {
			case v-v != 0 && d.as == Int8 || v != v:
				if got == got {
					t.Fatalf("%v became %v", v, got)
				}
			case v-v != 0 && got != float64(v), abs > largest && v-v == 0 && math.Abs(got) != largest, v-v == 0 && abs <= largest && math.Abs(got-float64(v)) > gap/2:
				t.Fatalf("type %d: %v became %v, which are %v apart", d.as, v, got, gap)
			}
		}
		for name, round := range map[string]func(){
			"nearest": func() { r.Nearest(first, 0) }, "dither": func() { r.Dither(first, []uint32{0}, []uint32{5}, 9) },
		} {
			round()
			r.Widen(again, []uint32{0}, 0, len(src))
			for i := range again {
				if math.Float32bits(again[i]) != math.Float32bits(first[i]) && first[i] == first[i] {
					t.Fatalf("%s: type %d: %v became %v", name, d.as, first[i], again[i])
				}
			}
		}
	})
}

// BenchmarkNarrowRows widens and rounds rows of 16 numbers, in pure Go and by the machine. The bytes are those of float32s.
func BenchmarkNarrowRows(b *testing.B) {
	const n, count = 16, 24
	src, rows := make([]float32, n*count), make([]uint32, count)
	for i := range src {
		src[i] = float32(math.Sin(float64(i)))
	}
	for i := range rows {
		rows[i] = uint32(i)
	}
	for as, name := range []string{"f16", "bf16", "int8"} {
		r := NarrowRows{As: NarrowType(as), Step: 36, N: n, Slab: make([]byte, 36*count)}
		for _, on := range []level{plain, machine} {
			b.Run(fmt.Sprintf("%s/dither/level%d", name, on), func(b *testing.B) {
				b.SetBytes(4 * n * count)
				for b.Loop() {
					r.ditherOn(on, src, rows, rows, 0)
				}
			})
			b.Run(fmt.Sprintf("%s/widen/level%d", name, on), func(b *testing.B) {
				b.SetBytes(4 * n * count)
				for b.Loop() {
					r.widenOn(on, src, rows, 0, n)
				}
			})
		}
	}
}
