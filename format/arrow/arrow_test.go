package arrow

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"thole.example/dump"

	"pgregory.net/rapid"

	"thole.example/blob"
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
	if err := blob.WriteAll(context.Background(), b, "a.arrow", data); err != nil {
		t.Fatal(err)
	}
	return b
}

// load reads the cells of want, or all, as text.
func load(data []byte, set map[string]string, want *matrix.Rect) (m matrix.Meta, cells []string, err error) {
	ctx, b := context.Background(), &blob.Mem{}
	if err := blob.WriteAll(ctx, b, "a.arrow", data); err != nil {
		return m, nil, err
	}
	r, err := Codec.Open(ctx, b, "a.arrow", format.Options{Set: set})
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
		if err == nil {
			err = blk.EachText(func(row, col int64, v []byte) error {
				if _, twice := found[[2]int64{row, col}]; twice || !want.Contains(matrix.At(row, row+1, col, col+1)) {
					return fmt.Errorf("cell (%d,%d) twice or outside of %v", row, col, *want)
				}
				found[[2]int64{row, col}] = string(v)
				return nil
			})
		}
		if err != nil {
			return m, nil, err
		}
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
	w, err := Codec.Create(ctx, b, "a.arrow", []matrix.Meta{m}, format.Options{Set: set})
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
	return blob.ReadAll(ctx, b, "a.arrow", 1<<30)
}

// drawOptions draws options for writing.
func drawOptions(t *rapid.T) map[string]string {
	return map[string]string{
		"compression": rapid.SampledFrom([]string{"none", "lz4", "zstd"}).Draw(t, "compression"),
		"layout":      rapid.SampledFrom([]string{"file", "stream"}).Draw(t, "layout"),
		"rows":        rapid.SampledFrom([]string{"columns", "list"}).Draw(t, "rows"),
	}
}

// TestRoundTrip writes frames and matrices of any type and reads the same cells, types, labels and shapes.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types, set := rapid.SampledFrom(matrix.DTypes()), drawOptions(t)
		m := matrix.Meta{Name: "a", Rows: rapid.Int64Range(0, 20).Draw(t, "rows"), Cols: rapid.Int64Range(0, 40).Draw(t, "cols"), DType: types.Draw(t, "type")}
		if rapid.Bool().Draw(t, "labels") && m.Cols > 0 {
			m.Labels = rapid.SliceOfN(rapid.StringMatching(`[a-c ,."\x00]{0,2}`), int(m.Cols), int(m.Cols)).Draw(t, "label")
		}
		if set["rows"] == "columns" && m.Cols > 1 && rapid.Bool().Draw(t, "mixed") {
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
		data, err := save(m, blk, set)
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

// TestDocument holds the example of the page to what explain prints.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/format/arrow.md")
	if err != nil {
		t.Fatal(err)
	}
	m := matrix.Meta{Name: "a", Rows: 3, Cols: 2, DType: matrix.F64, Labels: []string{"x", "y"}, ColTypes: []matrix.DType{matrix.F64, matrix.I16}}
	blk := matrix.Block{At: m.Rect(), Data: &matrix.Dense[float64]{Val: []float64{0.5, 1, -2, 2, 0, 3}}}
	data, err := save(m, blk, map[string]string{"layout": "stream"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Codec.Explain(context.Background(), bucketOf(t, data), "a.arrow", dump.New(&out)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```dump\n"+out.String()+"```\n") {
		t.Errorf("docs/format/arrow.md does not have\n%s", out.String())
	}
}

// covered are the bytes that lines of an explanation are about, in order; it fails if one is left out or comes twice.
func covered(t *testing.T, text string, size int64) {
	t.Helper()
	next := int64(0)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		var at, n int64
		if _, err := fmt.Sscanf(line, "%x", &at); err != nil || at != next {
			t.Fatalf("line %q, want byte %08x", line, next)
		}
		if _, err := fmt.Sscanf(line, "%x … %d bytes", &at, &n); err == nil {
			next += n
			continue
		}
		next += int64(len(strings.Fields(strings.TrimSpace(line[8:min(len(line), 34)]))))
	}
	if next != size {
		t.Errorf("explained up to byte %d of %d", next, size)
	}
}

// TestExplainCovers wants every byte of every file to be explained once.
func TestExplainCovers(t *testing.T) {
	for name := range allFiles {
		data := stored(t, name)
		var out bytes.Buffer
		if err := Codec.Explain(context.Background(), bucketOf(t, data), "a.arrow", dump.New(&out)); err != nil {
			t.Fatal(err)
		}
		covered(t, out.String(), int64(len(data)))
		if strings.Contains(out.String(), "not shown") {
			t.Errorf("%s: some fields are not known:\n%s", name, out.String())
		}
	}
}

// TestWide writes a matrix of 4096 columns that makes several batches, and reads parts of it.
func TestWide(t *testing.T) {
	m := matrix.Meta{Name: "a", Rows: 2500, Cols: 4096, DType: matrix.F32}
	blk := matrix.NewDense(m.DType, m.Rect())
	for i := range blk.Data.(*matrix.Dense[float32]).Val {
		blk.Data.(*matrix.Dense[float32]).Val[i] = float32(i)
	}
	for _, set := range []map[string]string{nil, {"rows": "list"}, {"compression": "lz4"}, {"rows": "list", "compression": "zstd"}} {
		data, err := save(m, blk, set)
		if err != nil {
			t.Fatal(err)
		}
		s, err := readSource(objectOf(t, data), settings{})
		if err != nil || len(s.batches) != 3 {
			t.Fatalf("%v: %d record batches, %v, want 3", set, len(s.batches), err)
		}
		for _, want := range []matrix.Rect{matrix.At(1015, 1030, 4000, 4096), matrix.At(0, 1, 0, 4096), matrix.At(2499, 2500, 17, 18), matrix.At(3, 2400, 9, 11)} {
			_, cells, err := load(data, nil, &want)
			var all []string
			_ = blk.Cut(want).EachText(func(_, _ int64, v []byte) error { all = append(all, string(v)); return nil })
			if err != nil || !slices.Equal(cells, all) {
				t.Errorf("%v, %v: cells differ, %v", set, want, err)
			}
		}
	}
}

func objectOf(t fataler, data []byte) blob.Object {
	t.Helper()
	o, err := bucketOf(t, data).Open(context.Background(), "a.arrow")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestTall reads compressed columns that are longer than a block, in blocks of rows.
func TestTall(t *testing.T) {
	const rows = 3 << 20
	values := make([]byte, 8*rows)
	for i := range rows {
		binary.LittleEndian.PutUint64(values[8*i:], uint64(i))
	}
	p, err := newPacker(zstd)
	if err != nil {
		t.Fatal(err)
	}
	body, err := p.pack(nil, values)
	if err != nil {
		t.Fatal(err)
	}
	size := int64(len(body))
	body = append(body, make([]byte, -size&7)...)
	b := bucketOf(t, stream(0, [][]val{newNumber("x", matrix.I64)}, batchOf(rows, rows, 0, 0, size, packed(1)), body))
	r, err := Codec.Open(context.Background(), b, "a.arrow", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	next, blocks := int64(5), 0
	for blk, err := range r.Blocks(context.Background(), "a", matrix.At(5, rows-1, 0, 1)) {
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
	if next != rows-1 || blocks < 2 {
		t.Errorf("%d rows in %d blocks", next, blocks)
	}
}

// TestView shows lists where they lie, over several batches; columns, nulls and compressions are given as blocks only.
func TestView(t *testing.T) {
	ctx, dir := context.Background(), blob.NewDir(t.TempDir())
	m := matrix.Meta{Name: "a", Rows: 700, Cols: 10000, DType: matrix.F32}
	blk := matrix.NewDense(m.DType, m.Rect())
	for i := range blk.Data.(*matrix.Dense[float32]).Val {
		blk.Data.(*matrix.Dense[float32]).Val[i] = float32(i)
	}
	for _, c := range []struct {
		set  map[string]string
		want bool
	}{{map[string]string{"rows": "list"}, true}, {nil, false}, {map[string]string{"rows": "list", "compression": "lz4"}, false}} {
		data, err := save(m, blk, c.set)
		if err != nil {
			t.Fatal(err)
		}
		if err := blob.WriteAll(ctx, dir, "a.arrow", data); err != nil {
			t.Fatal(err)
		}
		r, err := Codec.Open(ctx, dir, "a.arrow", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		next := int64(0)
		ok, err := r.(format.Viewer).View(ctx, "a", func(b matrix.Block) error {
			for i, v := range b.Data.(*matrix.Dense[float32]).Val {
				if want := float32(next*m.Cols + int64(i)); v != want || b.At.Rows.Lo != next {
					return fmt.Errorf("%v in %v, want %v", v, b.At, want)
				}
			}
			next = b.At.Rows.Hi
			return nil
		})
		if ok != c.want || err != nil || ok && next != m.Rows {
			t.Errorf("%v: shown %v up to row %d, %v, want %v", c.set, ok, next, err, c.want)
		}
		r.Close()
	}
}

// TestCreate is what is refused.
func TestCreate(t *testing.T) {
	plain := matrix.Meta{Name: "a", Rows: 2, Cols: 2, DType: matrix.F64}
	for what, c := range map[string]struct {
		change func(m *matrix.Meta, set map[string]string)
		is     error
	}{
		"sparse":     {func(m *matrix.Meta, _ map[string]string) { m.Layout = matrix.RowSparse }, format.ErrLossy},
		"rows":       {func(m *matrix.Meta, _ map[string]string) { m.Saved = []matrix.Range{{Lo: 0, Hi: 1}} }, format.ErrLossy},
		"columns":    {func(m *matrix.Meta, _ map[string]string) { m.ColLo = 5 }, format.ErrLossy},
		"sequences":  {func(m *matrix.Meta, _ map[string]string) { m.LoD = [][]int64{{0, 2}} }, format.ErrLossy},
		"labels":     {func(m *matrix.Meta, _ map[string]string) { m.Labels = []string{"\xff", ""} }, format.ErrLossy},
		"wide":       {func(m *matrix.Meta, _ map[string]string) { m.Cols = writeLimit + 1 }, format.ErrLimit},
		"long":       {func(m *matrix.Meta, _ map[string]string) { m.Rows = 1 << 50 }, format.ErrLimit},
		"wide lists": {func(m *matrix.Meta, s map[string]string) { m.Cols, s["rows"] = rowLimit/8+1, "list" }, format.ErrLimit},
		"mixed lists": {func(m *matrix.Meta, s map[string]string) {
			m.ColTypes, s["rows"] = []matrix.DType{matrix.F64, matrix.I8}, "list"
		}, format.ErrOption},
		"compression": {func(_ *matrix.Meta, s map[string]string) { s["compression"] = "snappy" }, format.ErrOption},
		"layout":      {func(_ *matrix.Meta, s map[string]string) { s["layout"] = "x" }, format.ErrOption},
		"option":      {func(_ *matrix.Meta, s map[string]string) { s["x"] = "x" }, format.ErrOption},
	} {
		m, set := plain, map[string]string{}
		c.change(&m, set)
		if _, err := Codec.Create(context.Background(), &blob.Mem{}, "a", []matrix.Meta{m}, format.Options{Set: set}); !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %v", what, err, c.is)
		}
	}
}

// TestForeignOwn is our metadata in a table that was made of ours: it does not fit and is left out.
func TestForeignOwn(t *testing.T) {
	own := [][]val{{{slot: 0, v: ownKey}, {slot: 1, v: `{"dims":[2,3],"dtype":"f64","types":["bf16","i8"],"made":true}`}}}
	fields := [][]val{newNumber("x", matrix.F32)}
	data := frame(kindSchema, []val{{slot: 1, v: fields}, {slot: 2, v: own}}, nil)
	data = append(append(data, frame(kindBatch, batchOf(1, 1, 0, 0, 4), []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0})...), endMark...)
	m, cells, err := load(data, nil, nil)
	if err != nil || m.DType != matrix.F32 || m.Dims != nil || strings.Join(m.Labels, "") != "x" || strings.Join(cells, "") != "1" {
		t.Errorf("%+v %v, %v", m, cells, err)
	}
	if n := strings.Join(notes(t, data, nil), "|"); !strings.Contains(n, `the metadata "thole" is about another table`) {
		t.Errorf("%s", n)
	}
}
