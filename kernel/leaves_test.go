package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// splitsOf is a tree of n nodes that grew at random, and the keys of LeafRows rows.
func splitsOf(rng *rand.Rand, n, columns int) (all []Split, keys []int32) {
	all = make([]Split, n)
	parent := []*uint32{new(uint32)} // of each leaf, where its parent has it
	for i := range all {
		at := rng.IntN(len(parent))
		*parent[at] = uint32(i)
		all[i].Key, all[i].Column = key(rng), uint32(rng.IntN(columns))
		parent[at] = &all[i].Left
		parent = append(parent, &all[i].Right)
	}
	if n > 0 {
		for i, p := range parent {
			*p = uint32(n + i)
		}
	}
	keys = make([]int32, columns*LeafRows)
	for i := range keys {
		keys[i] = key(rng)
	}
	return all, keys
}

// key is one that is often the same as others, or at an end.
func key(rng *rand.Rand) int32 {
	return [...]int32{math.MinInt32, math.MaxInt32, -1, 0, 1, rng.Int32() - 1<<30}[rng.IntN(6)]
}

// walked is the leaf of a row by walking.
func walked(all []Split, keys []int32, row int) uint8 {
	at := 0
	for at < len(all) {
		s := all[at]
		if at = int(s.Right); keys[int(s.Column)*LeafRows+row] <= s.Key {
			at = int(s.Left)
		}
	}
	return uint8(at - len(all))
}

// Every implementation comes to the leaves that a walk from node to node comes to.
func TestLeaves(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 5, 17, 63, 64, 127, 254, 255} {
		for range 20 {
			all, keys := splitsOf(rng, n, 1+rng.IntN(9))
			s, ok := NewSplits(all, len(keys)/LeafRows)
			if !ok {
				t.Fatalf("%v are no splits", all)
			}
			var got [LeafRows]uint8
			var reach Reach
			check := func(what string) {
				for r := range got {
					if want := walked(all, keys, r); got[r] != want {
						t.Fatalf("%s, %d nodes: leaf %d of row %d, want %d", what, n, got[r], r, want)
					}
				}
			}
			s.Leaves(&got, keys, &reach)
			check("Leaves")
			for on := plain; on <= machine && n > 0; on++ {
				for i := range got {
					got[i] = 99
				}
				leavesOn(on, &got, all, keys, &reach)
				check(fmt.Sprint("level ", on))
			}
		}
	}
}

// What is no tree is refused: nothing else would keep the assembly from memory of others.
func TestSplitsRefused(t *testing.T) {
	good := []Split{{0, 0, 1, 2}, {0, 1, 3, 4}}
	if _, ok := NewSplits(good, 2); !ok {
		t.Errorf("%v refused", good)
	}
	for _, bad := range [][]Split{
		{{0, 2, 1, 2}, {0, 1, 3, 4}}, {{0, 1 << 31, 1, 2}, {0, 1, 3, 4}}, {{0, 0, 0, 2}, {0, 1, 3, 4}}, {{0, 0, 1, 2}, {0, 1, 1, 4}},
		{{0, 0, 1, 2}, {0, 1, 3, 5}}, {{0, 0, 1, 2}, {0, 1, 3, 3}}, {{0, 0, 1, 1 << 31}, {0, 1, 3, 4}}, make([]Split, 256),
	} {
		if _, ok := NewSplits(bad, 2); ok {
			t.Errorf("%v taken", bad)
		}
	}
	s, _ := NewSplits(good, 2)
	defer func() {
		if recover() == nil {
			t.Error("too few keys were enough")
		}
	}()
	s.Leaves(new([LeafRows]uint8), make([]int32, 2*LeafRows-1), new(Reach))
}

func BenchmarkLeaves(b *testing.B) {
	for _, n := range []int{30, 63, 254} {
		all, keys := splitsOf(rand.New(rand.NewPCG(1, 2)), n, 28)
		for _, on := range []level{plain, machine} {
			b.Run(fmt.Sprintf("nodes=%d/%d", n, on), func(b *testing.B) {
				var got [LeafRows]uint8
				var reach Reach
				reach[0] = 1<<64 - 1
				for b.Loop() {
					leavesOn(on, &got, all, keys, &reach)
				}
				b.ReportMetric(float64(b.N)*LeafRows/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}
