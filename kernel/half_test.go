package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/matrix"
	"thole.example/wire"
)

// edges are numbers at which roundings and types end.
var edges = []float32{
	0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, -math.MaxFloat32,
	math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0x1p-126, 65504, 65519.99, 65520, -65520, 0x1p-24, 0x1p-25, 0x1.8p-25, 0x1.002p0,
	0x1.01p0, 0x1.006p0, 0x1.fep127, 0x1.ffp127, 0x1.fefffep127, math.Float32frombits(0x7f800001), math.Float32frombits(0xffffffff), 0x1p-126 * 63.5,
	127, 127.5, 0x1p120 * 127, 0x1p120 * 127.5,
}

// floats draws numbers of all sizes; of finite ones only if it is said.
func floats(t *rapid.T, n int, finite bool) []float32 {
	x, size := make([]float32, n), rapid.Uint32Range(0, 255).Draw(t, "size")
	bits := rapid.SliceOfN(rapid.Uint32(), n, n).Draw(t, "bits")
	from := rapid.SampledFrom([]string{"any", "alike", "edges"}).Draw(t, "from")
	for i := range x {
		switch from {
		case "any":
			x[i] = math.Float32frombits(bits[i])
		case "alike":
			x[i] = math.Float32frombits(bits[i]&0x80ffffff | size<<23)
		default:
			x[i] = edges[bits[i]%uint32(len(edges))]
		}
		if finite && x[i]-x[i] != 0 {
			x[i] = float32(i)
		}
	}
	return x
}

func equalBits(t *rapid.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: value %d is %v (%08x), want %v (%08x)", what, i, got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

func TestHalves(t *testing.T) {
	t.Run("f16", func(t *testing.T) { halves[matrix.Float16](t) })
	t.Run("bf16", func(t *testing.T) { halves[matrix.BFloat16](t) })
}

// halves holds every implementation to the scalar functions of matrix, also where dst begins where src does.
func halves[H Half](t *testing.T) {
	all := make([]H, 1<<16)
	for i := range all {
		all[i] = H(i)
	}
	for on := plain; on <= machine; on++ {
		got := make([]float32, len(all))
		widen(on, got, all)
		for i, v := range got {
			w := halfAs[H, float32](all[i])
			if math.Float32bits(v) != math.Float32bits(w) && (v == v || w == w || math.Float32bits(v) != math.Float32bits(w)|1<<22) {
				t.Fatalf("level %d: %#04x is %08x, want %08x", on, i, math.Float32bits(v), math.Float32bits(w))
			}
		}
		back := make([]H, len(all))
		narrow(on, back, got)
		for i, h := range back {
			if v := got[i]; h != all[i] && v == v {
				t.Fatalf("level %d: %#04x came back as %#04x", on, all[i], h)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		src := floats(t, rapid.IntRange(0, 70).Draw(t, "n"), false)
		want := make([]H, len(src))
		place := narrowAny(want, src)
		for on := plain; on <= machine; on++ {
			got := make([]H, len(src))
			if at := narrow(on, got, src); at != place || !slices.Equal(got, want) {
				t.Fatalf("level %d: %04x and %d, want %04x and %d", on, got, at, want, place)
			}
		}
	})
}

// TestWidenInputs: each input has the numbers of its place, and a place or input outside panics.
func TestWidenInputs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inputs, unique := batchOf(t)
		n := rapid.SampledFrom([]int{1, 3, 8, 16, 24}).Draw(t, "n")
		const first = 7
		for i := range inputs {
			inputs[i].Position += first
		}
		src := make([]matrix.Float16, unique*n)
		for i := range src {
			src[i] = matrix.Float16(i)
		}
		for on := plain; on <= machine; on++ {
			got := make([]float32, len(inputs)*n)
			widenInputs(on, got, src, n, inputs, first)
			for _, e := range inputs {
				for j, v := range got[int(e.Input)*n:][:n] {
					if w := src[(int(e.Position&^Again)-first)*n+j].Float32(); v != w {
						t.Fatalf("level %d: value %d of input %d is %v, want %v", on, j, e.Input, v, w)
					}
				}
			}
			if len(inputs) > 0 && !panics(func() { widenInputs(on, got[:len(got)-1], src, n, inputs, first) }) {
				t.Fatalf("level %d: an input outside did not panic", on)
			}
			if len(inputs) > 0 && !panics(func() { widenInputs(on, got, src, n, inputs, first+1) }) {
				t.Fatalf("level %d: a place outside did not panic", on)
			}
		}
	})
}

// TestRound: every implementation of every rounding has the bits of the one in pure Go; what is sent and what is left are what there
// was, and all of it is finite.
func TestRound(t *testing.T) {
	for name, way := range map[string]struct {
		one func(vals, rest []float32) // of one row, in pure Go
		all func(on level, vals, rest []float32, n int, rows []uint32)
	}{
		"f16":  {roundHalf[matrix.Float16, float32], roundHalves[matrix.Float16, float32]},
		"bf16": {roundHalf[matrix.BFloat16, float32], roundHalves[matrix.BFloat16, float32]},
		"int8": {roundRun[float32], roundRuns[float32]},
	} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			n, count := rapid.SampledFrom([]int{1, 3, 7, 8, 9, 16, 40, 70}).Draw(t, "n"), rapid.IntRange(1, 70).Draw(t, "rows")
			vals, rest := floats(t, n*count, true), floats(t, n*count, true)
			rows := make([]uint32, count)
			for i := range rows {
				rows[i] = uint32(count - 1 - i)
			}
			v1, r1 := slices.Clone(vals), slices.Clone(rest)
			for i, row := range rows {
				way.one(v1[i*n:(i+1)*n], r1[int(row)*n:][:n])
			}
			for i, v := range v1 {
				r := r1[int(rows[i/n])*n+i%n]
				was, left := float64(vals[i])+float64(rest[int(rows[i/n])*n+i%n]), float64(v)+float64(r)
				if v-v != 0 || r-r != 0 || math.Abs(was) < math.MaxFloat32 && math.Abs(was-left) > 1e-6*math.Abs(was) {
					t.Fatalf("%v with %v left is sent as %v with %v left", vals[i], rest[int(rows[i/n])*n+i%n], v, r)
				}
			}
			for on := plain; on <= machine; on++ {
				v, r := slices.Clone(vals), slices.Clone(rest)
				way.all(on, v, r, n, rows)
				equalBits(t, fmt.Sprintf("level %d: sent", on), v, v1)
				equalBits(t, fmt.Sprintf("level %d: left", on), r, r1)
			}
		}))
	}
}

// TestRuns: runs of every implementation are the same bytes, also where they begin where the values do, and are within half of a
// scale; what was rounded is not changed.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, count := rapid.SampledFrom([]int{2, 3, 7, 8, 24, 33}).Draw(t, "n"), rapid.IntRange(0, 5).Draw(t, "runs")
		vals := floats(t, n*count, true)
		wide := make([]float64, len(vals))
		for i, v := range vals {
			wide[i] = float64(v)
		}
		want := make([]byte, count*(ScaleSize+n))
		narrowRuns(plain, want, wide, n)
		for on := plain; on <= machine; on++ {
			there := slices.Clone(vals)
			got := wire.View(there)[:len(want)]
			if narrowRuns(on, got, there, n); !slices.Equal(got, want) {
				t.Fatalf("level %d: % x, want % x", on, got, want)
			}
			back := make([]float32, len(vals))
			if bad := widenRuns(on, back, want, n); bad >= 0 {
				t.Fatalf("level %d: run %d has no scale", on, bad)
			}
			for i, v := range vals {
				scale := float64(RunScale(vals[i/n*n : (i/n+1)*n]))
				if d := math.Abs(float64(back[i]) - float64(v)); d > scale/2 && math.Abs(float64(v)) <= 127*scale {
					t.Fatalf("level %d: %v became %v with the scale %v", on, v, back[i], scale)
				}
			}
			rounded, rows := slices.Clone(back), []uint32{4, 3, 2, 1, 0}[5-count:]
			if roundRuns(on, rounded, make([]float32, len(vals)), n, rows); !slices.Equal(rounded, back) {
				t.Fatalf("level %d: %v was rounded again to %v", on, back, rounded)
			}
		}
	})
}

// TestScales: a run whose scale is none is told, and one of -0 is one of zeros.
func TestScales(t *testing.T) {
	for _, scale := range []uint32{0x7fc00000, 0xffc00000, 0x7f800000, 0xbf800000, 0x7e800000, 0x7c000000, 0x80000001, 1, 0x80000000, 0x7bffffff} {
		runs := make([]byte, 4*(ScaleSize+8))
		for i := range runs {
			runs[i] = 1
		}
		binary.LittleEndian.PutUint32(runs[2*(ScaleSize+8):], scale)
		want := 2
		if v := math.Float32frombits(scale); v >= 0 && v < 0x1p121 {
			want = -1
		}
		for on := plain; on <= machine; on++ {
			if bad := widenRuns(on, make([]float32, 4*8), runs, 8); bad != want {
				t.Errorf("level %d: run %d has no scale, want %d for %v", on, bad, want, math.Float32frombits(scale))
			}
		}
	}
}

func BenchmarkHalves(b *testing.B) {
	const n, count = 16, 10000
	vals, rest := random[float32](n*count), make([]float32, n*count)
	rows := make([]uint32, count)
	for i := range rows {
		rows[i] = uint32(i)
	}
	f16, bf16, runs := make([]matrix.Float16, n*count), make([]matrix.BFloat16, n*count), make([]byte, (n+ScaleSize)*count)
	for _, bench := range []struct {
		name string
		do   func()
	}{
		{"narrow f16", func() { Narrow(f16, vals) }},
		{"narrow bf16", func() { Narrow(bf16, vals) }},
		{"narrow int8", func() { NarrowRuns(runs, vals, n) }},
		{"widen f16", func() { Widen(vals, f16) }},
		{"widen bf16", func() { Widen(vals, bf16) }},
		{"widen int8", func() { WidenRuns(vals, runs, n) }},
		{"round f16", func() { RoundHalves[matrix.Float16](vals, rest, n, rows) }},
		{"round bf16", func() { RoundHalves[matrix.BFloat16](vals, rest, n, rows) }},
		{"round int8", func() { RoundRuns(vals, rest, n, rows) }},
		{"round f16 one by one", func() { RoundHalves[matrix.Float16](vals[:count], rest, 1, rows) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(4 * n * count)
			for b.Loop() {
				bench.do()
			}
		})
	}
}
