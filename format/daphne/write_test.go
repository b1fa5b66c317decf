package daphne_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/daphne"
	"thole.example/matrix"
	"thole.example/wire"
)

// drawMatrix draws a matrix and blocks that tile it; of a sparse one some blocks are left out.
func drawMatrix(t *rapid.T, types []matrix.DType) (matrix.Meta, []matrix.Block) {
	m := matrix.Meta{Name: "x", DType: rapid.SampledFrom(types).Draw(t, "type")}
	m.Layout = matrix.Layout(rapid.IntRange(0, 1).Draw(t, "layout"))
	rows, cols := drawEdges(t, "rows"), drawEdges(t, "cols")
	m.Rows, m.Cols = rows[len(rows)-1], cols[len(cols)-1]
	var blocks []matrix.Block
	for i := 1; i < len(rows); i++ {
		for k := 1; k < len(cols); k++ {
			at := matrix.At(rows[i-1], rows[i], cols[k-1], cols[k])
			b := drawBlock(t, m.DType, at)
			if m.Layout == matrix.RowDense || rapid.IntRange(0, 3).Draw(t, "left out") > 0 {
				blocks = append(blocks, b)
			}
		}
	}
	return m, blocks
}

func drawEdges(t *rapid.T, what string) []int64 {
	edges := []int64{0}
	for range rapid.IntRange(0, 3).Draw(t, what) {
		edges = append(edges, edges[len(edges)-1]+rapid.Int64Range(1, 4).Draw(t, "side"))
	}
	return edges
}

func drawBlock(t *rapid.T, d matrix.DType, at matrix.Rect) matrix.Block {
	b := matrix.NewDense(d, at)
	raw, size := wire.ViewAny(b.Data.Values())
	for i := range len(raw) / size {
		if rapid.Bool().Draw(t, "zero") {
			continue
		}
		copy(raw[i*size:], rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "value"))
	}
	if d == matrix.Bool {
		for i := range raw {
			raw[i] &= 1
		}
	}
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return b.ToCSR()
	case 1:
		return matrix.Block{At: at, Data: matrix.Empty{D: d}}
	case 2:
		return matrix.Block{At: at, Data: cooOf(b)}
	case 3:
		return matrix.Block{At: at, Data: matrix.KindOf(d).Cols([]int64{at.Cols.Lo}, int(at.Rows.Len()))}
	}
	return b
}

// cooOf stores every cell of a dense block, last first.
func cooOf(b matrix.Block) matrix.Data {
	var row, col []int64
	for r := b.At.Rows.Len() - 1; r >= 0; r-- {
		for c := b.At.Cols.Hi - 1; c >= b.At.Cols.Lo; c-- {
			row, col = append(row, r), append(col, c)
		}
	}
	coo := matrix.KindOf(b.Data.DType()).COO(row, col)
	to, size := wire.ViewAny(coo.Values())
	from, _ := wire.ViewAny(b.Data.Values())
	for i := 0; i < len(to); i += size {
		copy(to[i:i+size], from[len(from)-i-size:])
	}
	return coo
}

// cellsOf are the stored cells of blocks, zeros of a dense matrix left out.
func cellsOf(layout matrix.Layout, blocks []matrix.Block) map[[2]int64]string {
	cells := map[[2]int64]string{}
	for _, b := range blocks {
		_ = b.EachText(func(r, c int64, v []byte) error { // the callback has no error
			if layout == matrix.RowSparse || string(v) != "0" {
				cells[[2]int64{r, c}] = string(v)
			}
			return nil
		})
	}
	return cells
}

// save writes the blocks through as many writers as there are lists, and gives the bytes.
func save(ctx context.Context, b blob.Bucket, m matrix.Meta, o format.Options, lists ...[]matrix.Block) ([]byte, error) {
	var parts []format.Part
	var first format.Writer
	for _, blocks := range lists {
		w, err := daphne.Codec.Create(ctx, b, "x.dbdf", []matrix.Meta{m}, o)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = w
		}
		for _, blk := range blocks {
			p, err := w.Put(ctx, "x", blk)
			if err != nil {
				first.Abort(ctx)
				return nil, err
			}
			parts = append(parts, p)
		}
	}
	if err := first.Commit(ctx, parts); err != nil {
		first.Abort(ctx)
		return nil, err
	}
	return blob.ReadAll(ctx, b, "x.dbdf", math.MaxInt64)
}

func ten() []matrix.DType { return matrix.DTypes()[:10] }

// daphneTypes are those that DAPHNE's own layout has.
func daphneTypes() []matrix.DType {
	return slices.DeleteFunc(ten(), func(d matrix.DType) bool { return d.Size() == 2 })
}

// drawSettings draws options that fit each other.
func drawSettings(t *rapid.T, dialect string) map[string]string {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	set := map[string]string{"dialect": dialect, "blocks": pick("blocks", "smallest", "as-is"), "meta": pick("meta", "auto", "true")}
	if dialect != "hybrid" && rapid.Bool().Draw(t, "no meta") {
		set["meta"] = "false"
	}
	if dialect != "daphne" {
		set["narrow"] = pick("narrow", "false", "true")
		set["block-rows"], set["block-cols"] = pick("block-rows", "0", "1", "2", "5"), pick("block-cols", "0", "1", "3", "99")
	}
	return set
}

func TestRoundTrip(t *testing.T) {
	for dialect, types := range map[string][]matrix.DType{"document": ten(), "daphne": daphneTypes(), "hybrid": daphneTypes()} {
		t.Run(dialect, rapid.MakeCheck(func(t *rapid.T) {
			m, blocks := drawMatrix(t, types)
			o := format.Options{Set: drawSettings(t, dialect)}
			b := &blob.Mem{}
			data, err := save(t.Context(), b, m, o, blocks)
			if err != nil {
				t.Fatal(err)
			}
			shared := o
			shared.Stage = "s"
			at := rapid.IntRange(0, len(blocks)).Draw(t, "split")
			mixed := slices.Clone(blocks)
			rand.New(rand.NewPCG(1, uint64(at))).Shuffle(len(mixed), func(i, k int) { mixed[i], mixed[k] = mixed[k], mixed[i] })
			for _, lists := range [][][]matrix.Block{{mixed[:at], mixed[at:]}, {mixed}} {
				if len(lists) == 1 {
					shared.Stage = ""
				}
				again, err := save(t.Context(), &blob.Mem{}, m, shared, lists...)
				if err != nil || !bytes.Equal(again, data) {
					t.Fatalf("%d writers: %x, %v, want %x", len(lists), again, err, data)
				}
			}
			checkRead(t, b, m, blocks, dialect)
			want := []string{"x.dbdf", "x.dbdf.meta"}
			if meta := o.Set["meta"]; meta == "false" || meta == "auto" && dialect == "document" {
				want = want[:1]
			}
			left, _ := b.List(t.Context(), "")
			var names []string
			for _, l := range left {
				names = append(names, l.Name)
			}
			if !slices.Equal(names, want) {
				t.Fatalf("left behind: %v, want %v", names, want)
			}
		}))
	}
}

// TestGrid puts the same matrix in different pieces, which must give the same file.
func TestGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, blocks := drawMatrix(t, ten())
		o := format.Options{Set: drawSettings(t, "document")}
		o.Set["block-rows"], o.Set["block-cols"] = fmt.Sprint(rapid.IntRange(1, 6).Draw(t, "tall")), fmt.Sprint(rapid.IntRange(1, 6).Draw(t, "broad"))
		if m.Layout == matrix.RowSparse {
			o.Set["blocks"] = "smallest" // as-is keeps what a piece is
		}
		data, err := save(t.Context(), &blob.Mem{}, m, o, blocks)
		if err != nil {
			t.Fatal(err)
		}
		var pieces []matrix.Block
		for _, b := range blocks {
			if m.Layout == matrix.RowDense {
				b = b.ToDense()
			}
			for r := b.At.Rows.Lo; r < b.At.Rows.Hi; r++ {
				pieces = append(pieces, b.Cut(matrix.Rect{Rows: matrix.Range{Lo: r, Hi: r + 1}, Cols: b.At.Cols}))
			}
		}
		o.Set["blocks"] = "smallest"
		if want, err := save(t.Context(), &blob.Mem{}, m, o, blocks); err != nil {
			t.Fatal(err)
		} else if again, err := save(t.Context(), &blob.Mem{}, m, o, pieces); err != nil || !bytes.Equal(again, want) {
			t.Fatalf("rows put one by one: %x, %v, want %x", again, err, want)
		}
		b := &blob.Mem{}
		if err := blob.WriteAll(t.Context(), b, "x.dbdf", data); err != nil {
			t.Fatal(err)
		}
		r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := stored(t.Context(), r, m.Rect()); err != nil {
			t.Fatal(err)
		} else if m.Layout == matrix.RowDense && int64(len(got)) != m.Rows*m.Cols {
			t.Fatalf("%d cells", len(got))
		}
	})
}

// checkRead reads all of it and one piece.
func checkRead(t *rapid.T, b blob.Bucket, m matrix.Meta, blocks []matrix.Block, dialect string) {
	found, err := daphne.Codec.Sniff(t.Context(), b, "x.dbdf")
	if err != nil || found != dialect {
		t.Fatalf("sniffed %q, %v, want %q", found, err, dialect)
	}
	r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := r.Matrices()[0]
	if got.Rows != m.Rows || got.Cols != m.Cols || got.DType != m.DType || got.Layout != m.Layout {
		t.Fatalf("got %+v, want %+v", got, m)
	}
	r0 := rapid.Int64Range(0, m.Rows).Draw(t, "r0")
	c0 := rapid.Int64Range(0, m.Cols).Draw(t, "c0")
	for _, want := range []matrix.Rect{m.Rect(), matrix.At(r0, m.Rows, c0, m.Cols), matrix.At(0, r0, 0, c0)} {
		var read, cut []matrix.Block
		for blk, err := range r.Blocks(t.Context(), "x", want) {
			if err != nil {
				t.Fatal(err)
			}
			if err := blk.Check(); err != nil || !want.Contains(blk.At) {
				t.Fatalf("block %v of %v: %v", blk.At, want, err)
			}
			read = append(read, blk)
		}
		for _, blk := range blocks {
			if !blk.At.Intersect(want).Empty() {
				cut = append(cut, blk.Cut(want))
			}
		}
		if a, b := cellsOf(m.Layout, read), cellsOf(m.Layout, cut); !maps.Equal(a, b) {
			t.Fatalf("%v: got %v, want %v", want, a, b)
		}
	}
}

func frameMeta() matrix.Meta {
	return matrix.Meta{
		Name: "x", Rows: 2, Cols: 3, DType: matrix.F64, Labels: []string{"id", "x", "flag"},
		ColTypes: []matrix.DType{matrix.I64, matrix.F64, matrix.U8},
	}
}

func TestFrame(t *testing.T) {
	blk := matrix.Block{At: matrix.At(0, 2, 0, 3), Data: &matrix.Dense[float64]{Val: []float64{-1, 0.5, 1, 7, 2, 255}}}
	b := &blob.Mem{}
	o := format.Options{Set: map[string]string{"meta": "true", "blocks": "as-is"}}
	data, err := save(t.Context(), b, frameMeta(), o, []matrix.Block{blk})
	if err != nil {
		t.Fatal(err)
	}
	if len(data) != 146 {
		t.Errorf("%d bytes, want 146", len(data))
	}
	side, err := blob.ReadAll(t.Context(), b, "x.dbdf.meta", 1<<10)
	want := `{"numCols":3,"numRows":2,"schema":[{"label":"id","valueType":"si64"},` +
		`{"label":"x","valueType":"f64"},{"label":"flag","valueType":"ui8"}],` +
		`"thole":{"dialect":"document","length":146,"sums":[3879235192,1927576072,2940697656,3880275194]}}` + "\n"
	if err != nil || string(side) != want {
		t.Errorf("sidecar %s, %v, want %s", side, err, want)
	}
	r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m := r.Matrices()[0]
	if fmt.Sprint(m.Labels, m.ColTypes) != fmt.Sprint(frameMeta().Labels, frameMeta().ColTypes) {
		t.Errorf("labels %q, types %v", m.Labels, m.ColTypes)
	}
	cells, err := stored(t.Context(), r, m.Rect())
	if err != nil || cells[[2]int64{0, 0}] != "-1" || cells[[2]int64{1, 2}] != "255" || len(cells) != 6 {
		t.Errorf("cells %v, %v", cells, err)
	}
	bad := matrix.Block{At: blk.At, Data: &matrix.Dense[float64]{Val: []float64{-1, 0.5, 1, 7, 2, 256}}}
	if _, err := save(t.Context(), &blob.Mem{}, frameMeta(), o, []matrix.Block{bad}); err == nil {
		t.Error("256 was written as u8")
	}
}

// TestTallFrame splits blocks of several columns into columns, more rows than are split at a time.
func TestTallFrame(t *testing.T) {
	m := matrix.Meta{Name: "x", Rows: 2500, Cols: 3, DType: matrix.F64, ColTypes: []matrix.DType{matrix.I16, matrix.F64, matrix.U8}}
	for _, d := range []matrix.DType{matrix.F64, matrix.F32, matrix.I16} {
		blk := matrix.NewDense(matrix.F64, m.Rect())
		for i := range blk.Data.Values().([]float64) {
			blk.Data.Values().([]float64)[i] = float64(i % 251)
		}
		blk, _ = blk.Cast(d)
		for _, set := range []map[string]string{{}, {"block-rows": "1999"}, {"blocks": "as-is", "narrow": "true"}} {
			b := &blob.Mem{}
			if _, err := save(t.Context(), b, m, format.Options{Set: set}, []matrix.Block{blk}); err != nil {
				t.Fatal(err)
			}
			r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var read []matrix.Block
			for one, err := range r.Blocks(t.Context(), "x", m.Rect()) {
				if err != nil {
					t.Fatal(err)
				}
				read = append(read, one)
			}
			if !maps.Equal(cellsOf(m.Layout, read), cellsOf(m.Layout, []matrix.Block{blk})) {
				t.Errorf("%v, %v: other values", d, set)
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	sparse := matrix.Meta{Name: "x", Rows: 2, Cols: 2, DType: matrix.F64, Layout: matrix.RowSparse, Labels: []string{"a", "b"}}
	for name, c := range map[string]struct {
		meta matrix.Meta
		set  string
		want error
	}{
		"half floats":   {matrix.Meta{Name: "x", Rows: 1, Cols: 1, DType: matrix.F16}, "document", format.ErrLossy},
		"booleans":      {matrix.Meta{Name: "x", Rows: 1, Cols: 1, DType: matrix.Bool}, "document", format.ErrLossy},
		"16 bits":       {matrix.Meta{Name: "x", Rows: 1, Cols: 1, DType: matrix.I16}, "daphne", format.ErrLossy},
		"absent rows":   {matrix.Meta{Name: "x", Rows: 9, Cols: 1, DType: matrix.F32, Saved: []matrix.Range{{Lo: 1, Hi: 2}}}, "document", format.ErrLossy},
		"tensor":        {matrix.Meta{Name: "x", Rows: 1, Cols: 4, DType: matrix.F32, Dims: []int64{1, 2, 2}}, "document", format.ErrLossy},
		"vector":        {matrix.Meta{Name: "x", Rows: 1, Cols: 4, DType: matrix.F32, Dims: []int64{4}}, "document", format.ErrLossy},
		"levels":        {matrix.Meta{Name: "x", Rows: 1, Cols: 4, DType: matrix.F32, LoD: [][]int64{{0, 1}}}, "document", format.ErrLossy},
		"sparse labels": {sparse, "document", format.ErrLossy},
		"negative keys": {matrix.Meta{Name: "x", Rows: 1, Cols: 4, ColLo: -2, DType: matrix.F32}, "document", format.ErrLossy},
		"rows":          {matrix.Meta{Name: "x", Rows: 1 << 32, Cols: 1, DType: matrix.F32, Layout: matrix.RowSparse}, "daphne", format.ErrLimit},
		"dense rows":    {matrix.Meta{Name: "x", Rows: 1 << 32, Cols: 1, DType: matrix.F32}, "daphne", format.ErrLimit},
		"labels":        {frameMeta(), "daphne", format.ErrLossy},
		"columns":       {matrix.Meta{Name: "x", Rows: 1, Cols: math.MaxInt64, DType: matrix.F32, Layout: matrix.RowSparse}, "document", format.ErrLimit},
	} {
		o := format.Options{Set: map[string]string{"dialect": c.set, "meta": "false"}}
		if _, err := daphne.Codec.Create(t.Context(), &blob.Mem{}, "x.dbdf", []matrix.Meta{c.meta}, o); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if c.want != format.ErrLossy {
			continue
		}
		lost := ""
		o.Lossy, o.Lost = true, func(what string) { lost = what }
		w, err := daphne.Codec.Create(t.Context(), &blob.Mem{}, "x.dbdf", []matrix.Meta{c.meta}, o)
		if err != nil || lost == "" {
			t.Errorf("%s, lossy: %v, lost %q", name, err, lost)
			continue
		}
		w.Abort(t.Context())
	}
}

// TestLargeBlocks takes dense blocks up to the limit of what is put together in memory.
func TestLargeBlocks(t *testing.T) {
	m := matrix.Meta{Name: "x", Rows: 1 << 28, Cols: 1, DType: matrix.F32}
	for rows, want := range map[string]error{"134217728": nil, "134217729": format.ErrLimit} {
		o := format.Options{Set: map[string]string{"block-rows": rows}}
		w, err := daphne.Codec.Create(t.Context(), &blob.Mem{}, "x.dbdf", []matrix.Meta{m}, o)
		if !errors.Is(err, want) {
			t.Errorf("blocks of %s rows: %v, want %v", rows, err, want)
		}
		if err == nil {
			w.Abort(t.Context())
		}
	}
}

func TestGapsAndOverlaps(t *testing.T) {
	m := matrix.Meta{Name: "x", Rows: 4, Cols: 2, DType: matrix.F64}
	top, bottom := matrix.NewDense(matrix.F64, matrix.At(0, 2, 0, 2)), matrix.NewDense(matrix.F64, matrix.At(1, 4, 0, 2))
	for _, dialect := range []string{"document", "daphne"} {
		o := format.Options{Set: map[string]string{"dialect": dialect}}
		if _, err := save(t.Context(), &blob.Mem{}, m, o, []matrix.Block{top}); err == nil || !strings.Contains(err.Error(), "no block holds") {
			t.Errorf("%s: gap: %v", dialect, err)
		}
		if _, err := save(t.Context(), &blob.Mem{}, m, o, []matrix.Block{top, bottom}); err == nil {
			t.Errorf("%s: an overlap was written", dialect)
		}
	}
}

func TestWideBlocks(t *testing.T) {
	m := matrix.Meta{Name: "x", Rows: 1 << 33, Cols: 3, DType: matrix.I32, Layout: matrix.RowSparse}
	blk := matrix.Block{At: m.Rect(), Data: &matrix.COO[int32]{Row: []int64{1 << 32, 0}, Col: []int64{2, 1}, Val: []int32{5, 6}}}
	b := &blob.Mem{}
	data, err := save(t.Context(), b, m, format.Options{}, []matrix.Block{blk})
	if err != nil {
		t.Fatal(err)
	}
	r, err := open(t, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	cells, err := stored(t.Context(), r, m.Rect())
	if err != nil || len(cells) != 2 || cells[[2]int64{1 << 32, 2}] != "5" || cells[[2]int64{0, 1}] != "6" {
		t.Errorf("cells %v, %v", cells, err)
	}
}

func TestForeignParts(t *testing.T) {
	m := matrix.Meta{Name: "x", Rows: 1, Cols: 1, DType: matrix.U8}
	for _, part := range []string{
		"", "{", `[{"Spool":"../x","Rows":[0,1],"Cols":[0,1]}]`, `[{"Spool":"=other","Rows":[0,1],"Cols":[0,1],"Len":27}]`,
	} {
		w, err := daphne.Codec.Create(t.Context(), &blob.Mem{}, "x.dbdf", []matrix.Meta{m}, format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(t.Context(), []format.Part{format.Part(part)}); err == nil {
			t.Errorf("part %q was accepted", part)
		}
		w.Abort(t.Context())
	}
}
