package graph

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// An index has the different columns in order, and for each column that it was given its place among them.
func TestIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var x Index
	for n := range 60 {
		idx := make([]int64, n*7)
		for i := range idx {
			idx[i] = rng.Int64N(int64(n*4+1))<<rng.IntN(3) - 5
			if rng.IntN(9) == 0 {
				idx[i] = int64(rng.Uint64())
			}
		}
		if n == 30 {
			x.now = math.MaxUint32 // the generation number starts over
		}
		x.Build(idx)
		want := slices.Clone(idx)
		slices.Sort(want)
		if want = slices.Compact(want); !slices.Equal(x.Unique(), want) {
			t.Fatalf("%d columns, want %d", len(x.Unique()), len(want))
		}
		at := x.Positions([]uint32{9})
		if len(at) != len(idx)+1 || at[0] != 9 {
			t.Fatalf("%d positions behind %d, want %d behind 9", len(at)-1, at[0], len(idx))
		}
		for i, c := range idx {
			if want[at[i+1]] != c {
				t.Fatalf("value %d is of column %d, want %d", i, want[at[i+1]], c)
			}
		}
	}
	big := make([]int64, 4000)
	x.Build(big)
	if n := testing.AllocsPerRun(20, func() { x.Build(big) }); n > 0 {
		t.Errorf("%v allocations a batch, want none", n)
	}
}
