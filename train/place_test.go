package train

import (
	"math"
	"testing"
)

// TestPlaceIn: a place comes back as it was written, and one of a damaged checkpoint is refused, whichever of its numbers it is.
func TestPlaceIn(t *testing.T) {
	p := place{epoch: 3, step: 2, steps: 7, sum: 1.5, weights: -2.5, best: 0.25, bestEpoch: 2, tasks: 4, share: 4, made: 1 << 40, attempt: 5,
		doing: leaving, others: true, before: 1, clock: 99}
	if got, err := placeIn(p.column()); err != nil || got != p {
		t.Fatalf("%+v, %v, want %+v", got, err, p)
	}
	for row := range placeRows - 1 {
		if row == placeSum || row == placeWeights || row == placeBest {
			continue
		}
		for _, v := range []float64{-1, 0.5, 1 << 63, math.Inf(1), math.NaN()} {
			val := p.column()
			val[row] = v
			if got, err := placeIn(val); err == nil {
				t.Errorf("row %d is %v: %+v, want an error", row, v, got)
			}
		}
	}
	for _, row := range []int{placeTasks, placeShare} {
		val := p.column()
		val[row] = sameColumn + 1
		if got, err := placeIn(val); err == nil {
			t.Errorf("row %d is %v, and there is no column for so many tasks: %+v, want an error", row, val[row], got)
		}
	}
}
