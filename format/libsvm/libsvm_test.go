package libsvm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/data"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/format/formattest"
	"thole.example/matrix"
)

type fataler interface {
	Helper()
	Fatal(...any)
}

// bucketOf holds a file with its sidecar, if that is not empty.
func bucketOf(t fataler, text, meta string) *blob.Mem {
	t.Helper()
	b := &blob.Mem{}
	err := blob.WriteAll(context.Background(), b, "d/a.libsvm", []byte(text))
	if err == nil && meta != "" {
		err = blob.WriteAll(context.Background(), b, "d/a.libsvm.meta", []byte(meta))
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// load describes every matrix with its stored cells.
func load(b blob.Bucket, set map[string]string) (string, error) {
	ctx := context.Background()
	r, err := Codec.Open(ctx, b, "d/a.libsvm", format.Options{Set: set})
	if err != nil {
		return "", err
	}
	defer r.Close()
	var all []string
	for _, m := range r.Matrices() {
		text := fmt.Sprintf("%s %dx%d %v %v", m.Name, m.Rows, m.Cols, m.DType, m.Layout)
		cells, err := part(r, m.Name, m.Rect())
		if err != nil {
			return "", err
		}
		all = append(all, text+cells)
	}
	return strings.Join(all, "; "), nil
}

func part(r format.Reader, name string, want matrix.Rect) (string, error) {
	text := ""
	for blk, err := range r.Blocks(context.Background(), name, want) {
		if err == nil {
			err = blk.Check()
		}
		if err != nil {
			return "", err
		}
		_ = blk.EachText(func(row, col int64, v []byte) error {
			text += fmt.Sprintf(" %d,%d=%s", row, col, v)
			return nil
		})
	}
	return text, nil
}

var readable = []struct {
	what, text, meta string
	set              map[string]string
	want             string
}{
	{"labels", "1 1:0.5 3:2\n-1\n+1 2:1e-3\n", "", nil,
		"labels 3x1 f64 dense 0,0=1 1,0=-1 2,0=1; features 3x3 f64 sparse 0,0=0.5 0,2=2 2,1=0.001"},
	{"no labels", "1:0.5 3:2\n2:1\n", "", nil, "a 2x3 f64 sparse 0,0=0.5 0,2=2 1,1=1"},
	{"CR LF, blanks, comments, no line end", "# head\r\n\r\n 1\t1:1 # x\r\n  \n0 2:2", "", nil,
		"labels 2x1 f64 dense 0,0=1 1,0=0; features 2x2 f64 sparse 0,0=1 1,1=2"},
	{"byte order mark", "\ufeff1 1:1\n", "", nil, "labels 1x1 f64 dense 0,0=1; features 1x1 f64 sparse 0,0=1"},
	{"out of order", "1 5:5 2:2 3:3\n", "", nil, "labels 1x1 f64 dense 0,0=1; features 1x5 f64 sparse 0,1=2 0,2=3 0,4=5"},
	{"qid", "1 qid:7 1:1\n", "", nil, "labels 1x1 f64 dense 0,0=1; features 1x1 f64 sparse 0,0=1"},
	{"base and type", "1 0:1\n", "", map[string]string{"base": "0", "type": "i8"}, "labels 1x1 i8 dense 0,0=1; features 1x1 i8 sparse 0,0=1"},
	{"special", "nan 1:inf 2:-Inf 9223372036854775807:-0\n", "", nil,
		"labels 1x1 f64 dense 0,0=NaN; features 1x9223372036854775807 f64 sparse 0,0=+Inf 0,1=-Inf 0,9223372036854775806=-0"},
	{"nothing", "", "", nil, "labels 0x1 f64 dense; features 0x0 f64 sparse"},
	{"sidecar of others", "1 1:1\n", `{"numCols":9,"numRows":1,"valueType":"f32"}`, nil,
		"labels 1x1 f32 dense 0,0=1; features 1x9 f32 sparse 0,0=1"},
	{"own sidecar", "2 0:1\n", `{"numCols":9,"numRows":1,"thole":{"labels":"u8","names":["y","x"],"zero":true},"valueType":"f32"}`, nil,
		"y 1x1 u8 dense 0,0=2; x 1x9 f32 sparse 0,0=1"},
	{"labels of nobody", "0 1:1\n", `{"numCols":9,"numRows":1,"thole":{"dtype":"bf16"},"valueType":"f32"}`, nil, "a 1x9 bf16 sparse 0,0=1"},
	{"sidecar left out", "0 1:1\n", `x`, map[string]string{"meta": "false"}, "labels 1x1 f64 dense 0,0=0; features 1x1 f64 sparse 0,0=1"},
}

func TestRead(t *testing.T) {
	for _, c := range readable {
		t.Run(c.what, func(t *testing.T) {
			got, err := load(bucketOf(t, c.text, c.meta), c.set)
			if err != nil || got != c.want {
				t.Errorf("%s, %v, want %s", got, err, c.want)
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
	{"label", "1 1:1\nx 1:1\n", "", nil, `line 2: label "x", want one number within f64`, format.ErrCorrupt},
	{"several labels", "1 1:1\n1,2 1:1\n", "", nil, `label "1,2", want one number`, format.ErrCorrupt},
	{"no label", "1 1:1\n1:1\n", "", nil, `label "1:1", want a number, as in the first line`, format.ErrCorrupt},
	{"index 0", "1 0:1\n", "", nil, "index 0 in a file that counts from 1", format.ErrCorrupt},
	{"large index", "1 9223372036854775808:1\n", "", nil, "index \"9223372036854775808\", want 1 to", format.ErrCorrupt},
	{"huge index", "1 99999999999999999999:1\n", "", nil, "want 1 to", format.ErrCorrupt},
	{"index beyond the sidecar", "1 3:1\n", `{"numCols":2,"numRows":1,"valueType":"f32"}`, nil, "want 1 to 2 for 2 columns", format.ErrCorrupt},
	{"twice", "1 2:1 1:1 2:1\n", "", nil, "index 2 twice", format.ErrCorrupt},
	{"value", "1 2:x\n", "", nil, `value "x" of index 2`, format.ErrCorrupt},
	{"no value", "1 2: 3:1\n", "", nil, `value "" of index 2`, format.ErrCorrupt},
	{"field", "1 2:3:4\n", "", nil, `value "3:4" of index 2`, format.ErrCorrupt},
	{"feature", "1 2\n", "", nil, `feature "2", want index:value`, format.ErrCorrupt},
	{"sign of an index", "1 -2:1\n", "", nil, `feature "-2:1"`, format.ErrCorrupt},
	{"carriage return", "1 2:1\r3:1\n", "", nil, `feature "", want index:value`, format.ErrCorrupt},
	{"type", "1 2:300\n", "", map[string]string{"type": "u8"}, `value "300" of index 2, want a number within u8`, format.ErrCorrupt},
	{"fewer rows", "1 1:1\n", `{"numCols":2,"numRows":2,"valueType":"f32"}`, nil, "the file ends after 1 rows, want 2", format.ErrCorrupt},
	{"more rows", "1 1:1\n1\n", `{"numCols":2,"numRows":1,"valueType":"f32"}`, nil, "more than 1 rows", format.ErrCorrupt},
	{"fewer values", "1 1:1\n", `{"numCols":2,"numNonZeros":2,"numRows":1,"valueType":"f32"}`, nil, "1 values, want 2", format.ErrCorrupt},
	{"cut off", "1 1:1", `{"numCols":2,"numRows":1,"thole":{},"valueType":"f32"}`, nil, "the last line has no end", format.ErrCorrupt},
	{"labels that are not there", "1:1\n", `{"numCols":2,"numRows":1,"thole":{"labels":"f32"},"valueType":"f32"}`, nil, "the lines have none", format.ErrCorrupt},
	{"schema", "1 1:1\n", `{"numCols":1,"numRows":1,"schema":[{"label":"x","valueType":"f32"}]}`, nil, "want one valueType", format.ErrCorrupt},
	{"base", "", "", map[string]string{"base": "2"}, "option base", format.ErrOption},
}

func TestRefused(t *testing.T) {
	for _, c := range refused {
		t.Run(c.what, func(t *testing.T) {
			got, err := load(bucketOf(t, c.text, c.meta), c.set)
			if err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.is) {
				t.Errorf("%s, %v, want %q", got, err, c.want)
			}
		})
	}
}

// TestRoundTrip writes labels and features of any types, in any order of blocks, and reads the same.
func TestRoundTrip(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		types := rapid.SampledFrom(matrix.DTypes())
		rows, cols := rapid.Int64Range(0, 8).Draw(t, "rows"), rapid.Int64Range(0, 12).Draw(t, "cols")
		y := matrix.Meta{Name: "y", Rows: rows, Cols: 1, DType: types.Draw(t, "label type")}
		x := matrix.Meta{Name: "x", Rows: rows, Cols: cols, DType: types.Draw(t, "type"), Layout: matrix.RowSparse}
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		random := func(m matrix.Meta) matrix.Block {
			b := matrix.NewDense(matrix.F64, m.Rect())
			for i := range b.Data.(*matrix.Dense[float64]).Val {
				b.Data.(*matrix.Dense[float64]).Val[i] = rnd.NormFloat64() * 100
			}
			b, _ = b.Cast(m.DType)
			return b
		}
		labels := random(y)
		features := random(x).Pick(func(int64) bool { return rnd.IntN(2) == 0 })
		puts := []struct {
			name string
			b    matrix.Block
		}{{"y", labels}, {"x", features}}
		rnd.Shuffle(2, func(i, k int) { puts[i], puts[k] = puts[k], puts[i] })
		b := &blob.Mem{}
		set := map[string]string{"base": rapid.SampledFrom([]string{"auto", "0", "1"}).Draw(t, "base")}
		w, err := Codec.Create(ctx, b, "d/a.libsvm", []matrix.Meta{x, y}, format.Options{Set: set})
		if err != nil {
			t.Fatal(err)
		}
		var parts []format.Part
		for _, p := range puts {
			part, err := w.Put(ctx, p.name, p.b)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, part)
		}
		if err := w.Commit(ctx, parts); err != nil {
			t.Fatal(err)
		}
		r, err := Codec.Open(ctx, b, "d/a.libsvm", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for i, m := range []matrix.Meta{y, x} {
			if got := r.Matrices()[i]; got.Name != m.Name || got.Rows != m.Rows || got.Cols != m.Cols || got.DType != m.DType {
				t.Fatalf("read %+v, want %+v", got, m)
			}
			want := []matrix.Block{labels, features}[i]
			text := ""
			_ = want.EachText(func(row, col int64, v []byte) error {
				text += fmt.Sprintf(" %d,%d=%s", row, col, v)
				return nil
			})
			if got, err := part(r, m.Name, m.Rect()); err != nil || got != text {
				t.Fatalf("%s: read %s, %v, want %s", m.Name, got, err, text)
			}
		}
	})
}

// TestLikeData reads golden files, and example files where they are there, as package data does.
func TestLikeData(t *testing.T) {
	const examples = "../../../shared/data/"
	files := []string{examples + "a9a/a9a_123d_train.libsvm", examples + "abalone/abalone_8d_train.libsvm", examples + "agaricus/agaricus_127d_test.libsvm"}
	for _, g := range formattest.Goldens(t, "testdata/golden/*.txtar") {
		if g.Options != nil {
			continue // indices from 0 on
		}
		file := filepath.Join(t.TempDir(), g.Path)
		if err := os.WriteFile(file, g.Files[g.Path], 0o666); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			continue
		}
		want, err := data.LoadFile(context.Background(), file, data.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, name, err := blob.Local(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Codec.Open(context.Background(), b, name, format.Options{Set: map[string]string{"type": "f32"}})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		var label, val []float32
		var idx []int64
		for blk, err := range r.Blocks(context.Background(), "labels", r.Matrices()[0].Rect()) {
			if err != nil {
				t.Fatal(err)
			}
			label = append(label, blk.Data.(*matrix.Dense[float32]).Val...)
		}
		for blk, err := range r.Blocks(context.Background(), "features", r.Matrices()[1].Rect()) {
			if err != nil {
				t.Fatal(err)
			}
			val = append(val, blk.Data.(*matrix.CSR[float32]).Val...)
			idx = append(idx, blk.Data.(*matrix.CSR[float32]).Idx...)
		}
		if !slices.Equal(label, want.Label) || !slices.Equal(val, want.Rows().Val) || !slices.Equal(idx, want.Rows().Idx) {
			t.Errorf("%s: %d labels, %d values that differ from %d and %d", file, len(label), len(val), want.Len(), len(want.Rows().Val))
		}
	}
}

// TestParts reads rows from the middle of a file of several pieces.
func TestParts(t *testing.T) {
	var text strings.Builder
	const rows = 200_000
	for i := range rows {
		fmt.Fprintf(&text, "%d %d:%d\n", i, i%7+1, i)
		if i%1000 == 0 {
			text.WriteString("# a comment\n")
		}
	}
	for _, meta := range []string{"", fmt.Sprintf(`{"numCols":7,"numRows":%d,"valueType":"si64"}`, rows)} {
		r, err := Codec.Open(context.Background(), bucketOf(t, text.String(), meta), "d/a.libsvm", format.Options{Set: map[string]string{"type": "i64"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, lo := range []int64{150_000, 3, rows - 2, 80_000} {
			got, err := part(r, "labels", matrix.At(lo, lo+2, 0, 1))
			if want := fmt.Sprintf(" %d,0=%d %d,0=%d", lo, lo, lo+1, lo+1); err != nil || got != want {
				t.Errorf("labels %q, %v, want %q", got, err, want)
			}
			got, err = part(r, "features", matrix.At(lo, lo+1, lo%7, lo%7+1))
			if want := fmt.Sprintf(" %d,%d=%d", lo, lo%7, lo); err != nil || got != want {
				t.Errorf("features %q, %v, want %q", got, err, want)
			}
		}
		r.Close()
	}
}

// TestCreate are the matrices that a file can and cannot hold.
func TestCreate(t *testing.T) {
	y := matrix.Meta{Name: "y", Rows: 2, Cols: 1, DType: matrix.F32}
	x := matrix.Meta{Name: "x", Rows: 2, Cols: 3, DType: matrix.F32, Layout: matrix.RowSparse}
	dense, longer, shifted, below := x, x, x, x
	dense.Layout, longer.Rows, shifted.ColLo, below.ColLo = matrix.RowDense, 3, 5, -1
	for what, c := range map[string]struct {
		ms []matrix.Meta
		is error
	}{
		"features": {[]matrix.Meta{x}, nil}, "both": {[]matrix.Meta{y, x}, nil}, "dense": {[]matrix.Meta{y, dense}, format.ErrLossy},
		"no labels": {[]matrix.Meta{x, dense}, format.ErrLimit}, "three": {[]matrix.Meta{y, x, x}, format.ErrLimit}, "none": {nil, format.ErrLimit},
		"shifted": {[]matrix.Meta{shifted}, format.ErrLossy}, "below": {[]matrix.Meta{below}, format.ErrLimit},
	} {
		w, err := Codec.Create(context.Background(), &blob.Mem{}, "a", c.ms, format.Options{})
		if !errors.Is(err, c.is) || (err == nil) != (c.is == nil) {
			t.Errorf("%s: %v, want %v", what, err, c.is)
		}
		if err == nil {
			w.Abort(context.Background())
		}
	}
	if _, err := Codec.Create(context.Background(), &blob.Mem{}, "a", []matrix.Meta{y, longer}, format.Options{}); err == nil {
		t.Error("matrices of different rows: no error")
	}
}

// TestSniff tells examples from other text.
func TestSniff(t *testing.T) {
	for _, c := range []struct {
		file, text string
		want       bool
	}{
		{"a.libsvm", "1\n", true}, {"a.SVM", "x\n", true}, {"a.libsvm", "", true}, {"a.svm", "\x01", false}, {"a", "1 1:2\n0\n", true},
		{"a", "1:2 3:4\n", true}, {"a", "1\n2\n", false}, {"a", "1 2:3:4\n", false}, {"a", "", false}, {"a", "key: value\n", false},
		{"a", "1 1:2 # c", true}, {"a.txt", "at 10:30 we met\n", false}, {"a", strings.Repeat("1 1:1 2:2\n", 20_000), true},
	} {
		b := &blob.Mem{}
		if err := blob.WriteAll(context.Background(), b, c.file, []byte(c.text)); err != nil {
			t.Fatal(err)
		}
		if dialect, err := Codec.Sniff(context.Background(), b, c.file); err != nil || (dialect != "") != c.want {
			t.Errorf("%s with %.30q: %q, %v, want %v", c.file, c.text, dialect, err, c.want)
		}
	}
}

// TestDocument holds the example of the page to what explain prints.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/libsvm.md")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	b := bucketOf(t, "1 1:0.5 3:2\n-1\n# a comment\n1 2:0.001\n",
		`{"numCols":4,"numNonZeros":3,"numRows":3,"thole":{"labels":"f32","names":["labels","features"]},"valueType":"f32"}`)
	if err := Codec.Explain(context.Background(), b, "d/a.libsvm", dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```dump\n"+out.String()+"```\n") {
		t.Errorf("docs/format/libsvm.md does not have\n%s", out.String())
	}
}
