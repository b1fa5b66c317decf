package format_test

import (
	"bytes"
	"context"
	"testing"

	"pgregory.net/rapid"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// counting counts the objects that are made.
type counting struct {
	*blob.Mem
	made int
}

func (c *counting) Create(ctx context.Context, name string) (blob.Writer, error) {
	c.made++
	return c.Mem.Create(ctx, name)
}

// TestNarrowBlocks puts columns of a frame, or of a matrix of one type, some rows at a time in any order: the same bytes as
// from one block, and no object beside the file if those of the same rows come one after the other.
func TestNarrowBlocks(t *testing.T) {
	types := []matrix.DType{matrix.F64, matrix.I16, matrix.F32, matrix.F32, matrix.U8, matrix.I64, matrix.I64}
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		m := matrix.Meta{Name: "m", Rows: rapid.Int64Range(64, 400).Draw(t, "rows"), Cols: int64(len(types)), DType: matrix.F64}
		slab := format.Slab{DType: m.DType, Order: wire.Little, Off: 3}
		if rapid.Bool().Draw(t, "frame") {
			m.ColTypes, slab.Record = types, format.NewRecord(types)
		}
		target := format.NewTarget(&m, slab)
		size, _ := target.Size()
		file := format.SlabFile{Size: size + 3, Known: []format.Span{{Bytes: []byte("abc")}}, Slabs: []format.Target{target}}
		var pieces []matrix.Rect
		for rows := range format.Bands(matrix.At(0, m.Rows, 0, 1), rapid.Int64Range(64, 200).Draw(t, "band")) {
			for lo := int64(0); lo < m.Cols; {
				hi := rapid.Int64Range(lo+1, m.Cols).Draw(t, "columns")
				pieces = append(pieces, matrix.Rect{Rows: rows.Rows, Cols: matrix.Range{Lo: lo, Hi: hi}})
				lo = hi
			}
		}
		ordered := rapid.Bool().Draw(t, "ordered")
		if !ordered {
			pieces = rapid.Permutation(pieces).Draw(t, "order")
		}
		value := func(row, col int64) float64 { return float64((row*7 + col) % 100) }
		save := func(at []matrix.Rect) (data []byte, made int) {
			b := &counting{Mem: &blob.Mem{}}
			w, err := format.NewSlabWriter(ctx, b, "f", format.Options{}, file)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Abort(ctx)
			var parts []format.Part
			for _, place := range at {
				blk := matrix.NewDense(matrix.F64, place)
				for i := range blk.Data.(*matrix.Dense[float64]).Val {
					r, c := int64(i)/place.Cols.Len(), int64(i)%place.Cols.Len()
					blk.Data.(*matrix.Dense[float64]).Val[i] = value(place.Rows.Lo+r, place.Cols.Lo+c)
				}
				p, err := w.Put(ctx, m.Name, blk)
				if err != nil {
					t.Fatal(err)
				}
				parts = append(parts, p)
			}
			if err := w.Commit(ctx, parts); err != nil {
				t.Fatal(err)
			}
			data, err = blob.ReadAll(ctx, b, "f", 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			if left, _ := b.List(ctx, "."); len(left) != 1 {
				t.Fatalf("left %v", left)
			}
			return data, b.made
		}
		want, _ := save([]matrix.Rect{m.Rect()})
		got, made := save(pieces)
		if !bytes.Equal(got, want) {
			t.Fatalf("%v: other bytes than from one block", pieces)
		}
		if ordered && made != 1 {
			t.Fatalf("%v: %d objects, want the file alone", pieces, made)
		}
	})
}
