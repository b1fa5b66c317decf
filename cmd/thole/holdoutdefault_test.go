package main

import (
	"testing"

	"thole.example/algo"
)

// TestDefaultHoldout: how many examples are held out by default.
func TestDefaultHoldout(t *testing.T) {
	labels := func(n, of int) []float32 { // every of-th one is positive
		all := make([]float32, n)
		for i := range all {
			if i%of > 0 {
				all[i] = -1
			} else {
				all[i] = 1
			}
		}
		return all
	}
	for _, c := range []struct {
		what  string
		label []float32
		task  algo.Task
		want  float64
	}{
		{"too few", labels(99_999, 2), algo.Classification, 0},
		{"few", labels(100_000, 2), algo.Classification, 0.05},
		{"many", labels(500_000, 10), algo.Classification, 0.04},
		{"very many", labels(2_000_000, 20), algo.Multiclass, 0.02},
		{"few of a class", labels(1_000_000, 50), algo.Classification, 0.025},
		{"too few of a class", labels(1_000_000, 101), algo.Classification, 0},
		{"one class", labels(200_000, 1), algo.Classification, 0},
		{"no classes", labels(500_000, 21), algo.Regression, 0.04},
	} {
		p := &plan{job: &job{}, recipe: &algo.Algo{Task: c.task}, mayHoldOut: true}
		p.decideHoldout(c.label)
		if p.holdout != c.want || p.mayHoldOut != (c.want > 0) || (p.patience > 0) != (c.want > 0) {
			t.Errorf("%s: %v of the examples are held out, patience %d, want %v", c.what, p.holdout, p.patience, c.want)
		}
	}
}
