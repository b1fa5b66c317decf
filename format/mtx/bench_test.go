package mtx

import (
	"math/rand/v2"
	"testing"

	"thole.example/format"
	"thole.example/matrix"
)

func BenchmarkRead(b *testing.B) {
	sparse := matrix.Meta{Name: "a", Rows: 1 << 10, Cols: 1 << 20, DType: matrix.F64, Layout: matrix.RowSparse}
	blk := matrix.NewDense(matrix.F64, matrix.At(0, 1<<10, 0, 1<<9))
	rnd := rand.New(rand.NewPCG(1, 2))
	for i, v := 0, blk.Data.Values().([]float64); i < len(v); i++ {
		v[i] = rnd.NormFloat64()
	}
	dense := matrix.Meta{Name: "a", Rows: 1 << 10, Cols: 1 << 9, DType: matrix.F64}
	for name, text := range map[string]string{
		"sorted": save(b, sparse, format.Options{}, blk), "unsorted": shuffled(1 << 19), "array": save(b, dense, format.Options{}, blk),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r, err := open(b, text)
				if err != nil {
					b.Fatal(err)
				}
				for _, err := range r.Blocks(b.Context(), "a", r.Matrices()[0].Rect()) {
					if err != nil {
						b.Fatal(err)
					}
				}
				r.Close()
			}
		})
	}
	for name, m := range map[string]matrix.Meta{"write sparse": sparse, "write array": dense} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(save(b, m, format.Options{}, blk))))
			for b.Loop() {
				save(b, m, format.Options{}, blk)
			}
		})
	}
}
