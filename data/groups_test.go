package data_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/data"
)

// TestGroupBy numbers groups in their order, and finds the first example that lies apart from its group.
func TestGroupBy(t *testing.T) {
	for _, c := range []struct {
		group         []int64
		of            []int
		count         int
		apart, before int
	}{
		{nil, []int{}, 0, -1, -1},
		{[]int64{7, 7, -1, -1, 9}, []int{0, 0, 1, 1, 2}, 3, -1, -1},
		{[]int64{7, 8, 8, 7, 8}, []int{0, 1, 1, 0, 1}, 2, 3, 0},
	} {
		g := data.GroupBy(c.group)
		if !slices.Equal(g.Of, c.of) || g.Count != c.count || g.Apart != c.apart || g.Before != c.before {
			t.Errorf("%v: %+v", c.group, g)
		}
	}
}

// TestGroupFolds: a group is in one fold, and folds have as many groups as each other, but for one.
func TestGroupFolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		group := rapid.SliceOfN(rapid.Int64Range(0, 20), 2, 100).Draw(t, "group")
		g := data.GroupBy(group)
		if g.Count < 2 {
			return
		}
		k, seed := rapid.IntRange(2, g.Count).Draw(t, "k"), rapid.Uint64().Draw(t, "seed")
		of := g.Folds(k, seed)
		fold, size := map[int64]int{}, make([]int, k)
		for i, f := range of {
			if was, seen := fold[group[i]]; seen && was != f {
				t.Fatalf("group %d is in folds %d and %d", group[i], was, f)
			} else if !seen {
				size[f]++
			}
			fold[group[i]] = f
		}
		if slices.Max(size)-slices.Min(size) > 1 {
			t.Fatalf("folds of %v groups", size)
		}
		if !slices.Equal(of, g.Folds(k, seed)) {
			t.Fatal("other folds the second time")
		}
	})
}
