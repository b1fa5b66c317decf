package tree

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"thole.example/kernel"
)

// Permutation is an order of n rows, which depends on the seed, the feature and the repetition alone.
func Permutation(seed uint64, feature, repetition, n int) []uint32 {
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	r := rand.New(rand.NewPCG(seed, kernel.Hash(uint64(feature)<<32+uint64(repetition))))
	r.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// permutedValues is about how many values the rows have that are scored at a time.
const permutedValues = 1 << 14

// Permuted is Batch of rows that have, of one feature, the value of another row: row i that of row order[i]. It works on so many
// goroutines; rows are not changed. What it scores says how much the scores depend on the feature
// (L. Breiman, Random forests, 2001, section 10).
func (s *Scorer) Permuted(rows []float64, features, feature int, order []uint32, out []float64, cores int) {
	classes, n := s.e.Classes, len(order)
	some := max(1, permutedValues/max(1, features))
	blocks := (n + some - 1) / some
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(cores, blocks) {
		group.Go(func() {
			own := make([]float64, some*features)
			for k := int(next.Add(1)) - 1; k < blocks; k = int(next.Add(1)) - 1 {
				lo := k * some
				hi := min(n, lo+some)
				copy(own, rows[lo*features:hi*features])
				for i, from := range order[lo:hi] {
					own[i*features+feature] = rows[int(from)*features+feature]
				}
				s.Batch(own, features, out[lo*classes:hi*classes])
			}
		})
	}
	group.Wait()
}
