package train

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMix wants as many positives in every stretch as the ratio says, to one, and all of the kind that is short before any comes
// again.
func TestMix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfN(rapid.SampledFrom([]float32{-1, 1}), 1, 100).Draw(t, "labels")
		ratio := rapid.Float64Range(0.05, 20).Draw(t, "ratio")
		all := make([]int, len(labels))
		for i := range all {
			all[i] = i
		}
		order := mix(all, labels, ratio)
		if !slices.Contains(labels, 1) || !slices.Contains(labels, -1) {
			if !slices.Equal(order, all) {
				t.Errorf("%v of one kind, want all as they are", order)
			}
			return
		}
		positives, times := 0, map[int]int{}
		for i, row := range order {
			if labels[row] > 0 {
				positives++
			}
			if want := float64(i+1) * ratio / (1 + ratio); math.Abs(float64(positives)-want) > 1 {
				t.Fatalf("%d positives in the first %d, want %v", positives, i+1, want)
			}
			times[row]++
		}
		for _, kind := range []float32{-1, 1} {
			least, most := len(order), 0
			for row, y := range labels {
				if y == kind {
					least, most = min(least, times[row]), max(most, times[row])
				}
			}
			if most > least+1 {
				t.Errorf("examples of %v come %d to %d times", kind, least, most)
			}
		}
	})
}

// Both leave the bits alone whatever the servers.
func TestMixAndClipSameBits(t *testing.T) {
	var first []float32
	for _, servers := range []int{1, 3} {
		o := Options{Data: set(examples(203, 1)), Epochs: 2, Batch: 20, Rate: rate(0.3), Seed: 7, PosNeg: 0.25, Clip: 0.2}
		_, weights := world{servers: servers, tasks: 2}.trained(t, o)
		if first == nil {
			first = weights
		}
		if !slices.Equal(weights, first) {
			t.Errorf("%d servers: other weights", servers)
		}
	}
	_, plain := world{servers: 1, tasks: 2}.trained(t, Options{Data: set(examples(203, 1)), Epochs: 2, Batch: 20, Rate: rate(0.3), Seed: 7})
	if slices.Equal(plain, first) {
		t.Error("neither does anything")
	}
}
