package psf_test

import (
	"testing"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/psf"
	"thole.example/shard"
)

// value is a cell of a 10 x 40 matrix: dense, or every third column of it.
func value(row, col int64) float64 { return float64(row*40+col) / 7 * float64(1-2*(col%2)) }

// partitions is the matrix cut by the partitioner, each partition with its values.
func partitions(t *testing.T, layout matrix.Layout, dtype matrix.DType, cut string, blockCols int64) ([]psf.View, *part.Map) {
	t.Helper()
	m := &matrix.Meta{Name: "m", Rows: 10, Cols: 40, DType: dtype, Layout: layout, BlockRows: 4, BlockCols: blockCols}
	p, err := part.Lookup(cut, m)
	if err != nil {
		t.Fatal(err)
	}
	mp, err := part.NewMap(m, p, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	all := matrix.NewDense(matrix.F64, m.Rect())
	for i := range all.Data.Values().([]float64) {
		all.Data.Values().([]float64)[i] = value(int64(i)/40, int64(i)%40)
	}
	if layout == matrix.RowSparse {
		all = all.Pick(func(col int64) bool { return col%3 == 0 })
	}
	all, _ = all.Cast(dtype)
	var views []psf.View
	for id := range mp.Owners {
		s, err := shard.New(m, mp.At(id), mp.Bits, nil)
		if err != nil {
			t.Fatal(err)
		}
		mine := all.Cut(mp.At(id))
		if mp.Bits > 0 {
			mine = all.Pick(func(col int64) bool { return mp.Of(col) == id })
		}
		if err := s.SetBlock(mine); err != nil {
			t.Fatal(err)
		}
		views = append(views, s.View(id))
	}
	return views, mp
}

func TestSmoke(t *testing.T) {
	table, err := psf.NewTable(psf.Funcs(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		for _, cut := range []string{"column", "range", "hash"} {
			if cut == "hash" && layout == matrix.RowDense {
				continue
			}
			views, _ := partitions(t, layout, matrix.F64, cut, 7)
			for _, c := range []struct{ name, arg string }{
				{"sum", ""}, {"max", ""}, {"min", ""}, {"amin", ""}, {"nnz", ""}, {"size", ""}, {"dot", `{"row1":1,"row2":2}`}, {"topk", `{"k":3}`},
				{"quantiles", ""}, {"histogram", `{"min":-10,"max":10,"bins":5}`}, {"exp", `{"from":2}`}, {"sum", `{"rows":2}`},
				{"axpy", `{"x":1,"y":2,"a":0.5}`}, {"put", `{"row":3,"values":[1,2,3]}`}, {"sum", ""},
			} {
				call, err := table.Bind(c.name, []byte(c.arg), views[0].Meta())
				if err != nil {
					t.Fatal(err)
				}
				var parts [][]byte
				for _, v := range views {
					if !call.Touches(v.At().Rows) {
						continue
					}
					p, err := call.Part(v)
					if err != nil {
						t.Fatal(c, err)
					}
					parts = append(parts, p)
				}
				if call.Merge != nil {
					a, err := call.Merge(parts)
					t.Log(layout, cut, c, string(a), err)
				}
			}
		}
	}
}
