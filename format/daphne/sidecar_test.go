package daphne_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/daphne"
	"thole.example/matrix"
)

// put writes the file and perhaps its sidecar into a bucket.
func put(t testing.TB, b blob.Bucket, data []byte, side string) {
	t.Helper()
	err := blob.WriteAll(t.Context(), b, "x.dbdf", data)
	if err == nil && side != "" {
		err = blob.WriteAll(t.Context(), b, "x.dbdf.meta", []byte(side))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// emptyFile is a matrix of one empty block, with this code for its value type.
func emptyFile(code byte) []byte {
	b := append([]byte{1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, code}, make([]byte, 16)...)
	return append(b, 2, 0, 0, 0, 3, 0, 0, 0, 0)
}

// TestOpenLayout are files without a cell that could tell their layout.
func TestOpenLayout(t *testing.T) {
	none := append([]byte{1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 7}, make([]byte, 16)...)
	none = append(none, 0, 0, 0, 0, 3, 0, 0, 0, 1, 7)
	for name, c := range map[string]struct {
		data       []byte
		side       string
		set        map[string]string
		want, note string
	}{
		"empty block":          {emptyFile(7), "", nil, "document i32", "document with values of i32 is taken; dialect=hybrid reads f64"},
		"asked for":            {emptyFile(7), "", map[string]string{"dialect": "hybrid"}, "hybrid f64", ""},
		"told":                 {emptyFile(7), `{"numRows":2,"numCols":3,"valueType":"f64"}`, nil, "hybrid f64", "as x.dbdf.meta says"},
		"told, not looked at":  {emptyFile(7), `{"numRows":2,"numCols":3,"valueType":"f64"}`, map[string]string{"meta": "false"}, "document i32", "dialect=hybrid"},
		"told the same":        {emptyFile(7), `{"numRows":2,"numCols":3,"valueType":"si32"}`, nil, "document i32", "dialect=hybrid"},
		"told something else":  {emptyFile(7), `{"numRows":9,"numCols":3,"valueType":"f64"}`, nil, "document i32", "another matrix, of 9 x 3 f64"},
		"told nonsense":        {emptyFile(10), `{"numRows":`, nil, "document f64", "of no use"},
		"told a type not ours": {emptyFile(10), `{"numRows":2,"numCols":3,"valueType":"str"}`, nil, "document f64", "of no use"},
		"code of one side":     {emptyFile(10), "", nil, "document f64", ""},
		"no cells":             {none, "", nil, "daphne f64", "daphne with values of f64 is taken; dialect=document reads i32"},
	} {
		b := &blob.Mem{}
		put(t, b, c.data, c.side)
		r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{Set: c.set})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		notes := strings.Join(r.Notes(), "\n")
		m := r.Matrices()[0]
		if got := strings.TrimPrefix(r.Notes()[0], "layout ") + " " + m.DType.String(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if !strings.Contains(notes, c.note) || c.note == "" && len(r.Notes()) != 1 {
			t.Errorf("%s: notes %q, want %q", name, notes, c.note)
		}
		r.Close()
	}
}

func TestForeignLabels(t *testing.T) {
	b := &blob.Mem{}
	put(t, b, named(t, "frame_daphne"), `{"numCols":3,"numRows":2,"schema":[{"label":"id","valueType":"si64"},`+
		`{"label":"x","valueType":"f64"},{"label":"flag","valueType":"ui8"}]}`)
	r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(r.Matrices()[0].Labels); got != "[id x flag]" {
		t.Errorf("labels %s", got)
	}
}

// TestSidecarKeeps are what only the sidecar can say.
func TestSidecarKeeps(t *testing.T) {
	sparse := matrix.Block{At: matrix.At(0, 2, -5, -2), Data: &matrix.CSR[float64]{Ptr: []int{0, 1, 2}, Idx: []int64{-5, -3}, Val: []float64{1, 2}}}
	cube := matrix.Block{At: matrix.At(0, 2, 0, 6), Data: &matrix.Dense[float32]{Val: []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}}
	shifted := matrix.Block{At: matrix.At(0, 2, 7, 13), Data: cube.Data}
	far := matrix.Block{At: matrix.At(0, 1, math.MinInt64, math.MinInt64+2), Data: &matrix.Dense[uint8]{Val: []uint8{1, 2}}}
	for name, c := range map[string]struct {
		m matrix.Meta
		b matrix.Block
	}{
		"sparse": {matrix.Meta{Rows: 2, Cols: 3, ColLo: -5, DType: matrix.F64, Layout: matrix.RowSparse, Labels: []string{"a", "", "c"}}, sparse},
		"tensor": {matrix.Meta{Rows: 2, Cols: 6, DType: matrix.F32, Dims: []int64{2, 3, 2}}, cube},
		"vector": {matrix.Meta{Rows: 1, Cols: 2, DType: matrix.U8, Dims: []int64{2}}, matrix.Block{At: matrix.At(0, 1, 0, 2), Data: far.Data}},
		"scalar": {matrix.Meta{Rows: 1, Cols: 1, DType: matrix.U8, Dims: []int64{}},
			matrix.Block{At: matrix.At(0, 1, 0, 1), Data: &matrix.Dense[uint8]{Val: []uint8{1}}}},
		"dense": {matrix.Meta{Rows: 2, Cols: 6, ColLo: 7, DType: matrix.F32}, shifted},
		"far":   {matrix.Meta{Rows: 1, Cols: 2, ColLo: math.MinInt64, DType: matrix.U8}, far},
		"frame": {frameMeta(), matrix.Block{At: matrix.At(0, 2, 0, 3), Data: &matrix.Dense[float64]{Val: []float64{-1, 0.5, 1, 7, 2, 255}}}},
	} {
		for _, dialect := range []string{"document", "daphne", "hybrid"} {
			for _, set := range []string{"0", "1", "auto"} {
				rows, meta := set, "true"
				if set == "auto" {
					rows, meta = "0", set
				}
				if rows != "0" && dialect == "daphne" {
					continue
				}
				b := &blob.Mem{}
				c.m.Name = "x"
				o := format.Options{Set: map[string]string{"dialect": dialect, "meta": meta, "block-rows": rows}}
				if _, err := save(t.Context(), b, c.m, o, []matrix.Block{c.b}); err != nil {
					t.Errorf("%s, %s: %v", name, dialect, err)
					continue
				}
				checkKept(t, name+", "+dialect, b, c.m, c.b)
			}
		}
	}
}

func checkKept(t *testing.T, name string, b blob.Bucket, m matrix.Meta, blk matrix.Block) {
	r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	defer r.Close()
	got := r.Matrices()[0]
	if got.ColLo != m.ColLo || (got.Dims == nil) != (m.Dims == nil) || fmt.Sprint(got.Dims, got.Labels, got.ColTypes) != fmt.Sprint(m.Dims, m.Labels, m.ColTypes) {
		t.Errorf("%s: %+v, want %+v", name, got, m)
	}
	if problems, err := r.(format.Verifier).Verify(t.Context()); err != nil || problems != nil {
		t.Errorf("%s: %v, %v", name, problems, err)
	}
	for _, want := range []matrix.Rect{m.Rect(), {Rows: m.Rect().Rows, Cols: matrix.Range{Lo: m.ColLo + m.Cols - 1, Hi: m.ColLo + m.Cols}}} {
		var read []matrix.Block
		for one, err := range r.Blocks(t.Context(), "x", want) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			read = append(read, one)
		}
		a, w := cellsOf(m.Layout, read), cellsOf(m.Layout, []matrix.Block{blk.Cut(want)})
		if fmt.Sprint(a) != fmt.Sprint(w) {
			t.Errorf("%s: %v: %v, want %v", name, want, a, w)
		}
	}
}

// summed is a file with sums, of several blocks of all kinds.
func summed(t *testing.T) (data, side []byte) {
	m := matrix.Meta{Name: "x", Rows: 9, Cols: 5, DType: matrix.F64}
	blk := matrix.NewDense(matrix.F64, m.Rect())
	val := blk.Data.Values().([]float64)
	for i := range 10 {
		val[i] = float64(i) + 0.5
	}
	val[20], val[33], val[35], val[37] = 1, 2, 3, 4
	b := &blob.Mem{}
	set := map[string]string{"meta": "true", "block-rows": "2", "block-cols": "3", "narrow": "true"}
	data, err := save(t.Context(), b, m, format.Options{Set: set}, []matrix.Block{blk})
	if err != nil {
		t.Fatal(err)
	}
	side, err = blob.ReadAll(t.Context(), b, "x.dbdf.meta", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return data, side
}

// TestEveryBit turns every bit of a file with sums: none may pass.
func TestEveryBit(t *testing.T) {
	data, side := summed(t)
	for i := range 8 * len(data) {
		bad := bytes.Clone(data)
		bad[i/8] ^= 1 << (i % 8)
		b := &blob.Mem{}
		put(t, b, bad, string(side))
		r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{})
		if err != nil {
			continue
		}
		_, err = stored(t.Context(), r, r.Matrices()[0].Rect())
		problems, failed := r.(format.Verifier).Verify(t.Context())
		if failed != nil || len(problems) != 1 {
			t.Errorf("bit %d of byte %d: problems %v, %v", i%8, i/8, problems, failed)
		}
		if err == nil && i/8 >= 19 { // a block; the header alone is for Verify
			t.Errorf("bit %d of byte %d was read", i%8, i/8)
		}
		r.Close()
	}
}

// TestEveryBitOfSidecar turns every bit of the sidecar and cuts it everywhere: values stay right or are refused.
func TestEveryBitOfSidecar(t *testing.T) {
	data, side := summed(t)
	want := ""
	check := func(what string, text []byte) {
		b := &blob.Mem{}
		put(t, b, data, string(text))
		r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{})
		if err != nil {
			return
		}
		defer r.Close()
		m := r.Matrices()[0]
		m.ColLo = 0
		cells, err := stored(t.Context(), r, r.Matrices()[0].Rect())
		if err == nil && r.Matrices()[0].ColLo == 0 && fmt.Sprint(cells) != want {
			t.Errorf("%s: %v", what, cells)
		}
	}
	r, err := open(t, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	cells, err := stored(t.Context(), r, r.Matrices()[0].Rect())
	if err != nil {
		t.Fatal(err)
	}
	want = fmt.Sprint(cells)
	for i := range 8 * len(side) {
		bad := bytes.Clone(side)
		bad[i/8] ^= 1 << (i % 8)
		check(fmt.Sprintf("bit %d of byte %d", i%8, i/8), bad)
	}
	for n := range side {
		check(fmt.Sprint(n, " bytes"), side[:n])
	}
}

// TestStaleSidecar overwrites a file that has a sidecar of ours by one without.
func TestStaleSidecar(t *testing.T) {
	b := &blob.Mem{}
	m := matrix.Meta{Name: "x", Rows: 1, Cols: 2, DType: matrix.U8}
	blk := matrix.Block{At: m.Rect(), Data: &matrix.Dense[uint8]{Val: []uint8{1, 2}}}
	for _, meta := range []string{"true", "false"} {
		if _, err := save(t.Context(), b, m, format.Options{Set: map[string]string{"meta": meta}}, []matrix.Block{blk}); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := b.List(t.Context(), "x.dbdf.meta"); err != nil || len(left) != 0 {
		t.Errorf("%v, %v: the sidecar of another file is left", left, err)
	}
	foreign := `{"numCols":2,"numRows":1,"valueType":"ui8"}`
	put(t, b, []byte("old"), foreign)
	if _, err := save(t.Context(), b, m, format.Options{}, []matrix.Block{blk}); err != nil {
		t.Fatal(err)
	}
	if text, err := blob.ReadAll(t.Context(), b, "x.dbdf.meta", 1<<10); err != nil || string(text) != foreign {
		t.Errorf("%s, %v: a sidecar of others is gone", text, err)
	}
	own := `{"numCols":2,"numRows":1,"valueType":"ui8","thole":{"length":99}}`
	put(t, b, []byte{}, own)
	if _, err := save(t.Context(), &blob.Mem{}, m, format.Options{}, []matrix.Block{blk}); err != nil {
		t.Fatal(err)
	}
	data, _ := save(t.Context(), &blob.Mem{}, m, format.Options{}, []matrix.Block{blk})
	put(t, b, data, own)
	if _, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{}); !errors.Is(err, format.ErrCorrupt) {
		t.Errorf("%v, want ErrCorrupt: the sidecar is of a file of 99 bytes", err)
	}
}

// TestFrameLayouts writes the frame in every dialect; DAPHNE's own is the golden file of it, which has no labels.
func TestFrameLayouts(t *testing.T) {
	val := []float64{-1, 0.5, 1, 7, math.Copysign(0, -1), 255}
	blk := matrix.Block{At: matrix.At(0, 2, 0, 3), Data: &matrix.Dense[float64]{Val: val}}
	got, err := save(t.Context(), &blob.Mem{}, frameMeta(), format.Options{Set: map[string]string{"dialect": "daphne"}}, []matrix.Block{blk})
	if err != nil {
		t.Fatal(err)
	}
	if want := named(t, "frame_daphne"); !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

var _ io.ReaderAt = countedObject{}

// TestFolderChecks verifies and shows the files of a folder.
func TestFolderChecks(t *testing.T) {
	dir := t.TempDir()
	b := blob.NewDir(dir)
	m := matrix.Meta{Name: "x", Rows: 2, Cols: 2, DType: matrix.F64}
	blk := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float64]{Val: []float64{1, 2, 3, 4}}}
	n := m
	n.Name = "y"
	w, err := daphne.Codec.Create(t.Context(), b, "f", []matrix.Meta{m, n}, format.Options{Set: map[string]string{"meta": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	var parts []format.Part
	for _, name := range []string{"x", "y"} {
		p, err := w.Put(t.Context(), name, blk)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, p)
	}
	if err := w.Commit(t.Context(), parts); err != nil {
		t.Fatal(err)
	}
	for _, problems := range []int{0, 1} {
		r, err := daphne.Codec.Open(t.Context(), b, "f", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.(format.Verifier).Verify(t.Context()); err != nil || len(got) != problems {
			t.Errorf("%v, %v, want %d problems", got, err, problems)
		}
		ok, err := r.(format.Viewer).View(t.Context(), "x", func(b matrix.Block) error { return b.Check() })
		if !ok || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
		r.Close()
		data, err := blob.ReadAll(t.Context(), b, "f/y.dbdf", 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		data[len(data)-1] ^= 1
		if err := blob.WriteAll(t.Context(), b, "f/y.dbdf", data); err != nil {
			t.Fatal(err)
		}
	}
}
