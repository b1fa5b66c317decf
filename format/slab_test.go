package format_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// plan is a file of two matrices with known bytes before each, big-endian or little.
func plan(a, b matrix.Meta, o wire.Order) format.SlabFile {
	first := format.Slab{DType: a.DType, Order: o, Off: 3}
	end, _ := format.PlaceSlab(&a, a.DType, 3)
	second := format.Slab{DType: b.DType, Order: o, Off: end + 2}
	size, _ := format.PlaceSlab(&b, b.DType, end+2)
	return format.SlabFile{
		Size:  size,
		Known: []format.Span{{Off: 0, Bytes: []byte("abc")}, {Off: end, Bytes: []byte("de")}},
		Slabs: []format.Target{format.NewTarget(&a, first), format.NewTarget(&b, second)},
		Seal: func(_ context.Context, f format.ReadWriterAt) error {
			buf := make([]byte, 3)
			if _, err := f.ReadAt(buf, 0); err != nil || string(buf) != "abc" {
				return errors.New("seal cannot read what was written")
			}
			_, err := f.WriteAt([]byte("X"), 1)
			return err
		},
	}
}

// tiles cuts a place at random, also into empty pieces.
func tiles(t *rapid.T, at matrix.Rect) []matrix.Rect {
	if at.Rows.Len()+at.Cols.Len() < 3 || rapid.IntRange(0, 3).Draw(t, "stop") == 0 {
		return []matrix.Rect{at}
	}
	a, b := at, at
	if rapid.Bool().Draw(t, "by rows") {
		mid := rapid.Int64Range(at.Rows.Lo, at.Rows.Hi).Draw(t, "row")
		a.Rows.Hi, b.Rows.Lo = mid, mid
	} else {
		mid := rapid.Int64Range(at.Cols.Lo, at.Cols.Hi).Draw(t, "column")
		a.Cols.Hi, b.Cols.Lo = mid, mid
	}
	return append(tiles(t, a), tiles(t, b)...)
}

// TestSlabFile puts random pieces by several writers or by one and compares the bytes with those of whole blocks; then
// it reads random places back.
func TestSlabFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, b := context.Background(), &blob.Mem{}
		size := rapid.Int64Range(1, 7)
		d := rapid.SampledFrom(matrix.DTypes()).Draw(t, "type")
		x := matrix.Meta{Name: "x", Rows: size.Draw(t, "rows"), Cols: size.Draw(t, "columns"), DType: d}
		y := matrix.Meta{Name: "y", Rows: 2, Cols: 3, DType: matrix.F32, ColLo: -5}
		order := rapid.SampledFrom([]wire.Order{wire.Little, wire.Big}).Draw(t, "order")
		whole := map[string]matrix.Block{}
		for _, m := range []matrix.Meta{x, y} {
			blk := matrix.NewDense(m.DType, m.Rect())
			raw, _ := wire.ViewAny(blk.Data.Values())
			for i := range raw {
				raw[i] = byte(i) & 1
			}
			whole[m.Name] = blk
		}
		save := func(path, stage string, writers int, pieces map[string][]matrix.Rect) string {
			ws := make([]format.Writer, writers)
			for i := range ws {
				w, err := format.NewSlabWriter(ctx, b, path, format.Options{Stage: stage}, plan(x, y, order))
				if err != nil {
					t.Fatal(err)
				}
				ws[i] = w
			}
			var parts []format.Part
			for name, list := range pieces {
				for _, at := range list {
					p, err := ws[rapid.IntRange(0, writers-1).Draw(t, "writer")].Put(ctx, name, whole[name].Cut(at))
					if err != nil {
						t.Fatal(err)
					}
					parts = append(parts, p)
				}
			}
			if err := ws[writers-1].Commit(ctx, parts); err != nil {
				t.Fatal(err)
			}
			data, err := blob.ReadAll(ctx, b, path, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			return string(data)
		}
		want := save("whole", "", 1, map[string][]matrix.Rect{"x": {x.Rect()}, "y": {y.Rect()}})
		cut := map[string][]matrix.Rect{"x": tiles(t, x.Rect()), "y": tiles(t, y.Rect())}
		if !strings.HasPrefix(want, "aXc") || save("cut", "", 1, cut) != want || save("shared", "s", 3, cut) != want {
			t.Fatal("other bytes")
		}
		if infos, _ := b.List(ctx, ""); len(infos) != 3 {
			t.Fatalf("left %v", infos)
		}
		slab := plan(x, y, order).Slabs[0].Slab
		obj, _ := b.Open(ctx, "cut")
		place := tiles(t, x.Rect())[0]
		for blk, err := range slab.Blocks(ctx, obj, place) {
			if err != nil {
				t.Fatal(err)
			}
			got, _ := wire.ViewAny(blk.Data.Values())
			mine, _ := wire.ViewAny(whole["x"].Cut(blk.At).Data.Values())
			if blk.At != place.Intersect(x.Rect()) || string(got) != string(mine) {
				t.Fatalf("%v: % x, want % x", blk.At, got, mine)
			}
		}
	})
}

// TestSlabRows reads pieces of rows too long to be read whole, and of short ones, and sparse data in a dense file.
func TestSlabRows(t *testing.T) {
	ctx, b := context.Background(), &blob.Mem{}
	m := matrix.Meta{Name: "m", Rows: 3, Cols: 9000, DType: matrix.F32, Layout: matrix.RowSparse}
	f := format.SlabFile{Size: 4 * 27000, Slabs: []format.Target{format.NewTarget(&m, format.Slab{DType: matrix.F32, Order: wire.Big})}}
	w, err := format.NewSlabWriter(ctx, b, "f", format.Options{}, f)
	if err != nil {
		t.Fatal(err)
	}
	data := &matrix.COO[float32]{Row: []int64{2, 0, 2}, Col: []int64{8999, 5, 7}, Val: []float32{1, 2, 3}}
	p, err := w.Put(ctx, "m", matrix.Block{At: m.Rect(), Data: data})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(ctx, []format.Part{p}); err != nil {
		t.Fatal(err)
	}
	obj, err := b.Open(ctx, "f")
	if err != nil {
		t.Fatal(err)
	}
	want := matrix.Block{At: m.Rect(), Data: data}.ToDense()
	for _, at := range []matrix.Rect{m.Rect(), matrix.At(1, 3, 7, 9000), matrix.At(2, 3, 8999, 9000), matrix.At(0, 3, 4, 6)} {
		for blk, err := range f.Slabs[0].Blocks(ctx, obj, at) {
			if err != nil {
				t.Fatal(err)
			}
			got, _ := wire.ViewAny(blk.Data.Values())
			mine, _ := wire.ViewAny(want.Cut(blk.At).Data.Values())
			if string(got) != string(mine) {
				t.Errorf("%v: other values", blk.At)
			}
		}
	}
}

// TestSlabRefusals are blocks and parts that contradict the matrix.
func TestSlabRefusals(t *testing.T) {
	ctx := context.Background()
	m := matrix.Meta{Name: "m", Rows: 2, Cols: 2, DType: matrix.F32}
	f := format.SlabFile{Size: 16, Slabs: []format.Target{format.NewTarget(&m, format.Slab{DType: matrix.F32, Order: wire.Little})}}
	for _, stage := range []string{"", "s"} {
		b := &blob.Mem{}
		begin := func() format.Writer {
			w, err := format.NewSlabWriter(ctx, b, "f", format.Options{Stage: stage}, f)
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		w, other := begin(), begin()
		whole := matrix.NewDense(matrix.F32, m.Rect())
		for what, blk := range map[string]matrix.Block{
			"other type":    matrix.NewDense(matrix.F64, m.Rect()),
			"outside":       matrix.NewDense(matrix.F32, matrix.At(1, 3, 0, 2)),
			"broken":        {At: m.Rect(), Data: &matrix.Dense[float32]{}},
			"no data":       {At: m.Rect()},
			"reversed":      {At: matrix.At(2, 0, 0, 2), Data: &matrix.Dense[float32]{}},
			"beyond column": matrix.NewDense(matrix.F32, matrix.At(0, 1, 0, 3)),
		} {
			if _, err := w.Put(ctx, "m", blk); err == nil {
				t.Errorf("%s: no error", what)
			}
		}
		if _, err := w.Put(ctx, "n", whole); !errors.Is(err, format.ErrMatrix) {
			t.Errorf("%v, want ErrMatrix", err)
		}
		p, err := w.Put(ctx, "m", whole)
		if err != nil {
			t.Fatal(err)
		}
		top, err := w.Put(ctx, "m", whole.Cut(matrix.At(0, 1, 0, 2)))
		if err != nil {
			t.Fatal(err)
		}
		for what, parts := range map[string][]format.Part{
			"none": nil, "twice": {p, p}, "overlap": {p, top}, "a gap": {top}, "cut": {p[:len(p)-1]}, "longer": {append(p[:len(p):len(p)], 0)},
			"no part": {nil}, "far slab": {append(format.Part{9}, p[1:]...)},
		} {
			if err := w.Commit(ctx, parts); err == nil {
				t.Errorf("%s: no error", what)
			}
		}
		if err := other.Commit(ctx, []format.Part{p}); (err == nil) != (stage != "") {
			t.Errorf("stage %q: part of another writer: %v", stage, err)
		}
		w.Abort(ctx)
		other.Abort(ctx)
	}
	f.Slabs = append(f.Slabs, f.Slabs[0])
	if _, err := format.NewSlabWriter(ctx, &blob.Mem{}, "f", format.Options{}, f); err == nil {
		t.Error("two slabs of one name: no error")
	}
	m.Rows, m.Cols = 1<<40, 1<<40
	if _, err := format.PlaceSlab(&m, matrix.F64, 0); !errors.Is(err, format.ErrLimit) {
		t.Errorf("%v, want ErrLimit", err)
	}
	m.Rows, m.Cols = 1<<30, 1<<30
	if _, err := format.PlaceSlab(&m, matrix.U8, math.MaxInt64-1); !errors.Is(err, format.ErrLimit) {
		t.Errorf("%v, want ErrLimit", err)
	}
}

// TestSlabTruthValues refuses bytes that are neither 0 nor 1.
func TestSlabTruthValues(t *testing.T) {
	s := format.Slab{At: matrix.At(0, 1, 0, 3), DType: matrix.Bool, Order: wire.Little}
	for _, err := range s.Blocks(context.Background(), strings.NewReader("\x00\x01\x02"), s.At) {
		if !errors.Is(err, format.ErrCorrupt) || !strings.Contains(err.Error(), "cell (0,2)") {
			t.Errorf("%v, want damage in cell (0,2)", err)
		}
	}
}

// TestSlabCancel ends a walk and a commit when the context ends.
func TestSlabCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := format.Slab{At: matrix.At(0, 1, 0, 3), DType: matrix.U8, Order: wire.Little}
	for _, err := range s.Blocks(ctx, strings.NewReader("abc"), s.At) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the end of the context", err)
		}
	}
}

// TestSlabConcurrentPuts puts the cells of a matrix one by one, each in a goroutine of its own.
func TestSlabConcurrentPuts(t *testing.T) {
	ctx := context.Background()
	m := matrix.Meta{Name: "m", Rows: 8, Cols: 8, DType: matrix.I16}
	f := format.SlabFile{Size: 128, Slabs: []format.Target{format.NewTarget(&m, format.Slab{DType: matrix.I16, Order: wire.Big})}}
	for _, stage := range []string{"", "s"} {
		for _, b := range []blob.Bucket{&blob.Mem{}, blob.NewDir(t.TempDir())} {
			w, err := format.NewSlabWriter(ctx, b, "f", format.Options{Stage: stage}, f)
			if err != nil {
				t.Fatal(err)
			}
			parts := make([]format.Part, 64)
			errs := make([]error, 64)
			var wait sync.WaitGroup
			for i := range int64(64) {
				wait.Go(func() {
					at := matrix.At(i/8, i/8+1, i%8, i%8+1)
					parts[i], errs[i] = w.Put(ctx, "m", matrix.Block{At: at, Data: &matrix.Dense[int16]{Val: []int16{int16(i)}}})
				})
			}
			wait.Wait()
			if err := errors.Join(append(errs, w.Commit(ctx, parts))...); err != nil {
				t.Fatal(err)
			}
			data, err := blob.ReadAll(ctx, b, "f", 1<<10)
			if err != nil || len(data) != 128 {
				t.Fatalf("%d bytes, %v", len(data), err)
			}
			for i := range 64 {
				if data[2*i] != 0 || data[2*i+1] != byte(i) {
					t.Errorf("stage %q: cell %d is % x", stage, i, data[2*i:2*i+2])
				}
			}
		}
	}
}
