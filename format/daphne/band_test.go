package daphne_test

import (
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/daphne"
	"thole.example/matrix"
)

// TestRowsInBands reads places of a sparse block that is larger than what is read at a time; one of its rows alone is.
func TestRowsInBands(t *testing.T) {
	const rows, wide, few, many = 41, 20, 45_000, 1_400_000
	ptr := []int{0}
	for r := range rows {
		n := few
		if r == wide {
			n = many
		}
		ptr = append(ptr, ptr[r]+n)
	}
	data := matrix.KindOf(matrix.F64).CSR(ptr, make([]int64, ptr[rows])).(*matrix.CSR[float64])
	for r := range rows {
		for i := ptr[r]; i < ptr[r+1]; i++ {
			data.Idx[i], data.Val[i] = int64(i-ptr[r]), float64(i+1)
		}
	}
	m := matrix.Meta{Name: "x", Rows: rows, Cols: many, DType: matrix.F64, Layout: matrix.RowSparse}
	whole := matrix.Block{At: m.Rect(), Data: data}
	for _, dialect := range []string{"document", "daphne"} {
		b := &blob.Mem{}
		o := format.Options{Set: map[string]string{"dialect": dialect, "blocks": "as-is"}}
		if _, err := save(t.Context(), b, m, o, []matrix.Block{whole}); err != nil {
			t.Fatal(err)
		}
		r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []matrix.Rect{m.Rect(), matrix.At(0, 1, 0, many), matrix.At(wide, wide+1, few, many), matrix.At(wide-1, wide+2, 7, 9),
			matrix.At(rows-2, rows, 0, many), matrix.At(rows-1, rows, few-1, few+1)} {
			want := whole.Cut(at).Data.(*matrix.CSR[float64])
			var idx []int64
			var val []float64
			blocks := 0
			for part, err := range r.Blocks(t.Context(), "x", at) {
				if err != nil {
					t.Fatal(err)
				}
				c := part.Data.(*matrix.CSR[float64])
				idx, val, blocks = append(idx, c.Idx...), append(val, c.Val...), blocks+1
			}
			if !slices.Equal(idx, want.Idx) || !slices.Equal(val, want.Val) {
				t.Errorf("%s: %v has %d cells, want %d", dialect, at, len(val), len(want.Val))
			}
			if at == m.Rect() && blocks < 3 {
				t.Errorf("%s: all in %d blocks, want some bands", dialect, blocks)
			}
		}
		r.Close()
	}
}
