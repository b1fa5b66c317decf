package psf_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/psf"
	"thole.example/shard"
)

// values of a 10 x 40 matrix: dense, or every third column of it.
func value(row, col int64) float64 { return float64(row*40+col) / 7 * float64(1-2*(col%2)) }

// partitions is the matrix cut by the partitioner, each partition with its values.
func partitions(t *testing.T, layout matrix.Layout, dtype matrix.DType, cut string, blockCols int64) []psf.View {
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
		views = append(views, s)
	}
	return views
}

// cuts are ways to hold the same matrix in one or many partitions.
func cuts(layout matrix.Layout) map[string]int64 {
	c := map[string]int64{"range": 7, "column": 3}
	if layout == matrix.RowSparse {
		c["hash"] = 0
	}
	return c
}

func get(t *testing.T, g psf.Get, views []psf.View, arg string) float64 {
	t.Helper()
	var parts [][]byte
	for _, v := range views {
		p, err := g.Part(v, []byte(arg))
		if err != nil {
			t.Fatalf("%s %s: %v", g.Name, arg, err)
		}
		parts = append(parts, p)
	}
	answer, err := g.Merge(parts)
	if err != nil {
		t.Fatalf("%s %s: %v", g.Name, arg, err)
	}
	v, err := psf.Number(answer)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// naive is what each get function answers, by a loop over all cells.
func naive(name string, layout matrix.Layout, selected func(row int64) bool) float64 {
	sum, most, square := 0.0, math.Inf(-1), 0.0
	for r := range int64(10) {
		for c := range int64(40) {
			if v := value(r, c); selected(r) && (layout == matrix.RowDense || c%3 == 0) {
				sum, most, square = sum+v, max(most, v), square+v*v
			}
		}
	}
	return map[string]float64{"sum": sum, "max": most, "norm": math.Sqrt(square)}[name]
}

// TestGets wants every get function to answer the same for one partition as for many, and what a loop answers.
func TestGets(t *testing.T) {
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		for _, g := range psf.Gets() {
			for arg, selected := range map[string]func(int64) bool{
				"":                   func(int64) bool { return true },
				`{}`:                 func(int64) bool { return true },
				`{"rows":[]}`:        func(int64) bool { return true },
				`{"rows":[5]}`:       func(r int64) bool { return r == 5 },
				`{"rows":[9,0,9]}`:   func(r int64) bool { return r == 0 || r == 9 },
				` {"rows" : [3,4]} `: func(r int64) bool { return r == 3 || r == 4 },
			} {
				want := naive(g.Name, layout, selected)
				for cut, block := range cuts(layout) {
					got := get(t, g, partitions(t, layout, matrix.F64, cut, block), arg)
					if math.Abs(got-want) > 1e-12*math.Abs(want) {
						t.Errorf("%v %s %s by %s is %v, want %v", layout, g.Name, arg, cut, got, want)
					}
				}
			}
		}
	}
}

// TestUpdates wants every update function to change the selected cells alone, in one partition as in many.
func TestUpdates(t *testing.T) {
	for _, c := range []struct {
		name, arg string
		cell      func(row int64, v float64) float64
	}{
		{"fill", `{"value":-3}`, func(_ int64, v float64) float64 { return -3 }},
		{"fill", `{"value":2,"rows":[5]}`, func(r int64, v float64) float64 {
			if r == 5 {
				return 2
			}
			return v
		}},
		{"scale", `{"rows":[0,9],"by":0.5}`, func(r int64, v float64) float64 {
			if r == 0 || r == 9 {
				return v / 2
			}
			return v
		}},
		{"threshold", `{"below":4}`, func(_ int64, v float64) float64 {
			if math.Abs(v) < 4 {
				return 0
			}
			return v
		}},
	} {
		for _, u := range psf.Updates() {
			if u.Name != c.name {
				continue
			}
			for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
				for cut, block := range cuts(layout) {
					updated(t, u, c.arg, partitions(t, layout, matrix.F64, cut, block), c.cell)
				}
			}
		}
	}
}

func updated(t *testing.T, u psf.Update, arg string, views []psf.View, cell func(row int64, v float64) float64) {
	t.Helper()
	for _, v := range views {
		if err := u.Part(v, []byte(arg)); err != nil {
			t.Fatal(err)
		}
		v.Each(func(row, col int64, val []float64) {
			for i, got := range val {
				if want := cell(row, value(row, col+int64(i))); got != want {
					t.Errorf("%s %s: cell (%d,%d) is %v, want %v", u.Name, arg, row, col+int64(i), got, want)
				}
			}
		})
	}
}

// TestNegative wants the largest of values below zero to be below zero, in every element type.
func TestNegative(t *testing.T) {
	for _, d := range []matrix.DType{matrix.F64, matrix.F32, matrix.I64, matrix.I32} {
		m := &matrix.Meta{Name: "m", Rows: 1, Cols: 2, DType: d}
		s, err := shard.New(m, m.Rect(), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float64]{Val: []float64{-3, -1}}}.Cast(d)
		if err := s.SetBlock(b); err != nil {
			t.Fatal(err)
		}
		for _, g := range psf.Gets() {
			if got := get(t, g, []psf.View{s}, ""); g.Name == "max" && got != -1 {
				t.Errorf("%v: the largest of -3 and -1 is %v", d, got)
			}
		}
	}
}

// TestNothing wants functions to do with a matrix without a value.
func TestNothing(t *testing.T) {
	m := &matrix.Meta{Name: "m", Rows: 2, Cols: 9, DType: matrix.F32, Layout: matrix.RowSparse}
	s, err := shard.New(m, m.Rect(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"sum": 0, "max": math.Inf(-1), "norm": 0}
	for _, g := range psf.Gets() {
		if got := get(t, g, []psf.View{s}, ""); got != want[g.Name] {
			t.Errorf("%s of nothing is %v, want %v", g.Name, got, want[g.Name])
		}
	}
}

// TestArguments wants wrong arguments refused by every function, with the values unchanged.
func TestArguments(t *testing.T) {
	bad := []struct{ arg, want string }{
		{`{`, "unexpected end"}, {`[]`, "cannot unmarshal"}, {`{} x`, "after top-level"}, {`{"row":[1]}`, `"row", want one of`},
		{`{"rows":1}`, "rows: "}, {`{"rows":[1.5]}`, "rows: "}, {`{"rows":[10],"value":1,"by":1,"below":1}`, "want one of"},
		{`{"rows":["a"]}`, "rows: "},
	}
	views := partitions(t, matrix.RowDense, matrix.F64, "column", 40)
	refuse := func(name, arg, want string, err error) {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s %s: error %v, want %q in it", name, arg, err, want)
		}
	}
	for _, g := range psf.Gets() {
		for _, c := range bad {
			_, err := g.Part(views[0], []byte(c.arg))
			refuse(g.Name, c.arg, c.want, err)
		}
		_, err := g.Part(views[0], []byte(`{"rows":[10]}`))
		refuse(g.Name, "row 10", "row 10, want one in [0,10)", err)
		_, err = g.Merge([][]byte{[]byte("x")})
		refuse(g.Name, "answer x", map[string]string{"max": "invalid syntax"}[g.Name], err)
	}
	number := map[string]string{"fill": "value", "scale": "by", "threshold": "below"}
	for _, u := range psf.Updates() {
		for _, c := range bad {
			refuse(u.Name, c.arg, c.want, u.Part(views[0], []byte(c.arg)))
		}
		refuse(u.Name, "no number", "no number, want one like", u.Part(views[0], nil))
		arg := fmt.Sprintf(`{%q:1,"rows":[-1]}`, number[u.Name])
		refuse(u.Name, arg, "row -1, want one in [0,10)", u.Part(views[0], []byte(arg)))
	}
	updated(t, psf.Update{Part: func(psf.View, []byte) error { return nil }}, "", views, func(_ int64, v float64) float64 { return v })
}

func TestTable(t *testing.T) {
	rules := []psf.Rule{{Name: "r", Hyper: []psf.Hyper{{Name: "a", Default: 2}}, New: func(h map[string]float64) psf.Step {
		if h["a"] != 3 {
			t.Errorf("setting a is %v, want 3", h["a"])
		}
		return psf.Step{}
	}}}
	table, err := psf.NewTable(psf.Gets(), psf.Updates(), rules)
	if err != nil {
		t.Fatal(err)
	}
	r, err := table.Rule("r")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Bind(map[string]float64{"a": 3}); err != nil {
		t.Error(err)
	}
	if _, err := r.Bind(map[string]float64{"b": 3}); err == nil || !strings.Contains(err.Error(), `no setting "b"`) {
		t.Errorf("setting b: %v", err)
	}
	_, gerr := table.Get("r")
	_, uerr := table.Update("sum")
	_, rerr := table.Rule("fill")
	for _, err := range []error{gerr, uerr, rerr} {
		if err == nil || !strings.Contains(err.Error(), "psf: no ") {
			t.Errorf("a name of another kind: %v", err)
		}
	}
	if _, err := psf.NewTable(append(psf.Gets(), psf.Get{Name: "sum"}), nil, nil); err == nil {
		t.Error("two functions have one name")
	}
	if _, err := psf.NewTable(nil, []psf.Update{{}}, nil); err == nil || !strings.Contains(err.Error(), "without a name") {
		t.Errorf("a function without a name: %v", err)
	}
}
