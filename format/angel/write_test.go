package angel

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

var ctx = context.Background()

// sample is a matrix and all its values as one block of the whole place.
type sample struct {
	m matrix.Meta
	b matrix.Block
}

var interesting = []float64{0, math.Copysign(0, -1), 1, -1.25, 1e-4, 0.001, 12345678.9, 1e7, 9999999, math.Inf(1), math.Inf(-1),
	math.NaN(), math.MaxFloat32, math.SmallestNonzeroFloat32, 1.0 / 3, 5e-324, math.MaxFloat64}

// drawSample draws a matrix with any row type, some rows not saved, some cells absent.
func drawSample(t *rapid.T) sample {
	kind := rapid.SampledFrom([]rowType{0, 3, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26}).Draw(t, "row type")
	m := matrix.Meta{
		Name: "w", Rows: rapid.Int64Range(1, 6).Draw(t, "rows"), Cols: rapid.Int64Range(1, 40).Draw(t, "cols"),
		DType: elementOf(kind), Layout: kind.Layout(), Attrs: map[string]string{attrRowType: kind.String()},
		BlockRows: rapid.Int64Range(0, 4).Draw(t, "block rows"), BlockCols: rapid.Int64Range(0, 17).Draw(t, "block cols"),
	}
	m.ColLo = rapid.SampledFrom([]int64{0, 0, -20, 7}).Draw(t, "first column")
	if kind.LongKeys() {
		m.ColLo = rapid.SampledFrom([]int64{0, -3000000000, math.MinInt64, math.MaxInt64 - 40}).Draw(t, "first key")
	}
	if from := rapid.Int64Range(0, m.Rows-1).Draw(t, "saved from"); from > 0 {
		m.Saved = []matrix.Range{{Lo: 0, Hi: 1}, {Lo: from, Hi: m.Rows}}
		if from == 1 {
			m.Saved = []matrix.Range{{Lo: 1, Hi: m.Rows}}
		}
	}
	m.Attrs["note"] = rapid.SampledFrom([]string{"", "hdfs://a/b", "模型 \"q\" \\ \t\u0001"}).Draw(t, "note")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	switch m.DType {
	case matrix.F64:
		return sample{m, drawBlock(rng, &m, func() float64 { return interesting[rng.IntN(len(interesting))] * (1 + rng.Float64()) })}
	case matrix.F32:
		return sample{m, drawBlock(rng, &m, func() float32 { return float32(interesting[rng.IntN(len(interesting))]) * rng.Float32() })}
	case matrix.I64:
		return sample{m, drawBlock(rng, &m, func() int64 { return int64(rng.Uint64() >> rng.IntN(64)) })}
	}
	return sample{m, drawBlock(rng, &m, func() int32 { return int32(rng.Uint32() >> rng.IntN(32)) })}
}

func drawBlock[T Number](rng *rand.Rand, m *matrix.Meta, value func() T) matrix.Block {
	d := &matrix.CSR[T]{Ptr: []int{0}}
	for range m.Rows {
		for c := range m.Cols {
			if m.Layout == matrix.RowDense || rng.IntN(3) == 0 {
				d.Idx, d.Val = append(d.Idx, m.ColLo+c), append(d.Val, value())
			}
		}
		d.Ptr = append(d.Ptr, len(d.Idx))
	}
	b := matrix.Block{At: m.Rect(), Data: d}
	if m.Layout == matrix.RowDense {
		b = b.ToDense()
	}
	return b
}

// stored are the cells of the saved rows.
func (s *sample) stored(t interface{ Fatal(...any) }) map[cell]string {
	want := map[cell]string{}
	err := s.b.EachText(func(row, col int64, v []byte) error {
		for _, r := range s.m.SavedRows() {
			if r.Has(row) {
				want[cell{row, col}] = string(v)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return want
}

// save writes blocks through several writers of one stage, in the order given.
func save(b blob.Bucket, s *sample, writers int, blocks []matrix.Block, set map[string]string) error {
	o := format.Options{Stage: "s", Lossy: true, Set: set, Files: map[string][]byte{"graph.json": []byte("{}")}}
	var ws []format.Writer
	for range writers {
		w, err := Codec.Create(ctx, b, "model", []matrix.Meta{s.m}, o)
		if err != nil {
			return err
		}
		ws = append(ws, w)
	}
	var parts []format.Part
	for i, blk := range blocks {
		p, err := ws[i%writers].Put(ctx, s.m.Name, blk)
		if err != nil {
			return err
		}
		parts = append(parts, p)
	}
	return ws[len(ws)-1].Commit(ctx, parts)
}

// tree is the content of every object of a bucket.
func everything(t interface{ Fatal(...any) }, b blob.Bucket) map[string][]byte {
	infos, err := b.List(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, i := range infos {
		data, err := blob.ReadAll(ctx, b, i.Name, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		all[i.Name] = data
	}
	return all
}

// writable are the formats that can be written.
var writable = slices.DeleteFunc(slices.Clone(builtIn), func(l *layout) bool { return l.readOnly() })

func layoutNames() []string {
	var names []string
	for _, l := range writable {
		names = append(names, l.name)
	}
	return names
}

// expected is what a format gives back of the stored cells: Value formats fill absent cells in, column formats those of
// a column that another row of the partition has.
func expected(s *sample, l *layout, got, stored map[cell]string) map[cell]string {
	want := maps.Clone(stored)
	if s.m.Layout == matrix.RowDense || l.colID && !l.column {
		return want
	}
	cols := map[int64]bool{}
	for c := range stored {
		cols[c.col] = true
	}
	for c, v := range got {
		if _, ok := want[c]; !ok && v == "0" && (!l.colID || cols[c.col]) {
			want[c] = v
		}
	}
	return want
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		l := rapid.SampledFrom(writable).Draw(t, "format")
		cut := rapid.SampledFrom([]int64{1 << 30, 7, 50}).Draw(t, "cells in a block")
		var b blob.Mem
		set := map[string]string{optFormat: l.name, optSeparator: rapid.SampledFrom([]string{"", "tab", "|", "dot", "space"}).Draw(t, "separator")}
		if err := save(&b, &s, 1, cutBlocks(s.b, cut), set); err != nil {
			t.Fatal(err)
		}
		r, err := Codec.Open(ctx, &b, "model", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := r.Matrices()[0]
		checkMeta(t, &s.m, &m)
		got, err := values(r, m, m.Rect())
		if err != nil {
			t.Fatal(err)
		}
		if want := expected(&s, l, got, s.stored(t)); !maps.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		part := matrix.At(s.m.Rows/3, s.m.Rows, s.m.ColLo+s.m.Cols/3, s.m.ColLo+s.m.Cols/2+1)
		some, err := values(r, m, part)
		if err != nil {
			t.Fatal(err)
		}
		maps.DeleteFunc(got, func(c cell, _ string) bool { return !part.Rows.Has(c.row) || !part.Cols.Has(c.col) })
		if !maps.Equal(some, got) {
			t.Fatalf("part %v: got %v, want %v", part, some, got)
		}
		if string(r.Files()["graph.json"]) != "{}" {
			t.Fatal("graph.json is lost")
		}
	})
}

func checkMeta(t *rapid.T, want, got *matrix.Meta) {
	if got.Rows != want.Rows || got.Cols != want.Cols || got.ColLo != want.ColLo || got.DType != want.DType || got.Layout != want.Layout {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if !slices.Equal(savedIn(got, got.Rect().Rows).list(), savedIn(want, want.Rect().Rows).list()) {
		t.Fatalf("saved rows %v, want %v", got.Saved, want.Saved)
	}
	for k, v := range want.Attrs {
		if got.Attrs[k] != v {
			t.Fatalf("attribute %s is %q, want %q", k, got.Attrs[k], v)
		}
	}
}

// cutBlocks cuts a block into bands.
func cutBlocks(b matrix.Block, cells int64) []matrix.Block {
	var out []matrix.Block
	for at := range format.Bands(b.At, cells) {
		out = append(out, b.Cut(at))
	}
	return out
}

func TestManyWritersWriteTheSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t)
		set := map[string]string{optFormat: rapid.SampledFrom(layoutNames()).Draw(t, "format")}
		g, _ := newGrid(s.m.Rect(), max(1, s.m.BlockRows), max(1, s.m.BlockCols))
		s.m.BlockRows, s.m.BlockCols = g.row, g.col
		var blocks []matrix.Block
		for id := range g.cells() {
			blocks = append(blocks, s.b.Cut(g.cell(id)))
		}
		var one, many, pieces blob.Mem
		if err := save(&one, &s, 1, blocks, set); err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "order")))
		rng.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
		if err := save(&many, &s, 3, blocks, set); err != nil {
			t.Fatal(err)
		}
		sameFiles(t, everything(t, &one), everything(t, &many))
		if err := save(&pieces, &s, 2, cutBlocks(s.b, rapid.Int64Range(1, 60).Draw(t, "piece")), set); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(set[optFormat], "ColumnFormat") || s.m.Layout == matrix.RowDense {
			sameFiles(t, everything(t, &one), everything(t, &pieces))
		}
	})
}

// TestHashBlocks puts sparse blocks of one place, as servers with hash partitions do: the same bytes as one block.
func TestHashBlocks(t *testing.T) {
	m := matrix.Meta{Name: "w", Rows: 2, Cols: 1000, DType: matrix.F32, Layout: matrix.RowSparse}
	place := m.Rect()
	part := func(k int64) matrix.Block {
		d := &matrix.CSR[float32]{Ptr: []int{0}}
		for range m.Rows {
			for c := k; c < m.Cols; c += 3 {
				d.Idx, d.Val = append(d.Idx, c), append(d.Val, float32(c))
			}
			d.Ptr = append(d.Ptr, len(d.Idx))
		}
		return matrix.Block{At: place, Data: d}
	}
	whole := &matrix.CSR[float32]{Ptr: []int{0}}
	for range m.Rows {
		for c := range m.Cols {
			whole.Idx, whole.Val = append(whole.Idx, c), append(whole.Val, float32(c))
		}
		whole.Ptr = append(whole.Ptr, len(whole.Idx))
	}
	for _, l := range writable {
		if !l.colID {
			continue
		}
		for _, cols := range []int64{0, 1000, 300} {
			m.BlockCols = cols
			s, set := sample{m: m}, map[string]string{optFormat: l.name}
			var one, many, twice blob.Mem
			if err := save(&one, &s, 1, []matrix.Block{{At: place, Data: whole}}, set); err != nil {
				t.Fatal(err)
			}
			if err := save(&many, &s, 2, []matrix.Block{part(2), part(0), part(1)}, set); err != nil {
				t.Fatal(err)
			}
			sameFiles(t, everything(t, &one), everything(t, &many))
			if err := save(&twice, &s, 2, []matrix.Block{part(2), part(1), part(1)}, set); !errors.Is(err, errOverlap) {
				t.Errorf("%s: cells that are put twice: %v", l.name, err)
			}
		}
	}
}

func sameFiles(t interface{ Fatalf(string, ...any) }, a, b map[string][]byte) {
	if !slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))) {
		t.Fatalf("files %v and %v", slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
	}
	for n := range a {
		if !bytes.Equal(a[n], b[n]) {
			t.Fatalf("%s differs:\n%q\n%q", n, a[n], b[n])
		}
	}
}

func TestCommitRefuses(t *testing.T) {
	m := matrix.Meta{Name: "w", Rows: 2, Cols: 4, DType: matrix.F32}
	whole := matrix.NewDense(matrix.F32, m.Rect())
	for name, blocks := range map[string][]matrix.Block{
		"a hole":     {whole.Cut(matrix.At(0, 2, 0, 3))},
		"an overlap": {whole.Cut(matrix.At(0, 2, 0, 3)), whole.Cut(matrix.At(0, 2, 2, 4))},
		"nothing":    nil,
	} {
		var b blob.Mem
		if err := save(&b, &sample{m: m}, 1, blocks, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
		if infos, _ := b.List(ctx, "model"); len(infos) > 0 {
			t.Errorf("%s: visible after an error: %v", name, infos)
		}
	}
	w, err := Codec.Create(ctx, &blob.Mem{}, "model", []matrix.Meta{m}, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Put(ctx, "w", matrix.NewDense(matrix.F32, matrix.At(0, 3, 0, 4))); err == nil {
		t.Error("a block outside the matrix was taken")
	}
	if _, err := w.Put(ctx, "w", matrix.NewDense(matrix.F64, m.Rect())); err == nil {
		t.Error("a block of another type was taken")
	}
	if _, err := w.Put(ctx, "v", whole); err == nil {
		t.Error("a block of an unknown matrix was taken")
	}
}

func TestLossyIsAsked(t *testing.T) {
	base := matrix.Meta{Name: "w", Rows: 1, Cols: 4, DType: matrix.F32}
	for i, change := range []func(*matrix.Meta, map[string]string){
		func(m *matrix.Meta, _ map[string]string) { m.DType = matrix.U8 },
		func(m *matrix.Meta, set map[string]string) { m.Dims, set[optCompat] = []int64{1, 2, 2}, "angel-3.2" },
		func(m *matrix.Meta, set map[string]string) {
			m.Labels, set[optCompat] = []string{"a", "b", "c", "d"}, "angel-3.1"
		},
		func(m *matrix.Meta, _ map[string]string) { m.Labels = []string{"a", "\xff", "c", "d"} },
		func(m *matrix.Meta, set map[string]string) { m.LoD, set[optCompat] = [][]int64{{0, 1}}, "angel-3.2" },
		func(m *matrix.Meta, set map[string]string) {
			m.Layout = matrix.RowSparse
			set[optFormat] = "ValueTextRowFormat"
		},
	} {
		m, o := base.Clone(), format.Options{Set: map[string]string{}}
		change(&m, o.Set)
		if _, err := Codec.Create(ctx, &blob.Mem{}, "model", []matrix.Meta{m}, o); !isTyped(err, format.ErrLossy) {
			t.Errorf("change %d: got %v, want an error that something is lost", i, err)
		}
		told := 0
		o.Lossy, o.Lost = true, func(string) { told++ }
		if _, err := Codec.Create(ctx, &blob.Mem{}, "model", []matrix.Meta{m}, o); err != nil || told != 1 {
			t.Errorf("change %d: %v, told %d losses, want 1", i, err, told)
		}
	}
}

func TestChooseLayout(t *testing.T) {
	for _, c := range []struct {
		name, layer, read string
		rows              int64
		set               map[string]string
		want              string
	}{
		{name: "input_weight", rows: 1, want: "ColIdValueTextRowFormat"},
		{name: "input_weight", rows: 3, want: "RowIdColIdValueTextRowFormat"},
		{name: "input_weight", layer: "simpleinput", rows: 3, want: "RowIdColIdValueTextRowFormat"},
		{name: "embedding_embedding", rows: 8, want: "TextColumnFormat"},
		{name: "e", layer: "embedding", rows: 8, want: "TextColumnFormat"},
		{name: "fc_0_weight", layer: "fc", rows: 1, want: "RowIdColIdValueTextRowFormat"},
		{name: "w", read: "ValueBinaryRowFormat", rows: 1, want: "ValueBinaryRowFormat"},
		{name: "w", read: "of.another.Class", rows: 1, want: "ColIdValueTextRowFormat"},
		{name: "e", layer: "embedding", rows: 8, set: map[string]string{optEmbedding: "BinaryColumnFormat"}, want: "BinaryColumnFormat"},
		{name: "e", layer: "embedding", rows: 8, set: map[string]string{optFormat: classPath + "ValueTextRowFormat"}, want: "ValueTextRowFormat"},
	} {
		m := matrix.Meta{Name: c.name, Rows: c.rows, Cols: 2, DType: matrix.F32, Attrs: map[string]string{attrLayer: c.layer, attrFormat: c.read}}
		l, err := Codec.(codec).chooseLayout(&m, &format.Options{Set: c.set})
		if err != nil || l.name != c.want {
			t.Errorf("%+v: %v, %v", c, l, err)
		}
	}
	if _, err := Codec.(codec).find("MyFormat"); err == nil || !strings.Contains(err.Error(), "MyFormat") {
		t.Errorf("unknown format: %v", err)
	}
}
