package psf_test

import (
	"math/rand/v2"
	"testing"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// benchShard is a partition of 10 rows: a million dense columns, or as many stored ones of 2^60.
func benchShard(b *testing.B, layout matrix.Layout) *shard.Shard {
	b.Helper()
	const rows, cols = 10, 1_000_000
	m := &matrix.Meta{Name: "m", Rows: rows, Cols: cols, DType: matrix.F32, Layout: layout}
	if layout == matrix.RowSparse {
		m.Cols = 1 << 60
	}
	s, err := shard.New(m, m.Rect(), 0, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	const some = 10_000
	keys, values := make([]int64, some), make([]float32, rows*some)
	for at := int64(0); at < cols; at += some {
		for i := range keys {
			if keys[i] = at + int64(i); layout == matrix.RowSparse {
				keys[i] *= m.Cols / cols
			}
			for r := range rows {
				values[i*rows+r] = float32((keys[i]*int64(r+3))%1009) / 7
			}
		}
		if err := s.Set(shard.Delta{Rows: m.Rect().Rows, Cols: m.Rect().Cols, Keys: keys, Values: wire.View(values)}); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkFunctions runs functions over 10M cells, or over the rows that they are about (1M cells each).
func BenchmarkFunctions(b *testing.B) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		b.Run(layout.String(), func(b *testing.B) {
			s := benchShard(b, layout)
			for _, f := range []struct {
				name, arg string
				cells     int64
			}{
				{"sum", ``, 10e6}, {"nrm2", ``, 10e6}, {"max", ``, 10e6}, {"nnz", ``, 10e6}, {"topk", `{"k":100}`, 10e6},
				{"histogram", `{"min":0,"max":200}`, 10e6}, {"quantiles", ``, 10e6}, {"dot", `{"row1":1,"row2":4}`, 2e6},
				{"sum", `{"rows":3}`, 1e6}, {"fill", `{"value":2}`, 10e6}, {"scale", `{"by":1.5}`, 10e6}, {"mapinplace", `{"f":"2*x+1"}`, 10e6},
				{"map", `{"from":1,"to":2,"f":"x > 3 ? sqrt(x) : 0"}`, 2e6}, {"zip2map", `{"from1":1,"from2":2,"to":3,"f":"x*y+1"}`, 3e6},
				{"randomnormal", `{"stored":true,"rows":1}`, 1e6}, {"compress", ``, 10e6},
			} {
				call, err := functions.Bind(f.name, []byte(f.arg), s.Meta())
				if err != nil {
					b.Fatal(err)
				}
				b.Run(f.name, func(b *testing.B) {
					b.SetBytes(4 * f.cells)
					for b.Loop() {
						if _, err := call.Part(s.View(0)); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(f.cells), "ns/cell")
				})
			}
		})
	}
}

// BenchmarkBandwidth runs functions over rows of 100M cells of f32, much more than caches hold, beside a plain pass over the same
// memory: docs/performance.md has the ratios.
func BenchmarkBandwidth(b *testing.B) {
	const cols, some = 100_000_000, 1_000_000
	m := &matrix.Meta{Name: "m", Rows: 2, Cols: cols, DType: matrix.F32}
	s, err := shard.New(m, m.Rect(), 0, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	rng, values := rand.New(rand.NewPCG(1, 1)), make([]float32, some)
	for at := int64(0); at < 2*cols; at += some {
		for i := range values {
			values[i] = float32(rng.NormFloat64())
		}
		r, lo := at/cols, at%cols
		if err := s.Set(shard.Delta{Rows: matrix.Range{Lo: r, Hi: r + 1}, Cols: matrix.Range{Lo: lo, Hi: lo + some}, Values: wire.View(values)}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("memory", func(b *testing.B) {
		b.SetBytes(4 * cols)
		cells := s.View(0).Cells().(psf.Cells[float32])
		for b.Loop() {
			err := cells.Apart([]int64{0}, false, func(c *psf.Chunk[float32]) error { kernel.NonZero(c.All); return nil })
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, f := range []struct {
		name, arg string
		rows      int64
	}{
		{"sum", `{"rows":0}`, 1}, {"dot", `{"row1":0,"row2":1}`, 2}, {"topk", `{"k":100,"rows":0}`, 1}, {"fill", `{"value":2,"rows":1}`, 1},
	} {
		call, err := functions.Bind(f.name, []byte(f.arg), m)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(f.name, func(b *testing.B) {
			b.SetBytes(4 * cols * f.rows)
			for b.Loop() {
				if _, err := call.Part(s.View(0)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
