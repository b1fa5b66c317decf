package gbdt

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		runs []run
		bins int
		want []float32
	}{
		{nil, 4, nil},
		{[]run{{1, 5}}, 4, nil},
		{[]run{{0, 5}, {1, 1}}, 4, []float32{0.5}},
		{[]run{{1, 1}, {2, 1}, {3, 1}, {4, 1}}, 2, []float32{2.5}},
		{[]run{{1, 1}, {2, 1}, {3, 9}, {4, 1}, {5, 1}}, 3, []float32{2.5, 3.5}}, // 3 has a bin by itself
		{[]run{{0, 90}, {1, 1}, {2, 1}, {3, 1}, {4, 1}}, 3, []float32{0.5, 2.5}},
		{[]run{{1, 1}, {2, 3}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}, 3, []float32{2.5, 4.5}}, // 1 is too few for a bin before 2
		{[]run{{1, 2}, {2, 2}, {3, 2}, {4, 2}, {5, 2}, {6, 1}, {7, 1}}, 4, []float32{2.5, 4.5, 5.5}},
		{[]run{{1.51, 99}, {1.52, 99}, {1.53, 1}, {1.58, 1}, {1.71, 99}, {1.72, 99}}, 2, []float32{1.6}}, // a round number near the median
	} {
		if got := cut(c.runs, c.bins); !slices.Equal(got, c.want) {
			t.Errorf("%v in %d bins: %v, want %v", c.runs, c.bins, got, c.want)
		}
	}
}

// TestBins holds cuts to what they promise: no more bins than asked, bounds between values, even shares.
func TestBins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float32Range(-20, 20), 1, 3000).Draw(t, "values")
		if rapid.Bool().Draw(t, "whole") {
			for i := range values {
				values[i] = float32(math.Round(float64(values[i])))
			}
		}
		zeros, bins := rapid.IntRange(0, 500).Draw(t, "zeros"), rapid.IntRange(2, 255).Draw(t, "bins")
		runs := new(sorter).runsOf(ordersOf(values), zeros)
		uppers := cut(runs, bins)
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
	for _, c := range [][3]float32{{1.23, 1.27, 1.25}, {-3, 4, 0}, {0.0011, 0.0019, 0.0015}, {999, 1001, 1000}, {-0.52, -0.48, -0.5},
		{1, math.Nextafter32(1, 2), 1}, {123456, 123499, 123480}, {-1e30, -9e29, -1e30}} {
		if got := roundest(c[0], c[1]); got != c[2] {
			t.Errorf("%v to %v: %v, want %v", c[0], c[1], got, c[2])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Float32().Draw(t, "a")
		b := math.Nextafter32(a, float32(math.Inf(1))) * rapid.SampledFrom([]float32{1, 1, 1.001, 2}).Draw(t, "times")
		if !(b > a) || math.IsInf(float64(b), 0) {
			return
		}
		if got := roundest(a, b); !(got >= a && got < b) {
			t.Fatalf("%v to %v: %v", a, b, got)
		}
	})
}

func ordersOf(values []float32) (all []uint32) {
	for _, v := range values {
		all = append(all, order(v))
	}
	return all
}

// TestRuns: values are counted in their order, with several columns by the same sorter.
func TestRuns(t *testing.T) {
	s := &sorter{}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), -1, 3})),
			1<<10-5, 1<<11).Draw(t, "values")
		zeros := rapid.IntRange(0, 3).Draw(t, "zeros")
		counts := map[float32]int32{} // to which -0 is 0
		for _, v := range values {
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
		got := s.runsOf(ordersOf(values), zeros)
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for _, r := range got {
			if r.value == 0 && math.Signbit(float64(r.value)) {
				t.Fatal("a run of -0")
			}
		}
	})
}
