package mtx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

const place = "d/a.mtx"

// open reads the head of a file.
func open(t interface{ Fatal(...any) }, text string) (format.Reader, error) {
	ctx, b := context.Background(), &blob.Mem{}
	if err := blob.WriteAll(ctx, b, place, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return Codec.Open(ctx, b, place, format.Options{})
}

// load gives what the file says as "row,column=value …" in the order of the blocks.
func load(t interface{ Fatal(...any) }, text string) (m matrix.Meta, cells string, err error) {
	r, err := open(t, text)
	if err != nil {
		return m, "", err
	}
	defer r.Close()
	m = r.Matrices()[0]
	cells, err = cellsOf(r, m.Rect())
	return m, cells, err
}

func cellsOf(r format.Reader, want matrix.Rect) (string, error) {
	var out strings.Builder
	for b, err := range r.Blocks(context.Background(), "a", want) {
		if err == nil {
			err = b.Check()
		}
		if err == nil && !want.Contains(b.At) {
			err = fmt.Errorf("block %v outside %v", b.At, want)
		}
		if err == nil {
			err = b.EachText(func(row, col int64, v []byte) error {
				fmt.Fprintf(&out, "%d,%d=%s ", row, col, v)
				return nil
			})
		}
		if err != nil {
			return out.String(), err
		}
	}
	return strings.TrimSpace(out.String()), nil
}

// TestComplex writes complex matrices and reads them again: type and shape stay, and half a value is made whole.
func TestComplex(t *testing.T) {
	for _, c := range []struct {
		m          matrix.Meta
		data       matrix.Data
		text, back string
	}{
		{matrix.Meta{Rows: 2, Cols: 4, DType: matrix.F64, Origin: format.Complex128, Dims: []int64{2, 2, 2}, Layout: matrix.RowSparse},
			&matrix.COO[float64]{Row: []int64{0, 0, 1, 1}, Col: []int64{0, 3, 2, 3}, Val: []float64{1, 2, 3, -4}},
			"%%MatrixMarket matrix coordinate complex general\n%thole dtype=f64                  \n2 2 3\n1 1 1 0\n1 2 0 2\n2 2 3 -4\n",
			"0,0=1 0,1=0 0,2=0 0,3=2 1,2=3 1,3=-4"},
		{matrix.Meta{Rows: 2, Cols: 4, DType: matrix.F32, Origin: format.Complex64, Dims: []int64{2, 2, 2}},
			&matrix.Dense[float32]{Val: []float32{1, 2, 3, 4, 5, 6, 7, 8}},
			"%%MatrixMarket matrix array complex general\n%thole dtype=f32\n2 2\n1 2\n5 6\n3 4\n7 8\n",
			"0,0=1 0,1=2 0,2=3 0,3=4 1,0=5 1,1=6 1,2=7 1,3=8"},
		{matrix.Meta{Rows: 1, Cols: 6, DType: matrix.F32, Origin: format.Complex64, Dims: []int64{1, 3, 1, 2}},
			&matrix.Dense[float32]{Val: []float32{1, 2, 3, 4, 5, 6}},
			"%%MatrixMarket matrix array complex general\n%thole dtype=f32 shape=1,3,1,2\n1 3\n1 2\n3 4\n5 6\n", "0,0=1 0,1=2 0,2=3 0,3=4 0,4=5 0,5=6"},
	} {
		c.m.Name = "a"
		text := save(t, c.m, format.Options{}, matrix.Block{At: c.m.Rect(), Data: c.data})
		m, cells, err := load(t, text)
		m.Stored, m.Unnamed = 0, false
		if text != c.text || err != nil || cells != c.back || fmt.Sprint(m) != fmt.Sprint(c.m) {
			t.Errorf("%q, %+v %s, %v; want %q, %+v %s", text, m, cells, err, c.text, c.m, c.back)
		}
	}
	lost := ""
	o := format.Options{Lossy: true, Lost: func(what string) { lost = what }}
	m := matrix.Meta{Name: "a", Rows: 1, Cols: 2, DType: matrix.F32, Origin: format.Complex64}
	save(t, m, o, matrix.Block{At: m.Rect(), Data: &matrix.Dense[float32]{Val: []float32{1, 2}}})
	if !strings.Contains(lost, "complex64") {
		t.Errorf("lost %q, want complex64", lost)
	}
}

// TestStored: a coordinate file says that every cell is there if it is so, not if one comes twice.
func TestStored(t *testing.T) {
	const text = "%%MatrixMarket matrix coordinate real general\n2 1 2\n1 1 1\n"
	for line, want := range map[string]bool{"2 1 3\n": true, "1 1 3\n": false} {
		m, _, err := load(t, text+line)
		if err != nil || m.Full() != want {
			t.Errorf("%v, %d stored; want all: %v", err, m.Stored, want)
		}
	}
}

// save writes blocks and gives the text.
func save(t interface{ Fatal(...any) }, m matrix.Meta, o format.Options, blocks ...matrix.Block) string {
	ctx, b := context.Background(), &blob.Mem{}
	w, err := Codec.Create(ctx, b, place, []matrix.Meta{m}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort(ctx)
	var parts []format.Part
	for _, blk := range blocks {
		p, err := w.Put(ctx, m.Name, blk)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	if err := w.Commit(ctx, parts); err != nil {
		t.Fatal(err)
	}
	text, err := blob.ReadAll(ctx, b, place, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct{ text, size, cells string }{
		"coordinate": {
			"%%MatrixMarket matrix coordinate real general\n% note\n%\n\n 3\t4  3 \n3 4 -1.5e1\n1 1 0\n\n 2  3\t.5 \n",
			"3 x 4 f64 sparse", "0,0=0 1,2=0.5 2,3=-15"},
		"no last line feed": {"%%MatrixMarket matrix coordinate integer general\n1 2 1\n1 2 7", "1 x 2 i64 sparse", "0,1=7"},
		"windows":           {"%%MatrixMarket matrix coordinate double general\r\n1 2 1\r\n1 2 7\r\n", "1 x 2 f64 sparse", "0,1=7"},
		"capitals":          {"%%matrixmarket MATRIX Coordinate Real GENERAL\n1 1 0\n", "1 x 1 f64 sparse", ""},
		"pattern":           {"%%MatrixMarket matrix coordinate pattern general\n2 2 2\n2 1\n1 2\n", "2 x 2 i8 sparse", "0,1=1 1,0=1"},
		"pattern symmetric": {"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n2 1\n2 2\n", "2 x 2 i8 sparse", "0,1=1 1,0=1 1,1=1"},
		"symmetric":         {"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n3 1 2\n2 3 4\n", "3 x 3 f64 sparse", "0,0=1 0,2=2 1,2=4 2,0=2 2,1=4"},
		"skew":              {"%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 5\n3 2 -6\n", "3 x 3 i64 sparse", "0,1=-5 1,0=5 1,2=6 2,1=-6"},
		"unsigned":          {"%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 18446744073709551615\n", "1 x 1 u64 sparse", "0,0=18446744073709551615"},
		"far apart": {"%%MatrixMarket matrix coordinate real general\n9223372036854775807 9223372036854775807 3\n" +
			"9223372036854775807 9223372036854775807 1\n1 1 2\n9223372036854775807 5 3\n", "9223372036854775807 x 9223372036854775807 f64 sparse",
			"0,0=2 9223372036854775806,4=3 9223372036854775806,9223372036854775806=1"},
		"added up":          {"%%MatrixMarket matrix coordinate real general\n2 2 5\n2 1 1\n1 1 7\n2 1 2\n2 2 0\n2 1 -4\n", "2 x 2 f64 sparse", "0,0=7 1,0=-1 1,1=0"},
		"more than cells":   {"%%MatrixMarket matrix coordinate integer general\n1 1 3\n1 1 1\n1 1 7\n1 1 2\n", "1 x 1 i64 sparse", "0,0=10"},
		"added up below":    {"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n2 1 2\n", "2 x 2 f64 sparse", "0,1=3 1,0=3"},
		"Fortran":           {"%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1.5D0\n2 1 -2.5d-3\n2 2 1D+02\n", "2 x 2 f64 sparse", "0,0=1.5 1,0=-0.0025 1,1=100"},
		"complex":           {"%%MatrixMarket matrix coordinate complex general\n2 2 3\n1 1 1 2\n2 1 -3 0\n1 1 1 .5\n", "2 x 4 f64 sparse", "0,0=2 0,1=2.5 1,0=-3 1,1=0"},
		"complex symmetric": {"%%MatrixMarket matrix coordinate complex symmetric\n2 2 1\n2 1 1 2\n", "2 x 4 f64 sparse", "0,2=1 0,3=2 1,0=1 1,1=2"},
		"complex skew":      {"%%MatrixMarket matrix coordinate complex skew-symmetric\n2 2 1\n2 1 1 2\n", "2 x 4 f64 sparse", "0,2=-1 0,3=-2 1,0=1 1,1=2"},
		"hermitian":         {"%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 4 0\n2 1 1 2\n", "2 x 4 f64 sparse", "0,0=4 0,1=0 0,2=1 0,3=-2 1,0=1 1,1=2"},
		"complex array":     {"%%MatrixMarket matrix array complex general\n2 2\n1 2\n3 4\n5 6\n7 8\n", "2 x 4 f64 dense", "0,0=1 0,1=2 0,2=5 0,3=6 1,0=3 1,1=4 1,2=7 1,3=8"},
		"hermitian real":    {"%%MatrixMarket matrix coordinate real hermitian\n2 2 1\n2 1 5\n", "2 x 2 f64 sparse", "0,1=5 1,0=5"},
		"hermitian array":   {"%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n3 4\n5 0\n", "2 x 4 f64 dense", "0,0=1 0,1=0 0,2=3 0,3=-4 1,0=3 1,1=4 1,2=5 1,3=0"},
		"skew array":        {"%%MatrixMarket matrix array complex skew-symmetric\n2 2\n3 4\n", "2 x 4 f64 dense", "0,0=0 0,1=0 0,2=-3 0,3=-4 1,0=3 1,1=4 1,2=0 1,3=0"},
		"our complex":       {"%%MatrixMarket matrix array complex general\n%thole dtype=f32 shape=2,2\n2 1\n1 2\n3 4\n", "2 x 2 f32 dense", "0,0=1 0,1=2 1,0=3 1,1=4"},
		"specials":          {"%%MatrixMarket matrix array real general\n4 1\ninf\n-Infinity\nNaN\n-0\n", "4 x 1 f64 dense", "0,0=+Inf 1,0=-Inf 2,0=NaN 3,0=-0"},
		"array":             {"%%MatrixMarket matrix array real general\n%c\n2 3\n1\n2\n\n3\n 4 \n5\n6", "2 x 3 f64 dense", "0,0=1 0,1=3 0,2=5 1,0=2 1,1=4 1,2=6"},
		"array symmetric":   {"%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", "3 x 3 i64 dense", "0,0=1 0,1=2 0,2=3 1,0=2 1,1=4 1,2=5 2,0=3 2,1=5 2,2=6"},
		"array skew":        {"%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n", "3 x 3 f64 dense", "0,0=0 0,1=-1 0,2=-2 1,0=1 1,1=0 1,2=-3 2,0=2 2,1=3 2,2=0"},
		"array skew, one":   {"%%MatrixMarket matrix array real skew-symmetric\n1 1\n", "1 x 1 f64 dense", "0,0=0"},
		"array, none":       {"%%MatrixMarket matrix array real general\n0 9223372036854775807\n", "0 x 9223372036854775807 f64 dense", ""},
		"none":              {"%%MatrixMarket matrix coordinate real symmetric\n0 0 0\n", "0 x 0 f64 sparse", ""},
		"our type":          {"%%MatrixMarket matrix array real general\n%thole dtype=bf16 shape=1,2,1\n1 2\n0.5\n3\n", "1 x 2 bf16 dense", "0,0=0.5 0,1=3"},
		"our truth":         {"%%MatrixMarket matrix array integer general\n%thole dtype=bool\n1 2\n0\n1\n", "1 x 2 bool dense", "0,0=0 0,1=1"},
		"not our type":      {"%%MatrixMarket matrix array integer general\n%thole dtype=f32 shape=3 other=1\n1 2\n0\n1\n", "1 x 2 i64 dense", "0,0=0 0,1=1"},
	} {
		t.Run(name, func(t *testing.T) {
			m, cells, err := load(t, c.text)
			if size := fmt.Sprintf("%d x %d %v %v", m.Rows, m.Cols, m.DType, m.Layout); err != nil || size != c.size || cells != c.cells || m.Check() != nil {
				t.Errorf("%s: %s, %v; want %s: %s", size, cells, err, c.size, c.cells)
			}
		})
	}
}

// TestWrong are files that lie; all are refused with the line and the byte.
func TestWrong(t *testing.T) {
	const coordinate, arrayHead = "%%MatrixMarket matrix coordinate real general\n", "%%MatrixMarket matrix array real general\n"
	for name, c := range map[string]struct {
		text string
		want error
		says string
	}{
		"nothing":           {"", format.ErrCorrupt, "%%MatrixMarket"},
		"other":             {"%MatrixMarket matrix\n", format.ErrCorrupt, "%%MatrixMarket"},
		"words":             {"%%MatrixMarket matrix coordinate real\n1 1 0\n", format.ErrCorrupt, "line 1"},
		"banner goes on":    {"%%MatrixMarkets matrix coordinate real general\n1 1 0\n", format.ErrCorrupt, "line 1"},
		"object":            {"%%MatrixMarket vector coordinate real general\n1 1 0\n", format.ErrVersion, "vector"},
		"kind":              {"%%MatrixMarket matrix list real general\n1 1 0\n", format.ErrVersion, "list"},
		"other symmetry":    {"%%MatrixMarket matrix coordinate real lower\n1 1 0\n", format.ErrVersion, "lower"},
		"half a value":      {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 22222\n", format.ErrCorrupt, "space"},
		"array half":        {"%%MatrixMarket matrix array complex general\n1 1\n2 \n", format.ErrCorrupt, "value (complex)"},
		"exponent":          {coordinate + "1 1 1\n1 1 1D\n", format.ErrCorrupt, "value"},
		"pattern array":     {"%%MatrixMarket matrix array pattern general\n1 1\n", format.ErrCorrupt, "pattern"},
		"pattern skew":      {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", format.ErrCorrupt, "sign"},
		"no size":           {coordinate + "% nothing\n", format.ErrCorrupt, "no line with the size"},
		"size of two":       {coordinate + "1 1\n", format.ErrCorrupt, "line 2"},
		"size of four":      {coordinate + "1 1 0 0\n", format.ErrCorrupt, "line 2"},
		"size negative":     {coordinate + "1 -1 0\n", format.ErrCorrupt, "line 2"},
		"size 2^63":         {coordinate + "9223372036854775808 1 0\n", format.ErrCorrupt, "line 2"},
		"size with unit":    {coordinate + "1 1m 0\n", format.ErrCorrupt, "line 2"},
		"count bomb":        {coordinate + "99999999 99999999 999999999999\n1 1 1\n", format.ErrCorrupt, "bytes remain"},
		"array bomb":        {arrayHead + "99999999 99999999\n1\n", format.ErrCorrupt, "bytes remain"},
		"array overflow":    {arrayHead + "9223372036854775807 3\n1\n", format.ErrLimit, "2^63"},
		"symmetric, oblong": {"%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n", format.ErrCorrupt, "as many"},
		"skew diagonal":     {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 0.5\n", format.ErrCorrupt, "line 3"},
		"skew least":        {"%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 -9223372036854775808\n", format.ErrCorrupt, "opposite"},
		"array skew least":  {"%%MatrixMarket matrix array integer skew-symmetric\n2 2\n-9223372036854775808\n", format.ErrCorrupt, "opposite"},
		"row 0":             {coordinate + "2 2 1\n0 1 1\n", format.ErrCorrupt, "line 3"},
		"row above":         {coordinate + "2 2 1\n3 1 1\n", format.ErrCorrupt, "1 to 2"},
		"column 0":          {coordinate + "2 2 1\n\n\n1 0 1\n", format.ErrCorrupt, "line 5"},
		"column above":      {coordinate + "2 2 1\n1 3 1\n", format.ErrCorrupt, "1 to 2"},
		"row huge":          {coordinate + "2 2 1\n99999999999999999999 1 1\n", format.ErrCorrupt, "row"},
		"no value":          {coordinate + "2 2 1\n1 1  \n", format.ErrCorrupt, "value"},
		"no space":          {coordinate + "2 2 1\n1 1x 1\n", format.ErrCorrupt, "space"},
		"second value":      {coordinate + "2 2 1\n1 1 1 0\n", format.ErrCorrupt, "end of the line"},
		"value glued":       {coordinate + "2 2 1\n1 1 1.5.2\n", format.ErrCorrupt, "end of the line"},
		"value too large":   {coordinate + "2 2 1\n1 1 1e999\n", format.ErrCorrupt, "value"},
		"fraction":          {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n", format.ErrCorrupt, "end of the line"},
		"integer too large": {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9223372036854775808\n", format.ErrCorrupt, "value"},
		"negative unsigned": {"%%MatrixMarket matrix coordinate unsigned-integer general\n1 1 1\n1 1 -1\n", format.ErrCorrupt, "value"},
		"pattern value":     {"%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 1\n", format.ErrCorrupt, "end of the line"},
		"comment inside":    {coordinate + "2 2 1\n% no\n1 1 1\n", format.ErrCorrupt, "line 3"},
		"more":              {coordinate + "2 2 1\n1 1 1\n1 2 1\n", format.ErrCorrupt, "want 1"},
		"less":              {coordinate + "2 2 3\n1 1 1\n1 2 1.123456\n", format.ErrCorrupt, "want 3"},
		"sum too large": {"%%MatrixMarket matrix coordinate integer general\n2 2 3\n2 1 9223372036854775807\n\n1 1 1\n2 1 1\n", format.ErrCorrupt,
			"line 6: cell (2,1) a second time, the first is on line 3, their sum is no integer"},
		"hermitian diagonal":       {"%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 2 1 2\n", format.ErrCorrupt, "imaginary part 2 in cell (2,2)"},
		"hermitian diagonal array": {"%%MatrixMarket matrix array complex hermitian\n1 1\n1 2\n", format.ErrCorrupt, "imaginary part 2 in cell (1,1)"},
		"pattern too often": {"%%MatrixMarket matrix coordinate pattern general\n1 1 128\n" + strings.Repeat("1 1\n", 128), format.ErrCorrupt,
			"at most 127 times"},
		"mirrored": {"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n1 2 1\n", format.ErrCorrupt,
			"line 4: cell (1,2) a second time, the first is on line 3, in a file with entries on both sides"},
		"array more":      {arrayHead + "1 1\n1\n1\n", format.ErrCorrupt, "want 1"},
		"array less":      {arrayHead + "1 2\n1.25\n", format.ErrCorrupt, "want 2"},
		"array two":       {arrayHead + "1 2\n1 2\n", format.ErrCorrupt, "one value in a line"},
		"array word":      {arrayHead + "1 2\n1\nx\n", format.ErrCorrupt, "line 4"},
		"array glued":     {arrayHead + "1 2\n1\n1x\n", format.ErrCorrupt, "line 4"},
		"not of our type": {"%%MatrixMarket matrix array integer general\n%thole dtype=i8\n1 1\n300\n", format.ErrCorrupt, "i8"},
		"no f16":          {"%%MatrixMarket matrix coordinate real general\n%thole dtype=f16\n1 1 1\n1 1 0.1\n", format.ErrCorrupt, "f16"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(t, c.text)
			var where *format.Error
			if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) || !errors.As(err, &where) || where.Off < 0 {
				t.Errorf("%v, want %v with %q and the byte", err, c.want, c.says)
			}
		})
	}
}

// TestRoundTrip writes random matrices in tiles and reads them, whole and in parts.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := matrix.Meta{Name: "a", DType: rapid.SampledFrom(matrix.DTypes()).Draw(t, "type"),
			Layout: rapid.SampledFrom([]matrix.Layout{matrix.RowDense, matrix.RowSparse}).Draw(t, "layout")}
		m.Dims = rapid.SliceOfN(rapid.Int64Range(0, 5), 0, 3).Draw(t, "dims")
		m.Rows, m.Cols, _ = matrix.Shape(m.Dims)
		whole := matrix.NewDense(m.DType, m.Rect())
		raw, _ := wire.ViewAny(whole.Data.Values())
		for i := range raw {
			if raw[i] = rapid.Byte().Draw(t, "byte"); m.DType == matrix.Bool {
				raw[i] &= 1
			}
		}
		if m.Layout == matrix.RowSparse {
			skip := rapid.Int64Range(1, 4).Draw(t, "skip")
			whole = whole.Pick(func(col int64) bool { return col%skip == 0 })
		}
		cut := rapid.Int64Range(0, m.Cols).Draw(t, "cut")
		row := rapid.Int64Range(0, m.Rows).Draw(t, "row")
		blocks := []matrix.Block{whole.Cut(matrix.At(row, m.Rows, 0, m.Cols)), whole.Cut(matrix.At(0, row, cut, m.Cols)), whole.Cut(matrix.At(0, row, 0, cut))}
		text := save(t, m, format.Options{}, blocks...)
		if again := save(t, m, format.Options{Stage: "s"}, whole); again != text {
			t.Fatalf("as one block\n%q, want\n%q", again, text)
		}
		r, err := open(t, text)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		got := r.Matrices()[0]
		same := fmt.Sprint(got.Dims) == fmt.Sprint(m.Dims) || len(m.Dims) == 2 && got.Dims == nil
		if !same || got.DType != m.DType || got.Layout != m.Layout || got.Rows != m.Rows || got.Cols != m.Cols {
			t.Fatalf("read %+v, want %+v", got, m)
		}
		for _, want := range []matrix.Rect{m.Rect(), blocks[0].At, blocks[1].At, blocks[2].At} {
			have, err := cellsOf(r, want)
			if err != nil {
				t.Fatal(err)
			}
			if cells := textOf(whole.Cut(want)); have != cells {
				t.Fatalf("%v: %s, want %s\n%s", want, have, cells, text)
			}
		}
	})
}

func textOf(b matrix.Block) string {
	var out strings.Builder
	_ = b.EachText(func(row, col int64, v []byte) error {
		fmt.Fprintf(&out, "%d,%d=%s ", row, col, v)
		return nil
	})
	return strings.TrimSpace(out.String())
}

// TestCutNumber finds that the last number of a file of our writer is the begin of a longer one.
func TestCutNumber(t *testing.T) {
	for _, l := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		m := matrix.Meta{Name: "a", Rows: 1, Cols: 2, DType: matrix.F64, Layout: l}
		text := save(t, m, format.Options{}, matrix.Block{At: m.Rect(), Data: &matrix.Dense[float64]{Val: []float64{1, 12345}}})
		for n := range len(text) {
			if _, cells, err := load(t, text[:n]); err == nil {
				t.Errorf("%q: %s without an error", text[:n], cells)
			}
		}
	}
}

// TestDocument checks the worked examples of the format's page: they are what we write, and explain so.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/mtx.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(string(page), "```dump\n")[1:]
	sparse := matrix.Meta{Name: "a", Rows: 3, Cols: 4, DType: matrix.F32, Layout: matrix.RowSparse}
	dense := matrix.Meta{Name: "a", Rows: 2, Cols: 2, DType: matrix.I16}
	blocks := []matrix.Block{
		{At: sparse.Rect(), Data: &matrix.CSR[float32]{Ptr: []int{0, 2, 2, 3}, Idx: []int64{0, 3, 1}, Val: []float32{1, -0.5, 1e-9}}},
		{At: dense.Rect(), Data: &matrix.Dense[int16]{Val: []int16{1, 2, 3, -4}}},
	}
	for i, m := range []matrix.Meta{sparse, dense} {
		text := save(t, m, format.Options{}, blocks[i])
		b := &blob.Mem{}
		if err := blob.WriteAll(t.Context(), b, place, []byte(text)); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Codec.Explain(t.Context(), b, place, dump.New(&out)); err != nil {
			t.Fatal(err)
		}
		example, _, _ := strings.Cut(examples[i], "```")
		if out.String() != example {
			t.Errorf("explained as\n%s, want\n%s", out.String(), example)
		}
		var shown strings.Builder // the text that the page shows
		for line := range strings.Lines(example) {
			quoted, err := strconv.QuotedPrefix(line[10:])
			if err != nil {
				t.Fatal(err)
			}
			plain, _ := strconv.Unquote(quoted)
			shown.WriteString(plain + "\n")
		}
		_, got, err := load(t, shown.String())
		if err != nil || got != textOf(blocks[i]) {
			t.Errorf("the page reads as %s, %v, want %s", got, err, textOf(blocks[i]))
		}
	}
}
