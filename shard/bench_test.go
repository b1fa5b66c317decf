package shard_test

import (
	"fmt"
	"testing"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/shard"
	"thole.example/wire"
)

// BenchmarkDense reads a dense row and makes steps of a rule on all of it. The bytes of a step are those of the gradient.
func BenchmarkDense(b *testing.B) {
	for _, n := range []int64{1 << 16, 1 << 24} {
		m := &matrix.Meta{Name: "d", Rows: 1, Cols: n, DType: matrix.F32, Rule: "adagrad"}
		rule, err := optim.Find(nil, m.Rule)
		if err != nil {
			b.Fatal(err)
		}
		s, err := shard.New(m, m.Rect(), 0, rule)
		if err != nil {
			b.Fatal(err)
		}
		val := make([]float32, n)
		d := shard.Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Values: wire.View(val)}
		for name, run := range map[string]func() error{
			"read": func() error { return s.ReadRect(d.Values, m.Rect()) },
			"add":  func() error { return s.Add(d) },
			"one":  func() error { return s.Apply([]shard.Delta{d}, 1, 0.1) },
			"four": func() error { return s.Apply([]shard.Delta{d, d, d, d}, 1, 0.1) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(4 * n)
				b.ReportAllocs()
				for b.Loop() {
					if err := run(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		s.Close()
	}
}
