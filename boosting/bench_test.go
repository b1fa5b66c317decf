package boosting_test

import (
	"testing"

	"thole.example/gbdt"
	"thole.example/rpc/mem"
	"thole.example/tree"
)

// denseRows are rows of 28 numbers.
type denseRows int

func (r denseRows) Len() int                { return int(r) }
func (r denseRows) Features() tree.Features { return tree.Features{Width: 28} }
func (r denseRows) Missing(int) bool        { return false }

func (r denseRows) Read(lo, hi int, into *gbdt.Block) {
	for i := lo; i < hi; i++ {
		for f := range 28 {
			into.Feature, into.Value = append(into.Feature, int32(f)), append(into.Value, float64(random(i, f)+0.01))
		}
		into.Ptr = append(into.Ptr, len(into.Feature))
	}
}

// BenchmarkTogether is a training by four tasks on two servers: reading and surveying of all rows by each of them is in it.
func BenchmarkTogether(b *testing.B) {
	rows := denseRows(60000)
	y := &gbdt.Labels{}
	for i := range rows.Len() {
		y.Label = append(y.Label, random(i, 0)+random(i, 3)*random(i, 5)+random(i, 40))
	}
	x := &training{learn: rows, labels: y, conf: config(b, "l2", func(c *gbdt.Config) { c.Trees, c.Depth, c.Bins = 40, 6, 255 })}
	for range b.N {
		x.together(b, cluster(b, 2, &mem.Network{}), 4)
	}
}
