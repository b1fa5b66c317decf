package seeds_test

import (
	"slices"
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

func TestPart(t *testing.T) {
	for count, want := range map[uint64]uint64{1: 1, 4: 1, 500: 125} {
		if got := (seeds.Set{First: 3, Count: count}).Part(4); got.First != 3 || got.Count != want {
			t.Errorf("a fourth of %d seeds from 3 on is %d from %d on, want %d", count, got.Count, got.First, want)
		}
	}
}
