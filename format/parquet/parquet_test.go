package parquet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
)

type fataler interface {
	Helper()
	Fatal(...any)
}

func bucketOf(t fataler, data []byte) *blob.Mem {
	t.Helper()
	b := &blob.Mem{}
	if err := blob.WriteAll(context.Background(), b, "a.parquet", data); err != nil {
		t.Fatal(err)
	}
	return b
}

// load reads the cells of want, or all, as text.
func load(data []byte, set map[string]string, want *matrix.Rect) (m matrix.Meta, cells []string, err error) {
	ctx, b := context.Background(), &blob.Mem{}
	if err := blob.WriteAll(ctx, b, "a.parquet", data); err != nil {
		return m, nil, err
	}
	r, err := Codec.Open(ctx, b, "a.parquet", format.Options{Set: set})
	if err != nil {
		return m, nil, err
	}
	defer r.Close()
	m = r.Matrices()[0]
	if want == nil {
		all := m.Rect()
		want = &all
	}
	found := map[[2]int64]string{}
	for blk, err := range r.Blocks(ctx, m.Name, *want) {
		if err == nil {
			err = blk.Check()
		}
		if err != nil {
			return m, nil, err
		}
		_ = blk.EachText(func(row, col int64, v []byte) error {
			found[[2]int64{row, col}] = string(v)
			return nil
		})
	}
	for row := want.Rows.Lo; row < want.Rows.Hi && len(found) > 0; row++ {
		for col := want.Cols.Lo; col < want.Cols.Hi; col++ {
			cells = append(cells, found[[2]int64{row, col}])
		}
	}
	return m, cells, nil
}

// save writes one block for each lane.
func save(m matrix.Meta, blk matrix.Block, set map[string]string) ([]byte, error) {
	ctx, b := context.Background(), &blob.Mem{}
	w, err := Codec.Create(ctx, b, "a.parquet", []matrix.Meta{m}, format.Options{Set: set})
	if err != nil {
		return nil, err
	}
	defer w.Abort(ctx)
	var parts []format.Part
	for _, l := range format.Lanes(&m) {
		at := blk.At
		at.Cols = l.Cols
		one, _ := blk.Cut(at).Cast(l.DType)
		p, err := w.Put(ctx, m.Name, one)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	if err := w.Commit(ctx, parts); err != nil {
		return nil, err
	}
	return blob.ReadAll(ctx, b, "a.parquet", 1<<30)
}

// row is what the library writes in tests: columns of most kinds.
type row struct {
	A int8     `parquet:"a"`
	B uint16   `parquet:"b,dict"`
	C int32    `parquet:"c"`
	D uint64   `parquet:"d,plain"`
	E float32  `parquet:"e,split"`
	F float64  `parquet:"f,dict"`
	G bool     `parquet:"g"`
	H *int64   `parquet:"h,optional"`
	I *float64 `parquet:"i,optional,dict"`
}

var rowTypes = []matrix.DType{matrix.I8, matrix.U16, matrix.I32, matrix.U64, matrix.F32, matrix.F64, matrix.Bool, matrix.I64, matrix.F64}

func makeRows(n int, null bool) (rows []row, cells []string) {
	for i := range n {
		h, f := int64(i)<<40, float64(i%7)/3
		r := row{int8(i), uint16(i % 5), int32(-i), math.MaxUint64 - uint64(i), float32(i) / 8, float64(i%11) * 0.1, i%3 == 0, &h, &f}
		text := []string{fmt.Sprint(r.A), fmt.Sprint(r.B), fmt.Sprint(r.C), fmt.Sprint(r.D), fmt.Sprint(r.E), fmt.Sprint(r.F), "0",
			fmt.Sprint(h), fmt.Sprint(f)}
		if r.G {
			text[6] = "1"
		}
		if null && i%4 == 1 {
			r.H, text[7] = nil, "0"
		}
		if null && i%6 == 2 {
			r.I, text[8] = nil, "0"
		}
		rows, cells = append(rows, r), append(cells, text...)
	}
	return rows, cells
}

// library writes rows with the library.
func library[T any](t fataler, rows []T, o ...parquet.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := parquet.Write(&out, rows, o...); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestReadLibrary reads what the library writes: page versions, compressions, pages and row groups of many sizes.
func TestReadLibrary(t *testing.T) {
	for _, version := range []int{1, 2} {
		for what, o := range map[string]parquet.WriterOption{
			"none": parquet.Compression(&parquet.Uncompressed), "snappy": parquet.Compression(&parquet.Snappy),
			"gzip": parquet.Compression(&parquet.Gzip), "zstd": parquet.Compression(&parquet.Zstd),
			"lz4": parquet.Compression(&parquet.Lz4Raw), "brotli": parquet.Compression(&parquet.Brotli),
		} {
			for _, n := range []int{0, 1, 9, 1000} {
				for _, null := range []bool{false, true} {
					rows, cells := makeRows(n, null)
					data := library(t, rows, parquet.DataPageVersion(version), o, parquet.PageBufferSize(300), parquet.MaxRowsPerRowGroup(337))
					m, got, err := load(data, map[string]string{"nulls": "0"}, nil)
					if err != nil {
						t.Fatalf("version %d, %s, %d rows: %v", version, what, n, err)
					}
					if m.Rows != int64(n) || !slices.Equal(m.ColTypes, rowTypes) || strings.Join(m.Labels, "") != "abcdefghi" {
						t.Errorf("version %d, %s: read %+v", version, what, m)
					}
					if !slices.Equal(got, cells) {
						t.Errorf("version %d, %s, %d rows: cells differ", version, what, n)
					}
					if n < 1000 {
						continue
					}
					part := matrix.At(330, 345, 2, 9)
					_, got, err = load(data, map[string]string{"nulls": "0"}, &part)
					var want []string
					for r := part.Rows.Lo; r < part.Rows.Hi; r++ {
						want = append(want, cells[r*9+2:r*9+9]...)
					}
					if err != nil || !slices.Equal(got, want) {
						t.Errorf("version %d, %s: part differs, %v", version, what, err)
					}
				}
			}
		}
	}
}

// TestNulls are errors unless the option says what they are.
func TestNulls(t *testing.T) {
	type one struct {
		X *float32 `parquet:"x,optional"`
	}
	v := float32(2)
	data := library(t, []one{{&v}, {nil}, {&v}})
	if _, _, err := load(data, nil, nil); !errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), "a null, want a number") {
		t.Errorf("no option: %v", err)
	}
	for set, want := range map[string]string{"nan": "2 NaN 2", "0": "2 0 2"} {
		_, cells, err := load(data, map[string]string{"nulls": set}, nil)
		if err != nil || strings.Join(cells, " ") != want {
			t.Errorf("%s: %v, %v, want %s", set, cells, err, want)
		}
	}
	type whole struct {
		X *int64 `parquet:"x,optional"`
		Y *bool  `parquet:"y,optional"`
		Z *int32 `parquet:"z,optional,date"`
	}
	x, y, z := int64(3), true, int32(9)
	data = library(t, []whole{{&x, nil, &z}, {nil, &y, &z}, {&x, &y, &z}})
	for set, want := range map[string]string{"nan": "[f64 f64 i32] 3 NaN 9 NaN 1 9 3 1 9", "0": "[i64 bool i32] 3 0 9 0 1 9 3 1 9"} {
		m, cells, err := load(data, map[string]string{"nulls": set}, nil)
		if got := fmt.Sprint(m.ColTypes, " ", strings.Join(cells, " ")); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", set, got, err, want)
		}
	}
	x = 1<<53 + 1
	for what, rows := range map[string][]whole{"f64 does not hold": {{&x, &y, &z}, {nil, &y, &z}}, "i32 cannot hold as nan": {{&x, &y, nil}}} {
		if _, _, err := load(library(t, rows), map[string]string{"nulls": "nan"}, nil); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestRefused are files of the library that hold more than numbers, and options.
func TestRefused(t *testing.T) {
	plain := []struct{ X int64 }{{1}, {2}}
	for what, c := range map[string]struct {
		data []byte
		set  map[string]string
		want string
		is   error
	}{
		"text":        {library(t, []struct{ Name string }{{"x"}}), nil, `column 0 ("Name"): values of BYTE_ARRAY (STRING), want numbers`, format.ErrVersion},
		"nested":      {library(t, []struct{ A struct{ B int64 } }{{}}), nil, "nested", format.ErrVersion},
		"repeated":    {library(t, []struct{ A []int64 }{{}}), nil, "repeated", format.ErrVersion},
		"other":       {library(t, plain), map[string]string{"other": "x"}, "option other", format.ErrOption},
		"nulls":       {library(t, plain), map[string]string{"nulls": "x"}, "option nulls", format.ErrOption},
		"option":      {library(t, plain), map[string]string{"x": "x"}, "wrong option", format.ErrOption},
		"short":       {[]byte("PAR1"), nil, "4 bytes, want 12 at least", format.ErrCorrupt},
		"begin":       {[]byte("1,2\n3,4\n5,6\n"), nil, `at byte 0: "1,2\n" at the begin, want "PAR1"`, format.ErrCorrupt},
		"end":         {[]byte("PAR1....PAR2"), nil, `"PAR2" at the end`, format.ErrCorrupt},
		"encrypted":   {[]byte("PARE....PARE"), nil, "encrypted", format.ErrVersion},
		"long footer": {[]byte("PAR1\xff\xff\xff\x7fPAR1"), nil, "footer of 2147483647 bytes in a file of 12", format.ErrCorrupt},
		"no schema":   {[]byte("PAR1\x00\x01\x00\x00\x00PAR1"), nil, "footer: ", format.ErrCorrupt},
	} {
		t.Run(what, func(t *testing.T) {
			m, cells, err := load(c.data, c.set, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.is) {
				t.Errorf("%v %v, %v, want %q", m, cells, err, c.want)
			}
		})
	}
}

// TestForLibrary writes columns of every type and has the library read them.
func TestForLibrary(t *testing.T) {
	m := matrix.Meta{Name: "a", Rows: 5, Cols: 13, DType: matrix.F64, ColTypes: matrix.DTypes()}
	blk := matrix.NewDense(matrix.F64, m.Rect())
	for i := range blk.Data.(*matrix.Dense[float64]).Val {
		blk.Data.(*matrix.Dense[float64]).Val[i] = float64(i / 13 % 2)
	}
	for _, compression := range []string{"none", "snappy", "zstd", "lz4", "brotli"} {
		data, err := save(m, blk, map[string]string{"compression": compression})
		if err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if f.NumRows() != m.Rows || len(f.RowGroups()) != 1 {
			t.Errorf("%d rows in %d groups", f.NumRows(), len(f.RowGroups()))
		}
		var kinds []string
		for i, c := range f.RowGroups()[0].ColumnChunks() {
			kinds = append(kinds, c.Type().String())
			pages := c.Pages()
			page, err := pages.ReadPage()
			if err != nil {
				t.Fatal(err)
			}
			got := make([]parquet.Value, m.Rows)
			if n, _ := page.Values().ReadValues(got); n != len(got) {
				t.Errorf("column %d: %d values", i, n)
			}
			for r, v := range got {
				text := v.String()
				if m.ColTypes[i] == matrix.F16 {
					text = map[string]string{"\x00\x00": "0", "\x00\x3c": "1"}[string(v.ByteArray())]
				}
				if want := []string{"0", "1"}[r%2]; text != want && text != map[string]string{"0": "false", "1": "true"}[want] {
					t.Errorf("column %d, row %d: %q, want %s", i, r, text, want)
				}
			}
			pages.Close()
		}
		want := "DOUBLE FLOAT INT(64,true) INT(32,true) INT(16,true) INT(8,true) INT(64,false) INT(32,false) INT(16,false) INT(8,false) FIXED_LEN_BYTE_ARRAY(2) FLOAT BOOLEAN"
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("types %s, want %s", got, want)
		}
	}
}

// TestRoundTrip writes frames and matrices of any type and reads the same cells, types, labels and shapes.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SampledFrom(matrix.DTypes())
		m := matrix.Meta{Name: "a", Rows: rapid.Int64Range(0, 20).Draw(t, "rows"), Cols: rapid.Int64Range(0, 40).Draw(t, "cols"), DType: types.Draw(t, "type")}
		if rapid.Bool().Draw(t, "labels") && m.Cols > 0 {
			m.Labels = rapid.SliceOfN(rapid.StringMatching(`[a-c ,."\x00]{0,2}`), int(m.Cols), int(m.Cols)).Draw(t, "label")
		}
		if rapid.Bool().Draw(t, "mixed") && m.Cols > 1 {
			m.ColTypes = rapid.SliceOfN(types, int(m.Cols), int(m.Cols)).Draw(t, "types")
			m.ColTypes[0], m.ColTypes[1], m.DType = matrix.I8, matrix.F32, matrix.F64
		}
		if m.Labels == nil && m.Cols > 0 && m.Cols%2 == 0 && rapid.Bool().Draw(t, "shape") {
			m.Dims = []int64{m.Rows, 2, m.Cols / 2}
		}
		n, _ := m.Rect().Cells()
		val := rapid.SliceOfN(rapid.Float64(), int(n), int(n)).Draw(t, "values")
		if m.ColTypes != nil {
			for i := range val {
				val[i] = float64(i % 2) // which every type holds
			}
		}
		blk, _ := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float64]{Val: val}}.Cast(m.DType)
		data, err := save(m, blk, map[string]string{"compression": rapid.SampledFrom([]string{"none", "snappy", "zstd", "lz4", "brotli"}).Draw(t, "compression")})
		if err != nil {
			t.Fatal(err)
		}
		got, cells, err := load(data, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Unnamed = true // its file names it
		if fmt.Sprint(got) != fmt.Sprint(m) {
			t.Fatalf("read %+v, want %+v", got, m)
		}
		var want []string
		for i := range cells {
			at := matrix.At(int64(i)/m.Cols, int64(i)/m.Cols+1, int64(i)%m.Cols, int64(i)%m.Cols+1)
			one, _ := blk.Cut(at).Cast(m.ColType(at.Cols.Lo))
			_ = one.EachText(func(_, _ int64, v []byte) error { want = append(want, string(v)); return nil })
		}
		if int64(len(cells)) != n || !slices.Equal(cells, want) {
			t.Fatalf("read %v, want %v", cells, want)
		}
	})
}

// TestWide writes a matrix of 4096 columns that makes several row groups, and reads parts of it.
func TestWide(t *testing.T) {
	m := matrix.Meta{Name: "a", Rows: 2500, Cols: 4096, DType: matrix.F32}
	blk := matrix.NewDense(m.DType, m.Rect())
	for i := range blk.Data.(*matrix.Dense[float32]).Val {
		blk.Data.(*matrix.Dense[float32]).Val[i] = float32(i)
	}
	data, err := save(m, blk, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := readFooter(objectOf(t, data), false)
	if err != nil || len(f.groups) != 2 {
		t.Fatalf("%d row groups, %v, want 2", len(f.groups), err)
	}
	for _, want := range []matrix.Rect{matrix.At(2040, 2055, 4000, 4096), matrix.At(0, 1, 0, 4096), matrix.At(2499, 2500, 17, 18)} {
		_, cells, err := load(data, nil, &want)
		var all []string
		_ = blk.Cut(want).EachText(func(_, _ int64, v []byte) error { all = append(all, string(v)); return nil })
		if err != nil || !slices.Equal(cells, all) {
			t.Errorf("%v: cells differ, %v", want, err)
		}
	}
}

func objectOf(t fataler, data []byte) blob.Object {
	t.Helper()
	o, err := bucketOf(t, data).Open(context.Background(), "a.parquet")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestTall reads a column that is longer than a block, page by page.
func TestTall(t *testing.T) {
	type one struct{ X int64 }
	rows := make([]one, 3_000_000)
	for i := range rows {
		rows[i].X = int64(i)
	}
	b := bucketOf(t, library(t, rows))
	r, err := Codec.Open(context.Background(), b, "a.parquet", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	next, blocks := int64(5), 0
	for blk, err := range r.Blocks(context.Background(), "a", matrix.At(5, 2_999_999, 0, 1)) {
		if err != nil {
			t.Fatal(err)
		}
		blocks++
		for _, v := range blk.Data.(*matrix.Dense[int64]).Val {
			if v != next {
				t.Fatalf("%d, want %d", v, next)
			}
			next++
		}
	}
	if next != 2_999_999 || blocks < 2 {
		t.Errorf("%d rows in %d blocks", next, blocks)
	}
}

// TestCreate is what is refused.
func TestCreate(t *testing.T) {
	plain := matrix.Meta{Name: "a", Rows: 2, Cols: 2, DType: matrix.F64}
	for what, c := range map[string]struct {
		change func(m *matrix.Meta, set map[string]string)
		is     error
	}{
		"sparse":      {func(m *matrix.Meta, _ map[string]string) { m.Layout = matrix.RowSparse }, format.ErrLossy},
		"rows":        {func(m *matrix.Meta, _ map[string]string) { m.Saved = []matrix.Range{{Lo: 0, Hi: 1}} }, format.ErrLossy},
		"columns":     {func(m *matrix.Meta, _ map[string]string) { m.ColLo = 5 }, format.ErrLossy},
		"sequences":   {func(m *matrix.Meta, _ map[string]string) { m.LoD = [][]int64{{0, 2}} }, format.ErrLossy},
		"labels":      {func(m *matrix.Meta, _ map[string]string) { m.Labels = []string{"\xff", ""} }, format.ErrLossy},
		"wide":        {func(m *matrix.Meta, _ map[string]string) { m.Cols = maxCols + 1 }, format.ErrLimit},
		"long":        {func(m *matrix.Meta, _ map[string]string) { m.Rows = 1 << 50 }, format.ErrLimit},
		"compression": {func(_ *matrix.Meta, s map[string]string) { s["compression"] = "gzip" }, format.ErrOption},
	} {
		m, set := plain, map[string]string{}
		c.change(&m, set)
		if _, err := Codec.Create(context.Background(), &blob.Mem{}, "a", []matrix.Meta{m}, format.Options{Set: set}); !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %v", what, err, c.is)
		}
	}
}

// TestExplainAbsent wants an error for a file that is not there.
func TestExplainAbsent(t *testing.T) {
	var out strings.Builder
	if err := Codec.Explain(t.Context(), &blob.Mem{}, "a", dump.New(&out)); !errors.Is(err, fs.ErrNotExist) || out.Len() != 0 {
		t.Errorf("%q, %v, want fs.ErrNotExist", out.String(), err)
	}
}

// TestDocument holds the example of the page to what explain prints.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/parquet.md")
	if err != nil {
		t.Fatal(err)
	}
	m := matrix.Meta{Name: "a", Rows: 3, Cols: 2, DType: matrix.F64, Labels: []string{"x", "y"}, ColTypes: []matrix.DType{matrix.F64, matrix.I16}}
	blk := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float64]{Val: []float64{0.5, 1, -2, 2, 0, 3}}}
	data, err := save(m, blk, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Codec.Explain(context.Background(), bucketOf(t, data), "a.parquet", dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```dump\n"+out.String()+"```\n") {
		t.Errorf("docs/format/parquet.md does not have\n%s", out.String())
	}
}
