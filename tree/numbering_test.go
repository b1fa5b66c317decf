package tree

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestNumbering holds numbers to places in a sorted list.
func TestNumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		features := rapid.IntRange(1, 300).Draw(t, "features")
		draw := rapid.SliceOf(rapid.IntRange(0, features-1))
		one, two := draw.Draw(t, "one"), draw.Draw(t, "two")
		n, other := NewNumbering(features), NewNumbering(features)
		for _, f := range one {
			n.Add(f)
		}
		for _, f := range two {
			other.Add(f)
		}
		n.Join(other)
		n.Number()
		all := slices.Concat(one, two)
		slices.Sort(all)
		all = slices.Compact(all)
		if n.Count() != len(all) || len(n.Features()) != len(all) {
			t.Fatalf("%d numbers, want %d", n.Count(), len(all))
		}
		for f := -70; f < features+70; f++ {
			at, is := slices.BinarySearch(all, f)
			if !is {
				at = -1
			} else if n.Features()[at] != int32(f) {
				t.Errorf("number %d is of feature %d, want %d", at, n.Features()[at], f)
			}
			if got := n.Of(f); got != at {
				t.Errorf("feature %d has the number %d, want %d", f, got, at)
			}
		}
	})
}
