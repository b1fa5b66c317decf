package matrix

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestShape(t *testing.T) {
	for _, c := range []struct {
		dims       []int64
		rows, cols int64
		err        string
	}{
		{nil, 1, 1, ""},
		{[]int64{7}, 1, 7, ""},
		{[]int64{0}, 1, 0, ""},
		{[]int64{2, 3}, 2, 3, ""},
		{[]int64{2, 3, 4, 1}, 2, 12, ""},
		{[]int64{0, 5}, 0, 5, ""},
		{[]int64{math.MaxInt64}, 1, math.MaxInt64, ""},
		{[]int64{math.MaxInt64, 1, 1}, math.MaxInt64, 1, ""},
		{[]int64{3, 1 << 40, 1 << 40, 0}, 3, 0, ""},
		{[]int64{3, 0, 1 << 40, 1 << 40}, 3, 0, ""},
		{[]int64{1 << 32, 1 << 31}, 0, 0, "2^63"},
		{[]int64{1, 1 << 40, 1 << 40}, 0, 0, "2^63"},
		{[]int64{1 << 32, 1 << 32, 1}, 0, 0, "2^63"},
		{[]int64{0, 1 << 40, 1 << 40}, 0, 0, "2^63"},
		{[]int64{-1}, 0, 0, "dimension -1"},
		{[]int64{-2, 0}, 0, 0, "dimension -2"},
		{[]int64{2, 0, -3}, 0, 0, "dimension -3"},
		{[]int64{-1, -1}, 0, 0, "dimension -1"},
		{[]int64{math.MinInt64, 2}, 0, 0, "dimension"},
	} {
		rows, cols, err := Shape(c.dims)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: %v, want %q", c.dims, err, c.err)
			}
		} else if err != nil || rows != c.rows || cols != c.cols {
			t.Errorf("%v: %d x %d, %v; want %d x %d", c.dims, rows, cols, err, c.rows, c.cols)
		}
	}
}

func TestMetaCheck(t *testing.T) {
	good := Meta{Name: "w", Rows: 3, Cols: 4, DType: F32}
	for _, c := range []struct {
		change func(*Meta)
		want   string // "": no error
	}{
		{func(m *Meta) {}, ""},
		{func(m *Meta) { m.Rows, m.Cols = 0, 0 }, ""},
		{func(m *Meta) { m.ColLo, m.Cols = math.MinInt64, math.MaxInt64 }, ""},
		{func(m *Meta) { m.Dims = []int64{3, 2, 2} }, ""},
		{func(m *Meta) { m.Rows, m.Cols, m.Dims = 1, 1, []int64{} }, ""},
		{func(m *Meta) { m.Saved = []Range{{0, 1}, {1, 2}, {2, 3}} }, ""},
		{func(m *Meta) { m.Saved = []Range{} }, ""},
		{func(m *Meta) { m.Labels = []string{"a", "b", "c", "d"} }, ""},
		{func(m *Meta) { m.ColTypes = []DType{F32, I8, Bool, F16} }, ""},
		{func(m *Meta) { m.BlockRows, m.BlockCols = 100, 100 }, ""},
		{func(m *Meta) { m.Rows = -1 }, "size -1 x 4"},
		{func(m *Meta) { m.Cols = -1 }, "size 3 x -1"},
		{func(m *Meta) { m.BlockRows = -1 }, "blocks of -1 x 0"},
		{func(m *Meta) { m.BlockCols = -7 }, "blocks of 0 x -7"},
		{func(m *Meta) { m.ColLo = math.MaxInt64 - 3 }, "beyond int64"},
		{func(m *Meta) { m.DType = Invalid }, "unknown element type 0"},
		{func(m *Meta) { m.DType = 200 }, "unknown element type 200"},
		{func(m *Meta) { m.Labels = []string{"a"} }, "1 labels, want 4"},
		{func(m *Meta) { m.ColTypes = []DType{F32} }, "1 column types, want 4"},
		{func(m *Meta) { m.ColTypes = []DType{F32, F32, 99, F32} }, "column 2: unknown element type 99"},
		{func(m *Meta) { m.Saved = []Range{{0, 4}} }, "saved rows [0,4)"},
		{func(m *Meta) { m.Saved = []Range{{1, 1}} }, "saved rows [1,1)"},
		{func(m *Meta) { m.Saved = []Range{{-1, 1}} }, "saved rows [-1,1)"},
		{func(m *Meta) { m.Saved = []Range{{0, 2}, {1, 3}} }, "saved rows [1,3)"},
		{func(m *Meta) { m.Dims = []int64{3, 2} }, "is 3 x 2, want 3 x 4"},
		{func(m *Meta) { m.Dims = []int64{3, -4} }, "dimension -4"},
	} {
		m := good
		c.change(&m)
		err := m.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", m, err, c.want)
		}
	}
}

func TestMetaClone(t *testing.T) {
	m := Meta{
		Name: "w", Rows: 3, Cols: 1, ColLo: -2, DType: F32, Layout: RowSparse,
		Hyper: map[string]float64{"beta": 1}, Labels: []string{"a"}, ColTypes: []DType{I8},
		Saved: []Range{{0, 1}}, Dims: []int64{3, 1}, LoD: [][]int64{{0, 3}}, Attrs: map[string]string{"k": "v"},
	}
	c := m.Clone()
	if !reflect.DeepEqual(m, c) {
		t.Fatalf("%+v, want %+v", c, m)
	}
	c.Hyper["beta"], c.Labels[0], c.ColTypes[0], c.Attrs["k"] = 2, "b", U8, "w"
	c.Saved[0].Hi, c.Dims[0], c.LoD[0][1] = 2, 9, 9
	if m.Hyper["beta"] != 1 || m.Labels[0] != "a" || m.ColTypes[0] != I8 || m.Attrs["k"] != "v" ||
		m.Saved[0].Hi != 1 || m.Dims[0] != 3 || m.LoD[0][1] != 3 {
		t.Errorf("changing the copy changed %+v", m)
	}
	if got := m.Rect(); got != At(0, 3, -2, -1) {
		t.Errorf("place %v", got)
	}
	if m.ColType(-2) != I8 || m.ColType(-3) != F32 || m.ColType(-1) != F32 {
		t.Error("column types: want i8 for column -2 and f32 elsewhere")
	}
	if rows := (&Meta{Rows: 5}).SavedRows(); !reflect.DeepEqual(rows, []Range{{0, 5}}) {
		t.Errorf("all rows are saved: %v", rows)
	}
	if rows := (&Meta{Rows: 5, Saved: []Range{}}).SavedRows(); len(rows) != 0 {
		t.Errorf("no row is saved: %v", rows)
	}
}

func TestDTypes(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range DTypes() {
		back, err := ParseDType(strings.ToUpper(d.String()))
		if err != nil || back != d || seen[d.String()] {
			t.Errorf("%v reads back as %v, %v", d, back, err)
		}
		seen[d.String()] = true
		if d.Size() == 0 || d.Float() && !d.Signed() {
			t.Errorf("%v: %d bytes, float %v, signed %v", d, d.Size(), d.Float(), d.Signed())
		}
	}
	if len(seen) != 13 {
		t.Errorf("%d types, want 13", len(seen))
	}
	for _, name := range []string{"", "invalid", "f8", "f32 "} {
		if d, err := ParseDType(name); err == nil {
			t.Errorf("%q is %v, want an error", name, d)
		}
	}
	if RowDense.String() != "dense" || RowSparse.String() != "sparse" || Invalid.Size() != 0 || DType(77).String() != "invalid" {
		t.Error("names of layouts or of no type")
	}
}
