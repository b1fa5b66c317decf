package ps

import (
	"context"
	"testing"

	"thole.example/matrix"
	"thole.example/wire"
)

// BenchmarkIncrements is what the client does for several increments of one clock, without the way and the server.
func BenchmarkIncrements(b *testing.B) {
	ctx := context.Background()
	c, err := Dial(ctx, Options{Network: &parrot{values: wire.View(make([]float32, 16*10000))}, Servers: []string{"0", "1"}})
	if err != nil {
		b.Fatal(err)
	}
	dense := matrix.Meta{Name: "d", Rows: 100, Cols: 10000, DType: matrix.F32}
	for _, meta := range []matrix.Meta{benchMeta, dense} { // one at a time: the parrot has one number
		if err := c.Create(ctx, "", meta); err != nil {
			b.Fatal(err)
		}
	}
	m, _ := c.Matrix("m")
	d, _ := c.Matrix("d")
	batches, vals := batchesOf(64, 10000), make([]float32, 16*10000)
	plans := make([]*Keys, len(batches))
	for i := range batches {
		if plans[i], err = m.Plan(nil, batches[i]); err != nil {
			b.Fatal(err)
		}
	}
	for _, bench := range []struct {
		name  string
		bytes int64
		do    func(i int) error
	}{
		{"keys of four plans", 4 * 64 * 10000, func(i int) error {
			for k := range 4 {
				if err := PushKeys(m, plans[(i+k)%64], vals); err != nil {
					return err
				}
			}
			return nil
		}},
		{"a plan four times", 4 * 64 * 10000, func(i int) error {
			for range 4 {
				if err := PushKeys(m, plans[i%64], vals); err != nil {
					return err
				}
			}
			return nil
		}},
		{"whole matrix twice", 2 * 4 * 100 * 10000, func(int) error {
			for range 2 {
				if err := d.Increment(matrix.NewDense(matrix.F32, d.meta.Rect())); err != nil {
					return err
				}
			}
			return nil
		}},
		{"a hundred rows twice", 2 * 4 * 100 * 10000, func(i int) error {
			row := matrix.NewDense(matrix.F32, matrix.At(0, 1, 0, 10000))
			for r := range int64(200) {
				row.At.Rows = matrix.Range{Lo: r % 100, Hi: r%100 + 1}
				if err := d.Increment(row); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(bench.bytes)
			for i := 0; b.Loop(); i++ {
				if err := bench.do(i); err != nil {
					b.Fatal(err)
				}
				if err := c.Flush(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
