package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

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

// bucketOf holds the files.
func bucketOf(t fataler, files map[string]string) *blob.Mem {
	t.Helper()
	b := &blob.Mem{}
	for name, text := range files {
		if err := blob.WriteAll(context.Background(), b, name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// store writes a matrix of one block.
func store(b blob.Bucket, file string, m matrix.Meta, blk matrix.Block, set map[string]string) error {
	ctx := context.Background()
	w, err := Codec.Create(ctx, b, file, []matrix.Meta{m}, format.Options{Set: set})
	if err != nil {
		return err
	}
	defer w.Abort(ctx)
	var parts []format.Part
	for _, l := range format.Lanes(&m) {
		at := blk.At
		at.Cols = l.Cols
		one, _ := blk.Cut(at).Cast(l.DType)
		p, err := w.Put(ctx, m.Name, one)
		if err != nil {
			return err
		}
		parts = append(parts, p)
	}
	return w.Commit(ctx, parts)
}

// load reads the cells of want as text, each lane in its own type.
func load(b blob.Bucket, file string, set map[string]string) (m matrix.Meta, cells []string, err error) {
	ctx := context.Background()
	r, err := Codec.Open(ctx, b, file, format.Options{Set: set})
	if err != nil {
		return m, nil, err
	}
	defer r.Close()
	m = r.Matrices()[0]
	if m.Cols > 1<<20 {
		return m, nil, nil
	}
	cells, err = part(r, m.Rect())
	return m, cells, err
}

func part(r format.Reader, want matrix.Rect) ([]string, error) {
	found := map[[2]int64]string{}
	for blk, err := range r.Blocks(context.Background(), r.Matrices()[0].Name, want) {
		if err == nil {
			err = blk.Check()
		}
		if err != nil {
			return nil, err
		}
		_ = blk.EachText(func(row, col int64, v []byte) error {
			found[[2]int64{row, col}] = string(v)
			return nil
		})
	}
	var cells []string
	for row := want.Rows.Lo; row < want.Rows.Hi && len(found) > 0; row++ {
		for col := want.Cols.Lo; col < want.Cols.Hi; col++ {
			cells = append(cells, found[[2]int64{row, col}])
		}
	}
	return cells, nil
}

const meta2x2 = `{"numCols":2,"numRows":2,"valueType":"f64"}`

var readable = []struct {
	what, text, meta string
	set              map[string]string
	want             string // rows x cols type, labels
	cells            string
}{
	{"numbers", "1,2\n3,4\n", "", nil, "2 x 2 i64 []", "1 2 3 4"},
	{"floats", "1,2.5\n3,4\n", "", nil, "2 x 2 f64 []", "1 2.5 3 4"},
	{"no line end", "1,2\n3,4", "", nil, "2 x 2 i64 []", "1 2 3 4"},
	{"CR LF and blank lines", "\r\n1,2\r\n\r\n 3 , 4 \r\n  \r\n", "", nil, "2 x 2 i64 []", "1 2 3 4"},
	{"byte order mark", "\ufeff1,2\n3,4\n", "", nil, "2 x 2 i64 []", "1 2 3 4"},
	{"tabs", "1\t2\n-3\t4\n", "", nil, "2 x 2 i64 []", "1 2 -3 4"},
	{"semicolons", "1;2\n3;4\n", "", nil, "2 x 2 i64 []", "1 2 3 4"},
	{"header", "a,b\n1,2\n3,4.5\n", "", nil, "2 x 2 f64 [a b] [i64 f64]", "1 2 3 4.5"},
	{"quoted header", "\"a,\"\"b\"\"\",b\n1,2\n", "", nil, `1 x 2 i64 [a,"b" b]`, "1 2"},
	{"quoted numbers", "\"1\",2\n3,\"4\" \n", "", nil, "2 x 2 i64 []", "1 2 3 4"},
	{"header with another separator in it", "a;b,c\n1,2\n", "", nil, "1 x 2 i64 [a;b c]", "1 2"},
	{"header only", "a,b\n", "", nil, "0 x 2 f64 [a b]", ""},
	{"nothing", "", "", nil, "0 x 0 f64 []", ""},
	{"beyond i64", "1,18446744073709551615\n", "", nil, "1 x 2 u64 []", "1 18446744073709551615"},
	{"beyond u64", "1,18446744073709551616\n", "", nil, "1 x 2 f64 []", "1 1.8446744073709552e+19"},
	{"i64 and u64", "-1,18446744073709551615\n", "", nil, "1 x 2 f64 [] [i64 u64]", "-1 18446744073709551615"},
	{"special", "nan,inf,-inf,+Infinity,NaN,-0.0\n", "", nil, "1 x 6 f64 []", "NaN +Inf -Inf +Inf NaN -0"},
	{"empty as nan", "1,\n,2\n", "", map[string]string{"empty": "nan"}, "2 x 2 f64 []", "1 NaN NaN 2"},
	{"empty as zero", "1,\n,2\n", "", map[string]string{"empty": "0"}, "2 x 2 i64 []", "1 0 0 2"},
	{"type", "1,2\n", "", map[string]string{"type": "f32"}, "1 x 2 f32 []", "1 2"},
	{"truth values", "true,0\n1,FALSE\n", "", map[string]string{"type": "bool"}, "2 x 2 bool []", "1 0 1 0"},
	{"header of numbers", "1,2\n3,4\n", "", map[string]string{"header": "true"}, "1 x 2 i64 [1 2]", "3 4"},
	{"many blank lines", strings.Repeat("\n", 3<<20) + "a,b\n1,2\n", "", nil, "1 x 2 i64 [a b]", "1 2"},
	{"sidecar", "1,2\n3,4\n", meta2x2, nil, "2 x 2 f64 []", "1 2 3 4"},
	{"sidecar left out", "1,2\n3,4\n", meta2x2, map[string]string{"meta": "false"}, "2 x 2 i64 []", "1 2 3 4"},
	{"sidecar with more keys", "1,2\n3,4\n", `{"hdfs":{"isHDFS":false},"numCols":2,"numRows":2,"valueType":"si8","numNonZeros":-1}`, nil,
		"2 x 2 i8 []", "1 2 3 4"},
	{"schema", "1,2\n3,4\n", `{"numCols":2,"numRows":2,"schema":[{"label":"x","valueType":"ui8"},{"label":"y","valueType":"f32"}]}`, nil,
		"2 x 2 f64 [x y] [u8 f32]", "1 2 3 4"},
	{"schema with a common type", "1,2\n", `{"numCols":2,"numRows":1,"schema":[{"label":"x","valueType":""},{"label":"y","valueType":""}],"valueType":"si64"}`,
		nil, "1 x 2 i64 [x y]", "1 2"},
	{"schema without labels", "1,2\n", `{"numCols":2,"numRows":1,"schema":[{"valueType":"si32"},{"valueType":"si32"}]}`, nil, "1 x 2 i32 []", "1 2"},
	{"header of numbers and text", "p,2\n3,4\n", "", map[string]string{"header": "true"}, "1 x 2 i64 [p 2]", "3 4"},
	{"sidecar and header of numbers and text", "p,2\n1,2\n3,4\n", meta2x2, nil, "2 x 2 f64 [p 2]", "1 2 3 4"},
	{"empty label", ",b\n1,2\n", "", nil, "1 x 2 i64 [ b]", "1 2"},
	{"sidecar and header", "p,q\n1,2\n3,4\n", meta2x2, nil, "2 x 2 f64 [p q]", "1 2 3 4"},
}

func describe(m matrix.Meta) string {
	s := fmt.Sprintf("%d x %d %v %v", m.Rows, m.Cols, m.DType, m.Labels)
	if m.ColTypes != nil {
		s += fmt.Sprintf(" %v", m.ColTypes)
	}
	return s
}

func files(text, meta string) map[string]string {
	all := map[string]string{"d/a.csv": text}
	if meta != "" {
		all["d/a.csv.meta"] = meta
	}
	return all
}

func TestRead(t *testing.T) {
	for _, c := range readable {
		t.Run(c.what, func(t *testing.T) {
			m, cells, err := load(bucketOf(t, files(c.text, c.meta)), "d/a.csv", c.set)
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(m); got != c.want || strings.Join(cells, " ") != c.cells {
				t.Errorf("%s: %v, want %s: %s", got, cells, c.want, c.cells)
			}
		})
	}
}

var refused = []struct {
	what, text, meta string
	set              map[string]string
	want             string
	is               error
}{
	{"text", "1,2\n3,x\n", "", nil, `line 2, column 2: cell "x", want a number: text is not supported`, format.ErrCorrupt},
	{"header or row", "1,x\n3,4\n", "", nil, `line 1: "1" and "x", want numbers, or labels that are none (the option header says which)`, format.ErrCorrupt},
	{"text in the first row", "1,x\n3,4\n", "", map[string]string{"header": "false"}, `line 1, column 2: cell "x", want a number`, format.ErrCorrupt},
	{"text below a label", "a,b\n1,2\nM,4\n", "", nil, `line 3, column 1: "a": cell "M"`, format.ErrCorrupt},
	{"too few", "1,2\n3\n", "", nil, "line 2: 1 cells, want 2", format.ErrCorrupt},
	{"too many", "1,2\n3,4,5\n", "", nil, "line 2: more than 2 cells", format.ErrCorrupt},
	{"empty", "1,2\n3,\n", "", map[string]string{"empty": "error"}, "line 2, column 2: an empty cell", format.ErrCorrupt},
	{"empty with .meta", "1,2\n3,\n", meta2x2, nil, "line 2, column 2: an empty cell, want a number", format.ErrCorrupt},
	{"empty, no nan", "1,2\n3,\n", "", map[string]string{"empty": "nan", "type": "i8"}, "cannot hold as nan", format.ErrCorrupt},
	{"out of range", "1,300\n", "", map[string]string{"type": "u8"}, `cell "300", want a whole number within u8`, format.ErrCorrupt},
	{"no whole number", "1,2.5\n", "", map[string]string{"type": "i8"}, `cell "2.5", want a whole number (i8)`, format.ErrCorrupt},
	{"beyond f64", "1,1e999\n", "", nil, `cell "1e999", want a number within f64`, format.ErrCorrupt},
	{"beyond f16", "1,1e6\n", "", map[string]string{"type": "f16"}, `cell "1e6", want a number within f16`, format.ErrCorrupt},
	{"negative u64", "1,-1\n", "", map[string]string{"type": "u64"}, "within u64", format.ErrCorrupt},
	{"open quote", "1,\"2\n", "", nil, "a quote that does not end in its line", format.ErrCorrupt},
	{"text behind a quote", "1,\"2\"x\n", "", nil, "text behind the closing quote", format.ErrCorrupt},
	{"zero bytes", "1,2\n\x00,3\n", "", nil, "line 2, column 1", format.ErrCorrupt},
	{"rows missing", "1,2\n", meta2x2, nil, "the file ends after 1 rows, want 2", format.ErrCorrupt},
	{"rows too many", "1,2\n3,4\n5,6\n", meta2x2, nil, "more than 2 rows", format.ErrCorrupt},
	{"columns", "1,2,3\n3,4,5\n", meta2x2, nil, "3 cells, want 2 as .meta says", format.ErrCorrupt},
	{"no JSON", "1,2\n", `2;2;1;f64`, nil, "a.csv.meta: not as DAPHNE writes it", format.ErrCorrupt},
	{"no size", "1,2\n", `{"valueType":"f64","numCols":2}`, nil, "no numRows", format.ErrCorrupt},
	{"negative size", "1,2\n", `{"valueType":"f64","numCols":2,"numRows":-1}`, nil, "want none below 0", format.ErrCorrupt},
	{"many rows", "1,2\n", `{"valueType":"f64","numCols":2,"numRows":1000000000000000000}`, nil, "ends after 1 rows", format.ErrCorrupt},
	{"many columns", "1,2\n", `{"valueType":"f64","numCols":1000000000000000000,"numRows":1}`, nil, "2 cells, want 1000000000000000000", format.ErrCorrupt},
	{"text column", "1,b\n", `{"numCols":2,"numRows":1,"schema":[{"label":"x","valueType":"ui8"},{"label":"y","valueType":"str"}]}`, nil,
		`column 2 ("y"): valueType str, want numbers`, format.ErrVersion},
	{"unknown type", "1,2\n", `{"valueType":"f17","numCols":2,"numRows":1}`, nil, `valueType "f17"`, format.ErrCorrupt},
	{"short schema", "1,2\n", `{"numCols":2,"numRows":1,"schema":[{"label":"x","valueType":"ui8"}]}`, nil, "schema of 1 columns, want 2", format.ErrCorrupt},
	{"cut behind our own writer", "1,2\n3,4", `{"numCols":2,"numRows":2,"thole":{},"valueType":"f64"}`, nil, "the last line has no end", format.ErrCorrupt},
	{"cells without columns", "1\n", `{"numCols":0,"numRows":2,"valueType":"f64"}`, nil, "1 cells, want 0", format.ErrCorrupt},
	{"cells without columns behind blank lines", "\n\n1\n\n\n", `{"numCols":0,"numRows":0,"valueType":"f64"}`, nil,
		"line 3: 1 cells, want 0 as .meta says", format.ErrCorrupt},
	{"many columns behind many blank lines", strings.Repeat("\n", 3<<20) + "1,2\n", `{"valueType":"f64","numCols":1000000000000000000,"numRows":1}`, nil,
		"line 3145729: 2 cells, want 1000000000000000000", format.ErrCorrupt},
	{"option", "1,2\n", "", map[string]string{"separator": "x"}, "option separator", format.ErrOption},
	{"type option", "1,2\n", "", map[string]string{"type": "text"}, "option type", format.ErrOption},
}

func TestRefused(t *testing.T) {
	for _, c := range refused {
		t.Run(c.what, func(t *testing.T) {
			_, cells, err := load(bucketOf(t, files(c.text, c.meta)), "d/a.csv", c.set)
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.is) {
				t.Errorf("%v, %v, want %q", cells, err, c.want)
			}
		})
	}
}

// TestParts reads every range of rows and columns of a file of several pieces, opened anew and not.
func TestParts(t *testing.T) {
	var text strings.Builder
	const rows = 300_000
	for i := range rows {
		fmt.Fprintf(&text, "%d,%d\n", i, 2*i)
		if i%1000 == 0 {
			text.WriteString("\n")
		}
	}
	for _, meta := range []string{"", fmt.Sprintf(`{"numCols":2,"numRows":%d,"valueType":"si64"}`, rows)} {
		b := bucketOf(t, files(text.String(), meta))
		r, err := Codec.Open(context.Background(), b, "d/a.csv", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []matrix.Rect{matrix.At(299_990, rows, 0, 2), matrix.At(5, 7, 1, 2), matrix.At(150_000, 150_003, 0, 1),
			matrix.At(0, 1, 0, 2), matrix.At(9, 9, 0, 2), matrix.At(100_000, 280_000, 0, 1)} {
			cells, err := part(r, want)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for i := want.Rows.Lo; i < want.Rows.Hi; i++ {
				for c := want.Cols.Lo; c < want.Cols.Hi; c++ {
					all = append(all, fmt.Sprint(i*(c+1)))
				}
			}
			if !slices.Equal(cells, all) {
				t.Errorf("%v: %d cells that differ from the %d written", want, len(cells), len(all))
			}
		}
		r.Close()
	}
}

// TestErrorLine counts the lines of earlier pieces too.
func TestErrorLine(t *testing.T) {
	text := strings.Repeat("1,2\n", 400_000) + "3,x\n"
	for _, want := range []matrix.Rect{matrix.At(0, 400_001, 0, 2), matrix.At(399_999, 400_001, 0, 2)} {
		b := bucketOf(t, files(text, `{"numCols":2,"numRows":400001,"valueType":"si64"}`))
		r, err := Codec.Open(context.Background(), b, "d/a.csv", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = part(r, want)
		if err == nil || !strings.Contains(err.Error(), "at byte 1600002: line 400001, column 2") {
			t.Errorf("%v", err)
		}
		r.Close()
	}
}

// TestRoundTrip writes frames and matrices of any type in every dialect and reads the same cells, types and labels.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(matrix.DTypes()).Draw(t, "type")
		m := matrix.Meta{Name: "a", Rows: rapid.Int64Range(0, 9).Draw(t, "rows"), Cols: rapid.Int64Range(1, 9).Draw(t, "cols"), DType: d}
		if rapid.Bool().Draw(t, "frame") {
			m.Labels = rapid.SliceOfN(rapid.StringMatching(`[a-z ,;"\t0-9.]{1,5}x`), int(m.Cols), int(m.Cols)).Draw(t, "labels")
			if rapid.Bool().Draw(t, "mixed") && m.Cols > 1 {
				m.ColTypes = rapid.SliceOfN(rapid.SampledFrom(matrix.DTypes()), int(m.Cols), int(m.Cols)).Draw(t, "types")
				m.ColTypes[0], m.ColTypes[1], m.DType = matrix.I8, matrix.F32, matrix.F64
			}
		}
		n, _ := m.Rect().Cells()
		val := rapid.SliceOfN(rapid.Float64(), int(n), int(n)).Draw(t, "values")
		blk, _ := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float64]{Val: val}}.Cast(m.DType)
		if m.DType == matrix.F64 && m.ColTypes != nil {
			for i := range val {
				val[i] = float64(int8(i)) // which every type but bool holds
			}
		}
		set := map[string]string{
			"separator": rapid.SampledFrom([]string{"auto", "comma", "tab", "semicolon"}).Draw(t, "separator"),
			"header":    rapid.SampledFrom([]string{"auto", "true", "false"}).Draw(t, "header"),
		}
		b := &blob.Mem{}
		if err := store(b, "a.csv", m, blk, set); err != nil {
			t.Fatal(err)
		}
		got, cells, err := load(b, "a.csv", nil)
		if err != nil {
			t.Fatal(err)
		}
		if describe(got) != describe(m) {
			t.Fatalf("read %s, want %s", describe(got), describe(m))
		}
		var want []string
		for i := range cells {
			at := matrix.At(int64(i)/m.Cols, int64(i)/m.Cols+1, int64(i)%m.Cols, int64(i)%m.Cols+1)
			one, _ := blk.Cut(at).Cast(m.ColType(at.Cols.Lo))
			_ = one.EachText(func(_, _ int64, v []byte) error { want = append(want, string(v)); return nil })
		}
		if !slices.Equal(cells, want) {
			t.Fatalf("read %v, want %v", cells, want)
		}
	})
}

// TestOptions are what is written with the options of the codec.
func TestOptions(t *testing.T) {
	m := matrix.Meta{Name: "a", Rows: 2, Cols: 2, DType: matrix.F64, Labels: []string{"x", "y,z"}}
	blk := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float64]{Val: []float64{1, 0.1, -2.5e-300, 1e21}}}
	for _, c := range []struct {
		file       string
		set        map[string]string
		text, meta string
	}{
		{"a.csv", nil, "1,0.1\n-2.5e-300,1e+21\n",
			`{"numCols":2,"numRows":2,"schema":[{"label":"x","valueType":"f64"},{"label":"y,z","valueType":"f64"}],"thole":{}}` + "\n"},
		{"a.tsv", map[string]string{"meta": "false"}, "x\t\"y,z\"\n1\t0.1\n-2.5e-300\t1e+21\n", ""},
		{"a.csv", map[string]string{"meta": "false", "header": "false", "separator": "semicolon"}, "1;0.1\n-2.5e-300;1e+21\n", ""},
	} {
		b := bucketOf(t, map[string]string{c.file + ".meta": "of an older file"})
		if err := store(b, c.file, m, blk, c.set); err != nil {
			t.Fatal(err)
		}
		text, _ := blob.ReadAll(context.Background(), b, c.file, 1000)
		meta, _ := blob.ReadAll(context.Background(), b, c.file+".meta", 1000)
		if string(text) != c.text || string(meta) != c.meta {
			t.Errorf("%v: %q and %q, want %q and %q", c.set, text, meta, c.text, c.meta)
		}
	}
}

// TestLosses are what is refused unless it is allowed.
func TestLosses(t *testing.T) {
	plain := matrix.Meta{Name: "a", Rows: 2, Cols: 2, DType: matrix.F64}
	for what, change := range map[string]func(m *matrix.Meta, set map[string]string){
		"sparse":         func(m *matrix.Meta, _ map[string]string) { m.Layout = matrix.RowSparse },
		"rows":           func(m *matrix.Meta, _ map[string]string) { m.Saved = []matrix.Range{{Lo: 0, Hi: 1}} },
		"columns":        func(m *matrix.Meta, _ map[string]string) { m.ColLo = 5 },
		"line ends":      func(m *matrix.Meta, s map[string]string) { m.Labels, s["header"] = []string{"a\nb", "c"}, "true" },
		"numeric labels": func(m *matrix.Meta, s map[string]string) { m.Labels, s["meta"] = []string{"1", "2"}, "false" },
		"mixed labels":   func(m *matrix.Meta, s map[string]string) { m.Labels, s["meta"] = []string{"a", "2"}, "false" },
		"not UTF-8":      func(m *matrix.Meta, _ map[string]string) { m.Labels = []string{"\xff", "c"} },
		"sequences":      func(m *matrix.Meta, _ map[string]string) { m.LoD = [][]int64{{0, 2}} },
	} {
		m, set := plain, map[string]string{}
		change(&m, set)
		o := format.Options{Set: set}
		if _, err := Codec.Create(context.Background(), &blob.Mem{}, "a.csv", []matrix.Meta{m}, o); !errors.Is(err, format.ErrLossy) {
			t.Errorf("%s: %v, want ErrLossy", what, err)
		}
		said := ""
		o.Lossy, o.Lost = true, func(what string) { said += what }
		w, err := Codec.Create(context.Background(), &blob.Mem{}, "a.csv", []matrix.Meta{m}, o)
		if err != nil || said == "" {
			t.Errorf("%s: allowed: %v, said %q", what, err, said)
			continue
		}
		w.Abort(context.Background())
	}
}

// TestSniff tells tables from other text.
func TestSniff(t *testing.T) {
	for _, c := range []struct {
		file, text string
		want       bool
	}{
		{"a.csv", "1\n", true}, {"a.CSV", "x\n", true}, {"a.tsv", "", true}, {"a.csv", "\x01\x02", false}, {"a.csv", "\"x", true},
		{"a.txt", "1,2\n3,4\n", true}, {"a.txt", "a,b\n3,4\n", true}, {"a.txt", "1\n2\n", false}, {"a.txt", "1,2\n3\n", false},
		{"a.txt", "Dear sir, madam\nI write, with joy\n", false}, {"a.txt", "1 1:2 2:3\n", false}, {"a", "", false},
		{"a.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", false}, {"a.json", "{\"a\":1,\n\"b\":2}", false},
	} {
		dialect, err := Codec.Sniff(context.Background(), bucketOf(t, map[string]string{c.file: c.text}), c.file)
		if err != nil || (dialect != "") != c.want {
			t.Errorf("%s with %q: %q, %v, want %v", c.file, c.text, dialect, err, c.want)
		}
	}
}

// TestFolder keeps the sidecars of a folder of tables apart from the files beside them.
func TestFolder(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	ms := []matrix.Meta{{Name: "x", Rows: 1, Cols: 1, DType: matrix.I8}, {Name: "y", Rows: 1, Cols: 1, DType: matrix.F32}}
	o := format.Options{Files: map[string][]byte{"graph.json": []byte("{}")}}
	w, err := Codec.Create(ctx, b, "d", ms, o)
	if err != nil {
		t.Fatal(err)
	}
	var parts []format.Part
	for _, m := range ms {
		p, err := w.Put(ctx, m.Name, matrix.NewDense(m.DType, m.Rect()))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	if err := w.Commit(ctx, parts); err != nil {
		t.Fatal(err)
	}
	r, err := Codec.Open(ctx, b, "d", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := r.Matrices(); len(got) != 2 || got[0].DType != matrix.I8 || got[1].DType != matrix.F32 || len(r.Files()) != 1 {
		t.Errorf("%v and %v", got, r.Files())
	}
}

// TestDocument decodes the example of the page.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/csv.md")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	b := bucketOf(t, map[string]string{"a.csv": "0.5,1\n-2,nan\n1e-07,3\n",
		"a.csv.meta": `{"numCols":2,"numRows":3,"schema":[{"label":"x","valueType":"f64"},{"label":"y","valueType":"f32"}]}`})
	if err := Codec.Explain(context.Background(), b, "a.csv", dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```dump\n"+out.String()+"```\n") {
		t.Errorf("docs/format/csv.md does not have\n%s", out.String())
	}
}

// TestQuotedSeparators finds the separator of a header whose labels hold the others.
func TestQuotedSeparators(t *testing.T) {
	for _, text := range []string{"\"\tx\",\"\tx\"\n", "\";x\",\";x\"\n", "\",x\"\t\",x\"\n", "\"\tx\" ; \"\tx\" \n"} {
		m, _, err := load(bucketOf(t, files(text, "")), "d/a.csv", map[string]string{"header": "true"})
		if err != nil || m.Cols != 2 {
			t.Errorf("%q: %d columns, want 2: %v", text, m.Cols, err)
		}
	}
}

// TestUnsaid is what is told to be left out where there is no sidecar.
func TestUnsaid(t *testing.T) {
	ctx := context.Background()
	for what, c := range map[string]struct {
		m    matrix.Meta
		set  map[string]string
		want string
	}{
		"types":  {matrix.Meta{Rows: 2, Cols: 1}, nil, "element types, without"},
		"shape":  {matrix.Meta{Rows: 2, Cols: 4, Dims: []int64{2, 2, 2}}, nil, "element types, the shape [2 2 2], without"},
		"size":   {matrix.Meta{Rows: 0, Cols: 4}, nil, "element types, the size 0 x 4, without"},
		"labels": {matrix.Meta{Rows: 2, Cols: 1, Labels: []string{"a"}}, map[string]string{"header": "false"}, "element types, names of columns, without"},
		"header": {matrix.Meta{Rows: 2, Cols: 1, Labels: []string{"a"}}, nil, "element types, without"},
	} {
		c.m.Name, c.m.DType = "a", matrix.F32
		lost := ""
		o := format.Options{Set: map[string]string{"meta": "false"}, Lost: func(s string) { lost += s }}
		for k, v := range c.set {
			o.Set[k] = v
		}
		w, err := Codec.Create(ctx, &blob.Mem{}, "a.csv", []matrix.Meta{c.m}, o)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		w.Abort(ctx)
		if !strings.Contains(lost, c.want) {
			t.Errorf("%s: told %q, want %q", what, lost, c.want)
		}
	}
}
