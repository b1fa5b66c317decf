package daphne_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/daphne"
	"thole.example/format/formattest"
	"thole.example/matrix"
)

const goldenDir = "../../../shared/golden/daphne"

// golden is an entry of expected.json.
type golden struct {
	Dialect, DT, VT, Expect, SHA256 string
	Rows, Cols                      int64
	Cells                           []any
	Triplets                        [][3]any
	RowValues                       [][]any
	Labels, Schema                  []string
	file                            string
	data                            []byte
}

// goldens are the golden files of this package, and those of expected.json where they are there.
func goldens(t testing.TB) (all []golden) {
	t.Helper()
	for _, f := range formattest.Goldens(t, "testdata/golden/*.txtar") {
		all = append(all, entry(t, f))
	}
	if _, err := os.Stat(filepath.Join(goldenDir, "expected.json")); err == nil {
		all = append(all, written(t)...)
	}
	return all
}

// entry is a golden file as expected.json would list it.
func entry(t testing.TB, f *formattest.Golden) golden {
	t.Helper()
	r := f.Reader()
	m := r.Matrices()[0]
	g := golden{file: f.Name + ".dbdf", data: f.Files[f.Path], Rows: m.Rows, Cols: m.Cols, Dialect: "document"}
	g.DT = []string{"", "DenseMatrix", "CSRMatrix", "Frame"}[g.data[1]]
	for ending, dialect := range map[string]string{"_daphne": "daphne-main", "_0_1": "daphne-v0.1"} {
		if strings.HasSuffix(f.Name, ending) {
			g.Dialect = dialect
		}
	}
	for b, err := range r.Blocks(t.Context(), m.Name, m.Rect()) {
		if err != nil {
			t.Fatal(err)
		}
		_ = b.EachText(func(row, col int64, v []byte) error {
			at := func(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }
			g.Triplets = append(g.Triplets, [3]any{at(row), at(col), string(v)})
			return nil
		})
	}
	return g
}

// named is the golden file of this package of that name.
func named(t testing.TB, name string) []byte {
	t.Helper()
	return entry(t, formattest.Goldens(t, "testdata/golden/"+name+".txtar")[0]).data
}

// written are the files of expected.json, most of them written by DAPHNE; without them the test skips.
func written(t testing.TB) []golden {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(goldenDir, "expected.json"))
	if err != nil {
		t.Skip("no golden files of DAPHNE")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var all map[string]golden
	if err := dec.Decode(&all); err != nil {
		t.Fatal(err)
	}
	var found []golden
	for name, g := range all {
		g.file = name
		if g.data, err = os.ReadFile(filepath.Join(goldenDir, name)); err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(g.data); g.SHA256 != "" && g.SHA256 != hex.EncodeToString(sum[:]) {
			t.Fatalf("%s is not the file that expected.json describes", name)
		}
		found = append(found, g)
	}
	return found
}

// unread are the golden files whose content is not what expected.json says, with the reason.
var unread = map[string]string{
	"hybrid/csr_f64_empty_4x5.dbdf":   "a lone empty block stores no value type: code 7 reads as the document's i32",
	"hybrid/dense_f64_empty_2x3.dbdf": "a lone empty block stores no value type: code 7 reads as the document's i32",
}

var typeNames = map[string]matrix.DType{
	"ui8": matrix.U8, "ui16": matrix.U16, "ui32": matrix.U32, "ui64": matrix.U64,
	"si8": matrix.I8, "si16": matrix.I16, "si32": matrix.I32, "si64": matrix.I64, "f32": matrix.F32, "f64": matrix.F64,
}

// open puts the bytes into a bucket and opens them.
func open(t testing.TB, data []byte, set map[string]string) (format.Reader, error) {
	t.Helper()
	b := &blob.Mem{}
	if err := blob.WriteAll(t.Context(), b, "x.dbdf", data); err != nil {
		t.Fatal(err)
	}
	return daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{Set: set})
}

// stored are the printed values of all stored cells of a reader's only matrix; of a dense one every cell.
func stored(ctx context.Context, r format.Reader, want matrix.Rect) (map[[2]int64]string, error) {
	m := r.Matrices()[0]
	cells := map[[2]int64]string{}
	for b, err := range r.Blocks(ctx, m.Name, want) {
		if err != nil {
			return nil, err
		}
		if err := b.Check(); err != nil {
			return nil, err
		}
		if got := m.ColType(b.At.Cols.Lo); b.Data.DType() != got {
			return nil, fmt.Errorf("block of %v, want %v", b.Data.DType(), got)
		}
		if m.Layout == matrix.RowDense {
			b = b.ToDense()
		}
		if b.Data.DType() == matrix.F32 {
			b, _ = b.Cast(matrix.F64) // expected.json spells them so
		}
		err := b.EachText(func(r, c int64, v []byte) error {
			if _, twice := cells[[2]int64{r, c}]; twice {
				return fmt.Errorf("cell (%d,%d) twice", r, c)
			}
			cells[[2]int64{r, c}] = string(v)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return cells, nil
}

// expected are the cells that expected.json lists.
func (g golden) expected() map[[2]int64]any {
	cells := map[[2]int64]any{}
	for i, v := range g.Cells {
		cells[[2]int64{int64(i) / g.Cols, int64(i) % g.Cols}] = v
	}
	for _, tr := range g.Triplets {
		r, _ := tr[0].(json.Number).Int64()
		c, _ := tr[1].(json.Number).Int64()
		cells[[2]int64{r, c}] = tr[2]
	}
	for r, row := range g.RowValues {
		for c, v := range row {
			cells[[2]int64{int64(r), int64(c)}] = v
		}
	}
	return cells
}

// sameNumber compares a printed value with one of expected.json, exactly.
func sameNumber(got string, want any) bool {
	if s, ok := want.(string); ok {
		return got == s || got == strings.TrimPrefix(s, "+")
	}
	text := want.(json.Number).String()
	if text == "-0.0" || got == "-0" {
		return got == "-0" && text == "-0.0"
	}
	a, ok1 := new(big.Rat).SetString(got)
	b, ok2 := new(big.Rat).SetString(text)
	return ok1 && ok2 && a.Cmp(b) == 0
}

func TestGoldens(t *testing.T) {
	for _, g := range written(t) {
		if g.Rows == 0 && g.Cols == 0 && g.Cells == nil || strings.HasSuffix(g.file, ".bin") || g.Expect != "" {
			continue // pieces of a stream, scalars, and the hostile ones
		}
		t.Run(g.file, func(t *testing.T) {
			if why := unread[g.file]; why != "" {
				t.Skip(why)
			}
			checkGolden(t, g)
		})
	}
}

func checkGolden(t *testing.T, g golden) {
	r, err := open(t, g.data, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m := r.Matrices()[0]
	dialect := map[string]string{"daphne-main": "daphne", "daphne-v0.1": "daphne-0.1"}[g.Dialect]
	if dialect == "" {
		dialect = g.Dialect
	}
	note := r.Notes()[0]
	if same := dialect == "hybrid" && (g.DT == "Frame" || g.file == "hybrid/dense_f64_2x3.dbdf" ||
		g.file == "hybrid/csr_f64_denseblock_2x3.dbdf"); note != "layout "+dialect && !same {
		t.Errorf("%s, want layout %s", note, dialect)
	}
	layout := matrix.RowDense
	if g.DT == "CSRMatrix" {
		layout = matrix.RowSparse
	}
	if m.Name != "x" || m.Rows != g.Rows || m.Cols != g.Cols || m.Layout != layout {
		t.Errorf("%v %d x %d %v, want %d x %d %v", m.Name, m.Rows, m.Cols, m.Layout, g.Rows, g.Cols, layout)
	}
	if g.DT != "Frame" && m.DType != typeNames[g.VT] {
		t.Errorf("values of %v, want %v", m.DType, g.VT)
	}
	for i, s := range g.Schema {
		if m.ColTypes[i] != typeNames[s] {
			t.Errorf("column %d of %v, want %s", i, m.ColTypes[i], s)
		}
	}
	if g.Dialect == "hybrid" && fmt.Sprint(m.Labels) != fmt.Sprint(g.Labels) {
		t.Errorf("labels %q, want %q", m.Labels, g.Labels)
	}
	got, err := stored(t.Context(), r, m.Rect())
	if err != nil {
		t.Fatal(err)
	}
	want := g.expected()
	if len(got) != len(want) {
		t.Errorf("%d cells, want %d", len(got), len(want))
	}
	for cell, v := range want {
		if !sameNumber(got[cell], v) {
			t.Errorf("cell %v is %q, want %v", cell, got[cell], v)
		}
	}
}

func TestHostileGoldens(t *testing.T) {
	for _, g := range written(t) {
		if !strings.HasPrefix(g.file, "hostile/") {
			continue
		}
		r, err := open(t, g.data, nil)
		if err == nil {
			_, err = stored(t.Context(), r, r.Matrices()[0].Rect())
			r.Close()
		}
		if err == nil {
			t.Errorf("%s was read, want an error", g.file)
		} else {
			t.Logf("%s: %v", g.file, err)
		}
	}
}

// canonical are golden files of the document that our writer makes byte for byte the same.
var canonical = []string{
	"document/csr_f64_4x5.dbdf", "document/csr_f64_empty_4x5.dbdf", "document/dense_f64_2x3.dbdf",
	"document/dense_si16_2x2.dbdf", "document/dense_si64_2x2.dbdf", "document/dense_ui8_2x2.dbdf",
	"document/multiblock_5x5_tile2_cellunits.dbdf",
}

func TestRewrite(t *testing.T) {
	for _, g := range written(t) {
		set := map[string]string{"dialect": "document", "blocks": "as-is"}
		again := strings.Contains(strings.Join(canonical, " "), g.file)
		if g.Dialect == "daphne-main" && g.DT != "Frame" && strings.HasSuffix(g.file, ".dbdf") {
			set["dialect"], again = "daphne", true
		}
		if !again {
			continue
		}
		r, err := open(t, g.data, nil)
		if err != nil {
			t.Fatal(err)
		}
		out := &blob.Mem{}
		if err := format.Convert(t.Context(), r, daphne.Codec, out, "y.dbdf", format.Options{Set: set}, nil, nil); err != nil {
			t.Errorf("%s: %v", g.file, err)
			continue
		}
		got, err := blob.ReadAll(t.Context(), out, "y.dbdf", math.MaxInt64)
		if err != nil || !bytes.Equal(got, g.data) {
			t.Errorf("%s rewritten:\n%x (%v), want\n%x", g.file, got, err, g.data)
		}
	}
}
