package ps

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"thole.example/matrix"
	"thole.example/part"
)

// BenchmarkPlan plans 64 batches of keys out of a million that are spread over all integers, and lists of ascending ones.
func BenchmarkPlan(b *testing.B) {
	m := matrix.Meta{Name: "m", Rows: 16, Cols: 1<<63 - 1, DType: matrix.F32, Layout: matrix.RowSparse}
	for _, c := range []struct {
		cut    string
		n      int
		sorted bool
	}{{"hash", 10000, false}, {"hash", 10000, true}, {"hash", 1000, false}, {"hash", 200000, false}, {"column", 10000, false}, {"column", 10000, true}} {
		b.Run(fmt.Sprintf("%s/n=%d/sorted=%v", c.cut, c.n, c.sorted), func(b *testing.B) {
			p, err := part.Lookup(c.cut, &m)
			if err != nil {
				b.Fatal(err)
			}
			parts, err := part.NewMap(&m, p, 4, 1)
			if err != nil {
				b.Fatal(err)
			}
			batches := batchesOf(64, c.n)
			if c.sorted {
				for i := range batches {
					slices.Sort(batches[i])
					batches[i] = slices.Compact(batches[i])
				}
			}
			k := &Keys{}
			b.ReportAllocs()
			n := 0
			for i := 0; b.Loop(); i++ {
				if err := k.plan(parts, m.Rect().Cols, batches[i%64]); err != nil {
					b.Fatal(err)
				}
				n += k.inputs
			}
			b.ReportMetric(float64(n)/1e6/b.Elapsed().Seconds(), "Mkeys/s")
		})
	}
}

// batchesOf are n keys each, a million different ones at most.
func batchesOf(batches, n int) [][]int64 {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([][]int64, batches)
	for b := range out {
		out[b] = make([]int64, n)
		for i := range out[b] {
			x := rng.Uint64N(1000000) + 0x9e3779b97f4a7c15
			x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
			x = (x ^ (x >> 27)) * 0x94d049bb133111eb
			out[b][i] = int64((x ^ (x >> 31)) >> 1)
		}
	}
	return out
}
