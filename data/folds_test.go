package data_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/data"
)

// TestFolds holds folds to be as large as each other, but for one example, with as many of each label if they are stratified, and to be a
// function of what they are dealt out by.
func TestFolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		label := rapid.SliceOfN(rapid.Float32Range(0, 3).Filter(func(v float32) bool { return v == float32(int(v)) || v > 2 }), 2, 60).
			Draw(t, "label")
		k, seed := rapid.IntRange(2, len(label)).Draw(t, "k"), rapid.Uint64().Draw(t, "seed")
		stratified := rapid.Bool().Draw(t, "stratified")
		of := data.Folds(label, k, seed, stratified)
		if !slices.Equal(of, data.Folds(label, k, seed, stratified)) {
			t.Fatal("other folds the second time")
		}
		all, by := make([]int, k), map[float32][]int{}
		for i, f := range of {
			if all[f]++; by[label[i]] == nil {
				by[label[i]] = make([]int, k)
			}
			by[label[i]][f]++
		}
		if slices.Max(all)-slices.Min(all) > 1 {
			t.Fatalf("folds of %v examples", all)
		}
		for y, n := range by {
			if stratified && slices.Max(n)-slices.Min(n) > 1 {
				t.Fatalf("folds of %v examples with label %v", n, y)
			}
		}
	})
	label := make([]float32, 100)
	if slices.Equal(data.Folds(label, 5, 1, true), data.Folds(label, 5, 2, true)) {
		t.Fatal("two seeds, the same folds")
	}
}
