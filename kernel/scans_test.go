package kernel

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// scanned draws values: all odd ones, or few odd ones, or nothing but zeros.
func scanned[T Number](t *rapid.T) []T {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
	n := rapid.SampledFrom(append([]int{300, 1000}, around...)).Draw(t, "n")
	v := make([]T, n)
	if kind := rapid.IntRange(0, 3).Draw(t, "kind"); n > 0 {
		switch kind {
		case 0:
			v = oddNumbers[T](r, n)
		case 1:
			for range 3 {
				v[r.IntN(n)] = oddNumbers[T](r, 1)[0]
			}
		case 2:
			for i, x := range oddNumbers[T](r, n) {
				if x == x {
					v[i] = x
				}
			}
		}
	}
	return v
}

// bigFloat is a finite value, exactly.
func bigFloat[T Number](v T) *big.Float {
	switch v := any(v).(type) {
	case int64:
		return new(big.Float).SetPrec(200).SetInt64(v)
	}
	return new(big.Float).SetPrec(3000).SetFloat64(float64(v))
}

func finite[T Number](v T) bool { return v-v == 0 }

func scans[T Number](t *testing.T) {
	least, most := noExtremes[T]().hi, noExtremes[T]().lo
	rapid.Check(t, func(t *rapid.T) {
		v := scanned[T](t)
		for on := plain; on <= machine; on++ {
			checkExtremes(t, on, v, least, most)
			checkFound(t, on, v)
		}
	})
}

func checkExtremes[T Number](t *rapid.T, on level, v []T, least, most T) {
	abs := make([]T, len(v))
	for i, x := range v {
		if abs[i] = x; x == least && finite(x) {
			abs[i] = most
		} else if x < 0 {
			abs[i] = -x
		}
	}
	for _, c := range []struct {
		of    []T
		found func(on level, v []T) (lo, hi T)
	}{{v, minMax[T]}, {abs, absMinMax[T]}} {
		lo, hi := c.found(on, v)
		wantLo, wantHi := most, least // what nothing has
		if len(v) > 0 {
			wantLo, wantHi = slices.Min(c.of)+0, slices.Max(c.of)+0
		}
		if !same(lo, wantLo) || !same(hi, wantHi) {
			t.Fatalf("level %d: %v and %v, want %v and %v", on, lo, hi, wantLo, wantHi)
		}
	}
}

func checkFound[T Number](t *rapid.T, on level, v []T) {
	zeros := 0
	for _, x := range v {
		if x == 0 {
			zeros++
		}
	}
	if got := nonZero(on, v); got != len(v)-zeros {
		t.Fatalf("level %d: %d values that are not 0, want %d", on, got, len(v)-zeros)
	}
	limits := append(oddNumbers[T](rand.New(rand.NewPCG(uint64(len(v)), 4)), 3), 0)
	for _, limit := range append(limits, v[:min(2, len(v))]...) {
		var plainly, byAbs []uint32
		for i, x := range v {
			if x > limit {
				plainly = append(plainly, uint32(i))
			}
			switch {
			case x != x || limit != limit:
			case !finite(x) && (finite(limit) || limit < 0), finite(x) && !finite(limit) && limit < 0:
				byAbs = append(byAbs, uint32(i))
			case finite(x) && finite(limit) && new(big.Float).Abs(bigFloat(x)).Cmp(bigFloat(limit)) > 0:
				byAbs = append(byAbs, uint32(i))
			}
		}
		for _, abs := range []bool{false, true} {
			want := append([]uint32{7}, [][]uint32{plainly, byAbs}[map[bool]int{true: 1}[abs]]...)
			if got := above(on, v, limit, abs, []uint32{7}); !slices.Equal(got, want) {
				t.Fatalf("level %d: %v above %v (absolute: %v), want %v", on, got, limit, abs, want)
			}
		}
	}
}

func TestScans(t *testing.T) {
	t.Run("f32", scans[float32])
	t.Run("f64", scans[float64])
	t.Run("i32", scans[int32])
	t.Run("i64", scans[int64])
}

func differences[T Number](t *testing.T, minus func(a, b T) T) {
	rapid.Check(t, func(t *rapid.T) {
		a := scanned[T](t)
		b := clone(a)
		r := rand.New(rand.NewPCG(1, uint64(len(a))))
		for i, x := range oddNumbers[T](r, len(b)) {
			if r.IntN(3) == 0 {
				b[i] = x
			}
		}
		for _, tolerance := range append(oddNumbers[T](r, 4), 0) {
			want := 0
			for i, x := range a {
				if y := b[i]; x != y {
					d := minus(max(x, y), min(x, y))
					if !(d >= 0 && d <= tolerance) {
						want++
					}
				}
			}
			for on := plain; on <= machine; on++ {
				if got := different(on, a, b, tolerance); got != want {
					t.Fatalf("level %d: %d places that differ by more than %v, want %d", on, got, tolerance, want)
				}
			}
		}
	})
}

func TestDifferent(t *testing.T) {
	t.Run("f32", func(t *testing.T) { differences(t, func(a, b float32) float32 { return a - b }) })
	t.Run("f64", func(t *testing.T) { differences(t, func(a, b float64) float64 { return a - b }) })
	t.Run("i64", func(t *testing.T) {
		differences(t, func(a, b int64) int64 {
			d := new(big.Int).Sub(big.NewInt(a), big.NewInt(b))
			if !d.IsInt64() {
				return -1 // beyond every tolerance
			}
			return d.Int64()
		})
	})
}

func TestHistogram(t *testing.T) {
	counts := make([]int64, 6)
	nan, inf := math.NaN(), math.Inf(1)
	v := []float64{-inf, -0.1, 0, 0.24, 0.25, 0.5, 0.74, 0.75, 1, math.Nextafter(1, 2), inf, nan, nan}
	if nans := Histogram(v, 0, 1, counts); nans != 2 || !slices.Equal(counts, []int64{2, 2, 1, 2, 2, 2}) {
		t.Errorf("%d NaN and %v", nans, counts)
	}
	Histogram([]int32{math.MinInt32, 0, 1, 5}, 0, 1, counts)
	if !slices.Equal(counts, []int64{3, 3, 1, 2, 3, 3}) {
		t.Errorf("with more values: %v", counts)
	}
	all := make([]int64, 4)
	Histogram([]float64{-math.MaxFloat64, -1e300, 1, math.MaxFloat64}, -math.MaxFloat64, math.MaxFloat64, all)
	if !slices.Equal(all, []int64{0, 2, 2, 0}) {
		t.Errorf("over the whole range: %v", all)
	}
	tiny := make([]int64, 3)
	Histogram([]float64{0, math.SmallestNonzeroFloat64}, 0, math.SmallestNonzeroFloat64, tiny)
	if !slices.Equal(tiny, []int64{0, 2, 0}) {
		t.Errorf("over the least range: %v", tiny)
	}
}

// Every value is counted once, and in the bin whose bounds it is between.
func TestHistogramCountsAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := scanned[float32](t)
		lo := rapid.Float64Range(-3, 3).Draw(t, "lo")
		hi := lo + rapid.Float64Range(0.1, 5).Draw(t, "width")
		counts := make([]int64, 2+rapid.IntRange(1, 9).Draw(t, "bins"))
		got := Histogram(v, lo, hi, counts)
		var sum int64
		for _, c := range counts {
			sum += c
		}
		var below, above, nans int64
		for _, x := range v {
			switch {
			case float64(x) < lo:
				below++
			case float64(x) > hi:
				above++
			case x != x:
				nans++
			}
		}
		if sum+got != int64(len(v)) || got != nans || counts[0] != below || counts[len(counts)-1] != above {
			t.Fatalf("%v and %d NaN of %d, want %d below, %d above, %d NaN", counts, got, len(v), below, above, nans)
		}
	})
}
