package daphne_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"thole.example/blob"
	"thole.example/blockio"
	"thole.example/format"
	"thole.example/format/daphne"
	"thole.example/matrix"
	"thole.example/wire"
)

func TestView(t *testing.T) {
	m := matrix.Meta{Name: "x", Rows: 5000, Cols: 1000, ColLo: 3, DType: matrix.F64}
	blk := matrix.NewDense(m.DType, m.Rect())
	val, want := blk.Data.Values().([]float64), 0.0
	for i := range val {
		val[i] = float64(i)
		want += val[i]
	}
	for _, set := range []map[string]string{
		{"meta": "true"}, {"meta": "true", "dialect": "daphne"}, {"meta": "true", "block-rows": "999"},
	} {
		dir := t.TempDir()
		b := blob.NewDir(dir)
		if _, err := save(t.Context(), b, m, format.Options{Set: set}, []matrix.Block{blk}); err != nil {
			t.Fatal(err)
		}
		r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, n, next := 0.0, 0, int64(0)
		ok, err := r.(format.Viewer).View(t.Context(), "x", func(b matrix.Block) error {
			if b.At.Cols != m.Rect().Cols || b.At.Rows.Lo != next {
				t.Errorf("%v: place %v", set, b.At)
			}
			next = b.At.Rows.Hi
			for _, v := range b.Data.Values().([]float64) {
				got += v
			}
			n += b.Data.NNZ()
			return b.Check()
		})
		if !ok || err != nil || got != want || n != len(val) {
			t.Errorf("%v: %v, %v: sum %v of %d, want %v of %d", set, ok, err, got, n, want, len(val))
		}
		ok, err = r.(format.Viewer).View(t.Context(), "x", func(b matrix.Block) error {
			if err := os.Truncate(filepath.Join(dir, "x.dbdf"), 8192); err != nil {
				return err
			}
			val := b.Data.Values().([]float64)
			got += val[len(val)-1]
			return nil
		})
		if !ok || !errors.Is(err, format.ErrCorrupt) {
			t.Errorf("%v: a file that is cut meanwhile: %v, %v", set, ok, err)
		}
		r.Close()
	}
}

// TestNoView are files whose values are not as memory has them.
func TestNoView(t *testing.T) {
	m := matrix.Meta{Name: "x", Rows: 4, Cols: 4, DType: matrix.F64}
	blk := matrix.NewDense(m.DType, m.Rect())
	for i := range 12 {
		blk.Data.Values().([]float64)[i] = 1
	}
	for _, set := range []map[string]string{{"narrow": "true"}, {"block-cols": "2", "block-rows": "1"}} {
		b := blob.NewDir(t.TempDir())
		if _, err := save(t.Context(), b, m, format.Options{Set: set}, []matrix.Block{blk}); err != nil {
			t.Fatal(err)
		}
		r, err := daphne.Codec.Open(t.Context(), b, "x.dbdf", format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := r.(format.Viewer).View(t.Context(), "x", nil); ok || err != nil {
			t.Errorf("%v: %v, %v", set, ok, err)
		}
		sum := 0.0
		if err := format.Look(t.Context(), r, "", func(b matrix.Block) error {
			for _, v := range b.ToDense().Data.Values().([]float64) {
				sum += v
			}
			return nil
		}); err != nil || sum != 12 {
			t.Errorf("%v: sum %v, %v", set, sum, err)
		}
		r.Close()
	}
}

// counted counts the bytes that are read.
type counted struct {
	blob.Bucket
	bytes *atomic.Int64
}

func (c counted) Open(ctx context.Context, name string) (blob.Object, error) {
	o, err := c.Bucket.Open(ctx, name)
	return countedObject{o, c.bytes}, err
}

type countedObject struct {
	blob.Object
	bytes *atomic.Int64
}

func (o countedObject) ReadAt(p []byte, off int64) (int, error) {
	o.bytes.Add(int64(len(p)))
	return o.Object.ReadAt(p, off)
}

// TestRandomAccess reads one block of many: its bytes and the heads of all.
func TestRandomAccess(t *testing.T) {
	const tiles, side = 8, 64
	m := matrix.Meta{Name: "x", Rows: tiles * side, Cols: tiles * side, DType: matrix.F64}
	blk := matrix.NewDense(m.DType, m.Rect())
	for i := range blk.Data.Values().([]float64) {
		blk.Data.Values().([]float64)[i] = float64(i + 1)
	}
	b := &blob.Mem{}
	set := map[string]string{"block-rows": fmt.Sprint(side), "block-cols": fmt.Sprint(side), "meta": "true"}
	data, err := save(t.Context(), b, m, format.Options{Set: set}, []matrix.Block{blk})
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	r, err := daphne.Codec.Open(t.Context(), counted{b, &n}, "x.dbdf", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if heads := n.Swap(0); heads > tiles*tiles*blockio.MaxHead+8192 {
		t.Errorf("%d bytes of %d read to open it", heads, len(data))
	}
	at := matrix.At(3*side, 4*side, 5*side, 6*side)
	got := 0
	for one, err := range r.Blocks(t.Context(), "x", at) {
		if err != nil || !one.At.Empty() && one.At != at {
			t.Fatalf("%v, %v", one.At, err)
		}
		want, _ := wire.ViewAny(blk.Cut(at).Data.Values())
		raw, _ := wire.ViewAny(one.Data.Values())
		if !bytes.Equal(raw, want) {
			t.Error("other values")
		}
		got++
	}
	size := int64(side*side*8 + 26)
	if got != 1 || n.Load() > 2*size { // once for the sum, once for the values
		t.Errorf("%d blocks, %d bytes read, want 1 of %d bytes, read at most twice", got, n.Load(), size)
	}
	n.Store(0)
	row := matrix.At(3*side+7, 3*side+8, 5*side, 6*side)
	for _, err := range r.Blocks(t.Context(), "x", row) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n.Load() != side*8 {
		t.Errorf("%d bytes read for one row of a block, want %d", n.Load(), side*8)
	}
}
