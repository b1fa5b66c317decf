package gbdt

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkCoded is a tree of 64 leaves that a block of rows of 28 features comes through.
func BenchmarkCoded(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	rows := &grid{}
	y := &Labels{}
	for range blockRows {
		one := make([]float32, 28)
		for f := range one {
			one[f] = r.Float32()
		}
		rows.rows = append(rows.rows, one)
		y.Label = append(y.Label, one[0]*one[1]+one[2]-one[3]*one[4])
	}
	rows = gridOf(rows.rows...)
	c := settings(b, "l2", 1)
	of := binned(b, rows, nil, 255)
	t := of.coded(&trained(b, of, y, c, Options{}).Trees[0])
	margins := make([]float64, blockRows)
	b.ResetTimer()
	for b.Loop() {
		t.add(of.codes, 0, margins)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/blockRows, "ns/row")
}
