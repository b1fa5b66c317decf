package seeds_test

import (
	"iter"
	"slices"
	"sync"
	"testing"

	"thole.example/internal/seeds"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		one, many string
		want      []uint64
	}{
		{"7", "", []uint64{7}},
		{"", "3", []uint64{0, 1, 2}},
		{"7", "3", []uint64{7, 8, 9}},
		{"", "", []uint64{0, 1}},
	} {
		t.Setenv("TRY_SEED", c.one)
		t.Setenv("TRY_SEEDS", c.many)
		if got := slices.Collect(seeds.Of(t, "TRY", 2, 2).All()); !slices.Equal(got, c.want) {
			t.Errorf("TRY_SEED=%q TRY_SEEDS=%q: seeds %d, want %d", c.one, c.many, got, c.want)
		}
	}
}

// TestShare: each seed comes to one of the parts, and all have come when it returns.
func TestShare(t *testing.T) {
	var mu sync.Mutex
	var got []uint64
	seeds.Set{First: 3, Count: 50}.Share(t, func(_ *testing.T, some iter.Seq[uint64]) {
		for seed := range some {
			mu.Lock()
			got = append(got, seed)
			mu.Unlock()
		}
	})
	if slices.Sort(got); !slices.Equal(got, slices.Collect(seeds.Set{First: 3, Count: 50}.All())) {
		t.Errorf("seeds %d, want 3 to 52", got)
	}
}

func TestPart(t *testing.T) {
	for count, want := range map[uint64]uint64{1: 1, 4: 1, 500: 125} {
		if got := (seeds.Set{First: 3, Count: count}).Part(4); got.First != 3 || got.Count != want {
			t.Errorf("a fourth of %d seeds from 3 on is %d from %d on, want %d", count, got.Count, got.First, want)
		}
	}
}
