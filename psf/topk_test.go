package psf_test

import (
	"math"
	"testing"

	"thole.example/kernel"
	"thole.example/matrix"
)

// TestTopOfMany: of far more cells than are asked for the right ones are found, also if they are all equal to the least number that
// there is, and whatever order they are looked at in.
func TestTopOfMany(t *testing.T) {
	topOfMany(t, matrix.F64, math.Inf(-1), math.Inf(1), -1)
	topOfMany(t, matrix.F32, float32(math.Inf(-1)), 0, float32(math.NaN()), -3)
	topOfMany[int64](t, matrix.I64, math.MinInt64, math.MaxInt64, -1)
	topOfMany[int32](t, matrix.I32, math.MinInt32, math.MinInt32+1, 0)
}

func topOfMany[T kernel.Number](t *testing.T, dtype matrix.DType, from ...T) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		m := matrix.Meta{Name: "m", Rows: 2, Cols: 9000, BlockCols: 9000, DType: dtype, Layout: layout}
		var cols []int64
		for c := range m.Cols {
			cols = append(cols, c)
		}
		w := newWorld[T](t, m, "column", 1, cols)
		defer w.close()
		for i := range 2 * len(from) {
			values, others := map[[2]int64]T{}, int64(2+9000*(i%2)) // so many of 18000 cells are not alike
			for r := range m.Rows {
				for _, c := range cols {
					if values[[2]int64{r, c}] = from[i/2]; (r*m.Cols+c)*7919%18000 < others {
						values[[2]int64{r, c}] = from[c%int64(len(from))]
					}
				}
			}
			w.change(t, m.Rect().Rows, cols, values, "set")
			for _, k := range []int{1, 40, 700} {
				for _, abs := range []bool{false, true} {
					arg := args("k", k, "abs", abs)
					got, err := w.run("topk", arg)
					if want := w.topk([]int64{0, 1}, k, abs); err != nil || string(got) != want {
						t.Fatalf("%v %v, topk %s: %.200s, %v, want %.200s", dtype, layout, arg, got, err, want)
					}
				}
			}
		}
	}
}
