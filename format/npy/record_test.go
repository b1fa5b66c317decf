package npy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// structuredFile is an array of records whose type is the text.
func structuredFile(descr, shape string, values []byte) []byte {
	return file(1, fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': %s, }", descr, shape), values)
}

// open reads the meta of the only matrix, and a function that reads a place cell by cell.
func open(t fataler, c format.Codec, data []byte) (matrix.Meta, func(at matrix.Rect) map[[2]int64]string) {
	ctx, b := context.Background(), &blob.Mem{}
	path := "a" + c.Info().Ext
	if err := blob.WriteAll(ctx, b, path, data); err != nil {
		t.Fatal(err)
	}
	r, err := c.Open(ctx, b, path, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := r.Matrices()[0]
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	return m, func(at matrix.Rect) map[[2]int64]string {
		all := map[[2]int64]string{}
		for blk, err := range r.Blocks(ctx, m.Name, at) {
			if err == nil {
				err = blk.Check()
			}
			if err != nil {
				t.Fatal(err)
			}
			if blk.At.Intersect(at) != blk.At {
				t.Fatal("block ", blk.At, " of ", at)
			}
			_ = blk.EachText(func(row, col int64, v []byte) error {
				if _, twice := all[[2]int64{row, col}]; twice || m.ColType(col) != blk.Data.DType() {
					t.Fatal("cell ", row, col, " of type ", blk.Data.DType())
				}
				all[[2]int64{row, col}] = string(v)
				return nil
			})
		}
		return all
	}
}

// TestRecords reads structured arrays in the ways in which NumPy writes them.
func TestRecords(t *testing.T) {
	values := []byte{1, 0, 0, 2, 9, 9, 9, 9, 3, 0, 0, 4, 9, 9, 9, 9}
	for name, c := range map[string]struct {
		descr, shape string
		labels       string
		types        []matrix.DType
		cells        string // of the last row
	}{
		"packed":      {"[('a', '<i2'), ('b', '>i2'), ('c', '<u4')]", "(2,)", "[a b c]", []matrix.DType{matrix.I16, matrix.I16, matrix.U32}, "3 4 151587081"},
		"gap at last": {"[('a', '<i2'), ('b', '>i2'), ('', '|V4')]", "(2,)", "[a b]", nil, "3 4"},
		"gap between": {"[('a', '<i2'), ('', '|V2'), ('c', '<u4'), ]", "(2,)", "[a c]", []matrix.DType{matrix.I16, matrix.U32}, "3 151587081"},
		"gap first":   {"[('', '|V2'), ('x', '>u2'), ('y', '<u4')]", "(2,)", "[x y]", []matrix.DType{matrix.U16, matrix.U32}, "4 151587081"},
		"titles":      {"[(('long', 'a'), '<i2'), ((\"it's\", 'b'), '>i2'), ('', '|V4')]", "(2,)", "[a b]", nil, "3 4"},
		"no names":    {"[('f0', '<i4'), ('f1', '<i4')]", "(2, )", "[]", nil, "67108867 151587081"},
		"one number":  {"[('a', '<u8')]", "(1, 2)", "[a]", nil, "651061555458211843"},
		"escapes":     {`[('\x41\'\\\n\u20ac', '<u8')]`, "(2,)", "[A'\\\n€]", nil, "651061555458211843"},
		"Latin-1":     {"[('\xe9', '<u8')]", "(2,)", "[é]", nil, "651061555458211843"},
		"one record":  {"[('a', '<u8'), ('b', '<u8')]", "()", "[a b]", nil, "290773585235017729 651061555458211843"},
	} {
		t.Run(name, func(t *testing.T) {
			data := structuredFile(c.descr, c.shape, values)
			if name == "one record" {
				values := slices.Clone(values)
				values[7], values[15] = 4, 9
				data = structuredFile(c.descr, c.shape, values)
			}
			m, read := open(t, Codec, data)
			if fmt.Sprint(m.Labels) != c.labels || !slices.Equal(m.ColTypes, c.types) {
				t.Errorf("labels %q, types %v, want %q, %v", m.Labels, m.ColTypes, c.labels, c.types)
			}
			all := read(m.Rect())
			var words []string
			for col := range m.Cols {
				words = append(words, all[[2]int64{m.Rows - 1, col}])
			}
			if got := strings.Join(words, " "); got != c.cells || int64(len(all)) != m.Rows*m.Cols {
				t.Errorf("%s in the last of %d rows, want %s", got, m.Rows, c.cells)
			}
			if err := Codec.Explain(context.Background(), holdingFile(t, data), "a.npy", dump.New(&bytes.Buffer{})); err != nil {
				t.Error(err)
			}
		})
	}
}

func holdingFile(t fataler, data []byte) blob.Bucket {
	b := &blob.Mem{}
	if err := blob.WriteAll(context.Background(), b, "a.npy", data); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRecordsRefused names the field that a frame cannot hold, or that is wrong.
// TestManyFields refuses frames of more columns than any header holds, without making their names up.
func TestManyFields(t *testing.T) {
	m := matrix.Meta{Name: "a", Rows: 1, Cols: maxHeader/16 + 1, DType: matrix.F32}
	_, err := planRecords(&m, &format.Options{})
	if want := "1048577 columns of a structured array, want at most 1048576"; !errors.Is(err, format.ErrLimit) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestRecordsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		descr string
		want  error
		text  string
	}{
		"nested":      {"[('ok', '<i2'), ('pos', [('x', '<f4')])]", format.ErrVersion, `field "pos" is a record`},
		"subarray":    {"[('v', '<f4', (3,))]", format.ErrVersion, `field "v" is a subarray`},
		"text":        {"[('name', '<U4')]", format.ErrVersion, `field "name": type "<U4"`},
		"bytes":       {"[('name', '|S4')]", format.ErrVersion, `field "name": type "|S4"`},
		"complex":     {"[('z', '<c8')]", format.ErrVersion, `field "z": complex64, want one number`},
		"object":      {"[('o', '|O')]", format.ErrVersion, `field "o"`},
		"date":        {"[('d', '<M8[ns]')]", format.ErrVersion, `field "d"`},
		"void":        {"[('v', '|V8')]", format.ErrVersion, `field "v"`},
		"twice":       {"[('a', '<i2'), ('a', '<i2')]", format.ErrCorrupt, `field "a": twice`},
		"large gap":   {"[('a', '<i2'), ('', '|V99999999')]", format.ErrLimit, "record of"},
		"open":        {"[('a', '<i2')", format.ErrCorrupt, ""},
		"one comma":   {"[('a',, '<i2')]", format.ErrCorrupt, "quotes"},
		"no pair":     {"['a', '<i2']", format.ErrCorrupt, "want '('"},
		"order":       {"[('a', 'l')]", format.ErrVersion, `field "a"`},
		"line feed":   {"[('a\n', '<i2')]", format.ErrCorrupt, "ends"},
		"half escape": {`[('\x4', '<i2')]`, format.ErrCorrupt, "backslash"},
		"surrogate":   {`[('\ud800', '<i2')]`, format.ErrCorrupt, "backslash"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(structuredFile(c.descr, "(1,)", make([]byte, 8)))
			var where *format.Error
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || !errors.As(err, &where) || where.Off < 0 {
				t.Errorf("%v, want %v with %q", err, c.want, c.text)
			}
		})
	}
	turned := bytes.Replace(structuredFile("[('a', '<i2')]", "(2, 2)", make([]byte, 8)), []byte("False"), []byte("True "), 1)
	if _, _, err := load(turned); !errors.Is(err, format.ErrVersion) {
		t.Errorf("Fortran order: %v, want ErrVersion", err)
	}
	odd := file(3, "{'descr': [('\xe9', '<u8')], 'fortran_order': False, 'shape': (1,), }", make([]byte, 8))
	if _, _, err := load(odd); !errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), "0xe9, want UTF-8") {
		t.Errorf("version 3: %v", err)
	}
}

// frame draws a frame and its values.
func frameOf(t *rapid.T) (matrix.Meta, matrix.Block) {
	m := matrix.Meta{Name: "a", Rows: rapid.Int64Range(0, 200).Draw(t, "rows"), DType: matrix.F64}
	types := rapid.SliceOfN(rapid.SampledFrom([]matrix.DType{matrix.F64, matrix.F32, matrix.F16, matrix.I64, matrix.I8, matrix.U16, matrix.Bool}), 2, 9).Draw(t, "types")
	m.Cols = int64(len(types))
	m.Labels = rapid.SliceOfNDistinct(rapid.StringN(1, 6, -1), len(types), len(types), rapid.ID).Draw(t, "labels")
	if slices.ContainsFunc(types, func(d matrix.DType) bool { return d != types[0] }) {
		m.ColTypes = types
	} else {
		m.DType = types[0]
	}
	whole := matrix.NewDense(m.DType, m.Rect())
	v := &matrix.Dense[float64]{Val: make([]float64, m.Rows*m.Cols)}
	for i := range v.Val {
		v.Val[i] = float64((i*7 + 1) % 2)
	}
	whole, _ = matrix.Block{At: m.Rect(), Data: v}.Cast(m.DType)
	return m, whole
}

// TestFrames writes frames in pieces, by one writer and by several of a save, and reads any part of them.
func TestFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, whole := frameOf(t)
		ctx := context.Background()
		c := rapid.SampledFrom([]format.Codec{Codec, Zipped}).Draw(t, "codec")
		row, col := rapid.Int64Range(0, m.Rows).Draw(t, "row"), rapid.Int64Range(0, m.Cols).Draw(t, "column")
		pieces := []matrix.Rect{matrix.At(0, row, 0, m.Cols), matrix.At(row, m.Rows, 0, col), matrix.At(row, m.Rows, col, m.Cols)}
		var files [][]byte
		for _, stage := range []string{"", "s"} {
			b := &blob.Mem{}
			path := "a" + c.Info().Ext
			w, err := c.Create(ctx, b, path, []matrix.Meta{m}, format.Options{Stage: stage})
			if err != nil {
				t.Fatal(err)
			}
			var parts []format.Part
			for _, at := range pieces {
				p, err := w.Put(ctx, m.Name, whole.Cut(at))
				if err != nil {
					t.Fatal(err)
				}
				parts = append(parts, p)
			}
			if err := w.Commit(ctx, parts); err != nil {
				t.Fatal(err)
			}
			data, err := blob.ReadAll(ctx, b, path, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, data)
			if left, _ := b.List(ctx, ""); len(left) != 1 {
				t.Fatal("left over: ", left)
			}
		}
		if !bytes.Equal(files[0], files[1]) {
			t.Fatal("other bytes by a writer of a shared save")
		}
		n, read := open(t, c, files[0])
		if !slices.Equal(n.Labels, m.Labels) || !slices.Equal(n.ColTypes, m.ColTypes) || n.DType != m.DType || n.Rows != m.Rows {
			t.Fatalf("%+v, want %+v", n, m)
		}
		for _, at := range append(pieces, m.Rect()) {
			got := read(at)
			cells, _ := at.Cells()
			if int64(len(got)) != cells {
				t.Fatalf("%d cells of %v", len(got), at)
			}
			for place, v := range got {
				if want := fmt.Sprint((place[0]*m.Cols+place[1])*7 + 1); v != fmt.Sprint(int(want[len(want)-1]-'0')%2) {
					t.Fatalf("cell %v is %s", place, v)
				}
			}
		}
	})
}

// TestFrameLosses are frames that a structured array cannot hold.
func TestFrameLosses(t *testing.T) {
	for name, c := range map[string]struct {
		labels []string
		d      matrix.DType
		dims   []int64
	}{
		"empty name":  {[]string{"a", ""}, matrix.F32, nil},
		"twice":       {[]string{"a", "a"}, matrix.F32, nil},
		"not UTF-8":   {[]string{"a", "\xff"}, matrix.F32, nil},
		"NumPy's own": {[]string{"f0", "f1"}, matrix.F32, nil},
		"bf16":        {[]string{"a", "b"}, matrix.BF16, nil},
		"shape":       {[]string{"a", "b"}, matrix.F32, []int64{2, 2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, b := context.Background(), &blob.Mem{}
			m := matrix.Meta{Name: "a", Rows: 2, Cols: 2, DType: c.d, Labels: c.labels, Dims: c.dims}
			if _, err := Codec.Create(ctx, b, "a.npy", []matrix.Meta{m}, format.Options{}); !errors.Is(err, format.ErrLossy) {
				t.Errorf("%v, want ErrLossy", err)
			}
			w, err := Codec.Create(ctx, b, "a.npy", []matrix.Meta{m}, format.Options{Lossy: true})
			if err != nil {
				t.Fatal(err)
			}
			p, err := w.Put(ctx, "a", matrix.NewDense(c.d, m.Rect()))
			if err == nil {
				err = w.Commit(ctx, []format.Part{p})
			}
			if err != nil {
				t.Fatal(err)
			}
			data, _ := blob.ReadAll(ctx, b, "a.npy", 1<<20)
			if n, _ := open(t, Codec, data); n.DType != matrix.F32 || n.Cols != 2 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// TestFrameValues refuses a value that its column does not hold.
func TestFrameValues(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	m := matrix.Meta{Name: "a", Rows: 1, Cols: 2, DType: matrix.F64, ColTypes: []matrix.DType{matrix.I8, matrix.F64}}
	w, err := Codec.Create(ctx, b, "a.npy", []matrix.Meta{m}, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort(ctx)
	blk := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float64]{Val: []float64{0.5, 0.5}}}
	if _, err := w.Put(ctx, "a", blk); err == nil || !strings.Contains(err.Error(), "holds a value that i8 does not") {
		t.Errorf("%v", err)
	}
}

// TestStructuredOption writes with and against the names.
func TestStructuredOption(t *testing.T) {
	ctx := context.Background()
	plain := matrix.Meta{Name: "a", Rows: 1, Cols: 2, DType: matrix.I8}
	named := plain
	named.Labels = []string{"x", "y"}
	for _, c := range []struct {
		m      matrix.Meta
		option string
		says   string
		err    error
	}{
		{plain, "auto", "'descr': '|i1'", nil},
		{named, "auto", "'descr': [('x', '|i1'), ('y', '|i1')]", nil},
		{plain, "true", "'descr': [('f0', '|i1'), ('f1', '|i1')]", nil},
		{named, "false", "", format.ErrLossy},
		{plain, "maybe", "", format.ErrOption},
	} {
		b := &blob.Mem{}
		w, err := Codec.Create(ctx, b, "a.npy", []matrix.Meta{c.m}, format.Options{Set: map[string]string{"structured": c.option}})
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.option, err, c.err)
		}
		if err != nil {
			continue
		}
		p, err := w.Put(ctx, "a", matrix.NewDense(matrix.I8, c.m.Rect()))
		if err == nil {
			err = w.Commit(ctx, []format.Part{p})
		}
		if err != nil {
			t.Fatal(err)
		}
		data, _ := blob.ReadAll(ctx, b, "a.npy", 1<<20)
		if !bytes.Contains(data, []byte(c.says)) {
			t.Errorf("%s: %q, want %s", c.option, data, c.says)
		}
	}
}

// TestView shows what lies as a block does, and nothing else.
func TestView(t *testing.T) {
	dir := blob.NewDir(t.TempDir())
	ctx := context.Background()
	little := []byte{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}
	padded := plainText + strings.Repeat(" ", 128-10-len(plainText)-1) + "\n"
	for name, c := range map[string]struct {
		data []byte
		want bool
	}{
		"C":       {file(1, padded, little), wire.NativeOrder == wire.Little},
		"Fortran": {file(1, strings.Replace(padded, "False", "True ", 1), little), false},
		"big":     {file(1, strings.Replace(padded, "<", ">", 1), little), wire.NativeOrder == wire.Big},
		"records": {structuredFile("[('a', '<i2')]", "(6,)", little), false},
	} {
		if err := blob.WriteAll(ctx, dir, name+".npy", c.data); err != nil {
			t.Fatal(err)
		}
		r, err := Codec.Open(ctx, dir, name+".npy", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ok, err := r.(format.Viewer).View(ctx, name, func(b matrix.Block) error {
			if got := fmt.Sprint(b.Data.Values()); got != "[1 2 3 4 5 6]" && name == "C" || b.At != matrix.At(0, 2, 0, 3) {
				t.Errorf("%v: %s", b.At, got)
			}
			return nil
		})
		if ok != c.want || err != nil {
			t.Errorf("%s: %v, %v, want %v", name, ok, err, c.want)
		}
		if _, err := r.(format.Viewer).View(ctx, "other", nil); !errors.Is(err, format.ErrMatrix) {
			t.Errorf("%v, want ErrMatrix", err)
		}
		r.Close()
	}
}

// TestRecordPage holds the page to what explain prints.
func TestRecordPage(t *testing.T) {
	data := structuredFile("[('id', '<i4'), ('', '|V4'), ('weight', '>f8')]", "(1,)", nil)
	text := string(data[10:])
	data = append(append(frame(text), 7, 0, 0, 0, 0, 0, 0, 0), 0x3f, 0xe0, 0, 0, 0, 0, 0, 0)
	var out bytes.Buffer
	if err := Codec.Explain(context.Background(), holdingFile(t, data), "a.npy", dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/format/npy.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), out.String()) {
		t.Errorf("docs/format/npy.md does not have\n%s", out.String())
	}
}

// TestRecordDamage cuts a structured array at every byte and turns every bit: an error with its byte, or values.
func TestRecordDamage(t *testing.T) {
	data := frame("{'descr': [('a', '<i2'), ('', '|V2'), ('b', '>f4')], 'fortran_order': False, 'shape': (2,), }")
	data = append(data, "\x01\x00..\x3f\x80\x00\x00\x02\x00..\x40\x00\x00\x00"...)
	try := func(data []byte) {
		b := holdingFile(t, data)
		_ = Codec.Explain(context.Background(), b, "a.npy", dump.New(&bytes.Buffer{}))
		r, err := Codec.Open(context.Background(), b, "a.npy", format.Options{})
		for _, err = range blocksOf(r, err) {
			if err != nil {
				break
			}
		}
		var where *format.Error
		if err != nil && (!errors.As(err, &where) || where.Off < 0) {
			t.Errorf("%v, want the byte", err)
		}
	}
	for n := range data {
		if _, _, err := load(data[:n]); err == nil {
			t.Errorf("the first %d bytes of %d are read without an error", n, len(data))
		}
		for bit := range 8 {
			changed := bytes.Clone(data)
			changed[n] ^= 1 << bit
			try(changed)
		}
	}
}

// blocksOf is all that a reader yields, or the error that it could not be opened with.
func blocksOf(r format.Reader, err error) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		if err != nil {
			yield(matrix.Block{}, err)
			return
		}
		defer r.Close()
		m := r.Matrices()[0]
		for b, err := range r.Blocks(context.Background(), m.Name, m.Rect()) {
			if err == nil {
				err = b.Check()
			}
			if !yield(b, err) {
				return
			}
		}
	}
}
