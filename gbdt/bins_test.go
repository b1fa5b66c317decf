package gbdt

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		runs []run
		bins int
		want []float64
	}{
		{nil, 4, nil},
		{[]run{{1, 5}}, 4, nil},
		{[]run{{0, 5}, {1, 1}}, 4, []float64{0.5}},
		{[]run{{1, 1}, {2, 1}, {3, 1}, {4, 1}}, 2, []float64{2.5}},
		{[]run{{1, 1}, {2, 1}, {3, 9}, {4, 1}, {5, 1}}, 3, []float64{2.5, 3.5}}, // 3 has a bin by itself
		{[]run{{0, 90}, {1, 1}, {2, 1}, {3, 1}, {4, 1}}, 3, []float64{0.5, 2.5}},
		{[]run{{1, 1}, {2, 3}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}, 3, []float64{2.5, 4.5}}, // 1 is too few for a bin before 2
		{[]run{{1, 2}, {2, 2}, {3, 2}, {4, 2}, {5, 2}, {6, 1}, {7, 1}}, 4, []float64{2.5, 4.5, 5.5}},
		{[]run{{1.51, 99}, {1.52, 99}, {1.53, 1}, {1.58, 1}, {1.71, 99}, {1.72, 99}}, 2, []float64{1.6}}, // a round number near the median
	} {
		single := slices.Clone(c.want)
		for i, v := range single {
			single[i] = float64(float32(v))
		}
		if got := cut(c.runs, c.bins, true); !slices.Equal(got, single) {
			t.Errorf("%v in %d bins of float32: %v, want %v", c.runs, c.bins, got, single)
		}
		if got := cut(c.runs, c.bins, false); !slices.Equal(got, c.want) {
			t.Errorf("%v in %d bins: %v, want %v", c.runs, c.bins, got, c.want)
		}
	}
}

// TestBins holds cuts to what they promise: no more bins than asked, bounds between values, even shares.
func TestBins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values, single := rapid.SliceOfN(rapid.Float64Range(-20, 20), 1, 3000).Draw(t, "values"), rapid.Bool().Draw(t, "single")
		if rapid.Bool().Draw(t, "whole") {
			for i := range values {
				values[i] = math.Round(values[i])
			}
		}
		zeros, bins := rapid.IntRange(0, 500).Draw(t, "zeros"), rapid.IntRange(2, 255).Draw(t, "bins")
		runs := new(sorter).of(values, zeros, single)
		uppers := cut(runs, bins, single)
		if len(uppers) >= bins || !slices.IsSorted(uppers) || len(slices.Compact(slices.Clone(uppers))) != len(uppers) {
			t.Fatalf("%d uppers %v, want at most %d, ascending", len(uppers), uppers, bins-1)
		}
		counts, most := make([]int, len(uppers)+1), 0
		for _, r := range runs {
			counts[binOf(uppers, r.value)] += int(r.rows)
			most = max(most, int(r.rows))
		}
		if slices.Contains(counts, 0) {
			t.Fatalf("an empty bin in %v", counts)
		}
		if share := (len(values)+zeros)/bins + 1 + most; slices.Max(counts) > 2*share {
			t.Fatalf("a bin of %d rows, want at most about %d", slices.Max(counts), share)
		}
	})
}

func TestRoundest(t *testing.T) {
	for _, c := range [][3]float64{{1.23, 1.27, 1.25}, {-3, 4, 0}, {0.0011, 0.0019, 0.0015}, {999, 1001, 1000}, {-0.52, -0.48, -0.5},
		{1, math.Nextafter(1, 2), 1}, {123456, 123499, 123480}, {-1e30, -9e29, -1e30}, {1600000000, 1600000001, 1600000000},
		{1600000000.25, 1600000001.5, 1600000001}, {1e300, 2e300, 1.5e300}, {-1e-300, -5e-301, -8e-301}} {
		if got := roundest(c[0], c[1], false); got != c[2] {
			t.Errorf("%v to %v: %v, want %v", c[0], c[1], got, c[2])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		single := rapid.Bool().Draw(t, "single")
		a := rapid.Float64().Draw(t, "a")
		b := math.Nextafter(a, math.Inf(1)) * rapid.SampledFrom([]float64{1, 1, 1.001, 2}).Draw(t, "times")
		if single {
			s := float32(a)
			a, b = float64(s), float64(math.Nextafter32(s, float32(math.Inf(1)))*rapid.SampledFrom([]float32{1, 1, 1.001, 2}).Draw(t, "single times"))
		}
		if !(b > a) || math.IsInf(b, 0) {
			return
		}
		got := roundest(a, b, single)
		if !(got >= a && got < b) || single && float64(float32(got)) != got {
			t.Fatalf("%v to %v: %v", a, b, got)
		}
	})
}

// of are the runs of values, which are rounded to float32 if they are single.
func (s *sorter) of(values []float64, zeros int, single bool) []run {
	var orders []uint32
	var doubles []uint64
	for _, v := range values {
		orders, doubles = append(orders, order32(v)), append(doubles, keyOf(v))
	}
	if single {
		return s.single(orders, zeros)
	}
	return s.double(doubles, zeros)
}

// TestRuns: values are counted in their order, with several columns by the same sorter.
func TestRuns(t *testing.T) {
	s := &sorter{}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), -1, 3, 0.1, 1600000000, 1600000001})),
			1<<10-5, 1<<11).Draw(t, "values")
		zeros, single := rapid.IntRange(0, 3).Draw(t, "zeros"), rapid.Bool().Draw(t, "single")
		counts := map[float64]int32{} // to which -0 is 0
		for _, v := range values {
			if single {
				v = float64(float32(v))
			}
			counts[v]++
		}
		if zeros > 0 {
			counts[0] += int32(zeros)
		}
		var want []run
		for v, n := range counts {
			want = append(want, run{v + 0, n})
		}
		slices.SortFunc(want, func(a, b run) int { return cmp.Compare(a.value, b.value) })
		got := s.of(values, zeros, single)
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for _, r := range got {
			if r.value == 0 && math.Signbit(r.value) {
				t.Fatal("a run of -0")
			}
		}
	})
}

// TestSortOrders: numbers that differ anywhere in their bits are sorted, those that are alike in the highest ones, too.
func TestSortOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 4))
		n, low, clusters := rapid.IntRange(0, 5000).Draw(t, "n"), rapid.IntRange(0, 63).Draw(t, "low"), rapid.IntRange(1, 3000).Draw(t, "clusters")
		a := make([]uint64, n)
		for i := range a {
			a[i] = uint64(r.IntN(clusters))*0x9e3779b97f4a7c15 + r.Uint64()>>low
		}
		want := slices.Sorted(slices.Values(a))
		var other []uint64
		if got := sortOrders(a, &other); !slices.Equal(got, want) {
			t.Fatalf("%d numbers that differ in the lowest %d bits are not sorted", n, 64-low)
		}
	})
}
