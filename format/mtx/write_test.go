package mtx

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestWrite checks the bytes of what is written.
func TestWrite(t *testing.T) {
	dense := matrix.Meta{Name: "a", Rows: 2, Cols: 3, DType: matrix.F32, Dims: []int64{2, 3, 1}}
	values := &matrix.Dense[float32]{Val: []float32{1, 0.1, float32(math.Inf(1)), 4, -5e-9, 1234567}}
	text := save(t, dense, format.Options{}, matrix.Block{At: dense.Rect(), Data: values})
	want := "%%MatrixMarket matrix array real general\n%thole dtype=f32 shape=2,3,1\n2 3\n1\n4\n0.1\n-5e-09\nInf\n1.234567e+06\n"
	if text != want {
		t.Errorf("%q, want %q", text, want)
	}
	sparse := matrix.Meta{Name: "a", Rows: 3, Cols: 9, DType: matrix.I16, Layout: matrix.RowSparse}
	cells := &matrix.COO[int16]{Row: []int64{2, 0, 2}, Col: []int64{8, 3, 1}, Val: []int16{1, -2, 0}}
	text = save(t, sparse, format.Options{}, matrix.Block{At: sparse.Rect(), Data: cells})
	want = "%%MatrixMarket matrix coordinate integer general\n%thole dtype=i16                  \n3 9 3\n1 4 -2\n3 2 0\n3 9 1\n"
	if text != want {
		t.Errorf("%q, want %q", text, want)
	}
}

// TestHeaderShape writes the shape of what is no matrix, up to the largest number of dimensions.
func TestHeaderShape(t *testing.T) {
	ones := slices.Repeat([]int64{1}, rankLimit)
	for _, c := range []struct {
		dims []int64
		want string
	}{
		{nil, ""}, {[]int64{1, 1}, ""}, {[]int64{1}, " shape=1"}, {[]int64{}, " shape="},
		{ones, " shape=1" + strings.Repeat(",1", rankLimit-1)}, {append(ones, 1), ""},
	} {
		m := matrix.Meta{Rows: 1, Cols: 1, DType: matrix.F32, Dims: c.dims}
		want := "%%MatrixMarket matrix array real general\n%thole dtype=f32" + c.want + "\n1 1\n"
		if got := string(header(&m, 0)); got != want {
			t.Errorf("%d dimensions: %q, want %q", len(c.dims), got, want)
		}
	}
}

// TestLosses are what the format cannot say, and what is left when that is allowed.
func TestLosses(t *testing.T) {
	base := matrix.Meta{Name: "a", Rows: 2, Cols: 2, DType: matrix.I32}
	for name, change := range map[string]func(*matrix.Meta){
		"labels": func(m *matrix.Meta) { m.Labels = []string{"a", "b"} },
		"lod":    func(m *matrix.Meta) { m.LoD = [][]int64{{0, 2}} },
		"first":  func(m *matrix.Meta) { m.ColLo = -7 },
		"types":  func(m *matrix.Meta) { m.ColTypes = []matrix.DType{matrix.I32, matrix.F64} },
		"rows":   func(m *matrix.Meta) { m.Saved = []matrix.Range{{Lo: 0, Hi: 2}} },
		"rank": func(m *matrix.Meta) {
			m.Dims = append(slices.Repeat([]int64{1}, rankLimit-1), 2, 2)
			m.Rows, m.Cols = 1, 4
		},
	} {
		for _, l := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
			t.Run(name+" "+l.String(), func(t *testing.T) {
				m := base.Clone()
				change(&m)
				m.Layout = l
				if _, err := Codec.Create(t.Context(), &blob.Mem{}, place, []matrix.Meta{m}, format.Options{}); !errors.Is(err, format.ErrLossy) {
					t.Errorf("%v, want ErrLossy", err)
				}
				lost := 0
				b := matrix.NewDense(m.DType, m.Rect())
				b.Data.Values().([]int32)[3] = 9
				text := save(t, m, format.Options{Lossy: true, Lost: func(string) { lost++ }}, b)
				_, cells, err := load(t, text)
				if want := "9"; err != nil || lost != 1 || !strings.HasSuffix(cells, fmt.Sprintf("%d,%d=%s", m.Rows-1, m.Cols-1, want)) {
					t.Errorf("%q is %s, %v; %d losses", text, cells, err, lost)
				}
			})
		}
	}
}
