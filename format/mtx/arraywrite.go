package mtx

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// arrayWriter writes a dense matrix. An array file goes column by column, and no place in it is known before all that
// stands before it; so the values wait as the turned matrix in an object of the stage, and Commit makes text of it.
type arrayWriter struct {
	m      matrix.Meta
	bucket blob.Bucket
	path   string
	stage  *format.Stage
	turned format.Target
	values format.Writer
}

// turnedPiece is the object of the stage that holds the turned matrix.
const turnedPiece = "turned"

func newArrayWriter(ctx context.Context, b blob.Bucket, file string, m matrix.Meta, o format.Options) (format.Writer, error) {
	w := &arrayWriter{m: m, bucket: b, path: file, stage: format.NewStage(b, file, o.Stage)}
	d, mixed := typeOf(&m)
	at := m.Rect()
	w.turned = format.Target{
		Slab: format.Slab{Name: m.Name, At: matrix.Rect{Rows: at.Cols, Cols: at.Rows}, DType: d, Order: wire.NativeOrder},
		From: m.DType, Cast: mixed,
	}
	end, err := format.PlaceSlab(&m, d, 0)
	if err != nil {
		return nil, err
	}
	f := format.SlabFile{Size: end, Slabs: []format.Target{w.turned}}
	w.values, err = format.NewSlabWriter(ctx, b, w.stage.Name(turnedPiece), format.Options{Stage: o.Stage}, f)
	return w, err
}

// turnCells is how many cells are turned at a time.
const turnCells = 1 << 21

// A Part is the place of the block, four numbers, and the Parts of its turned pieces, each behind its length.

// Put implements format.Writer.
func (w *arrayWriter) Put(ctx context.Context, name string, b matrix.Block) (format.Part, error) {
	if name != w.m.Name {
		return nil, fmt.Errorf("matrix %q: %w", name, format.ErrMatrix)
	}
	if err := b.Check(); err != nil {
		return nil, fmt.Errorf("matrix %q: %w", name, err)
	}
	var part format.Part
	for _, v := range []int64{b.At.Rows.Lo, b.At.Rows.Hi, b.At.Cols.Lo, b.At.Cols.Hi} {
		part = wire.AppendU64(part, wire.Little, uint64(v))
	}
	if !w.m.Rect().Contains(b.At) {
		return nil, fmt.Errorf("matrix %q: block %v, want one within %v", name, b.At, w.m.Rect())
	}
	if _, empty := b.Data.(matrix.Empty); empty {
		return part, nil
	}
	for at := range format.Bands(b.At, turnCells) {
		piece := b
		if at != b.At {
			piece = b.Cut(at)
		}
		p, err := w.values.Put(ctx, name, turn(piece))
		if err != nil {
			return nil, err
		}
		part = wire.AppendString(part, wire.Little, string(p))
	}
	return part, nil
}

// partLimit bounds the Part of a turned piece, in bytes.
const partLimit = 1 << 12

// Commit implements format.Writer.
func (w *arrayWriter) Commit(ctx context.Context, parts []format.Part) error {
	var inner []format.Part
	at := make([]matrix.Rect, len(parts))
	for i, p := range parts {
		c := wire.NewCursor(p, 0, wire.Little)
		at[i] = matrix.At(c.I64("first row"), c.I64("last row"), c.I64("first column"), c.I64("last column"))
		for c.Len() > 0 && c.Err() == nil {
			inner = append(inner, format.Part(c.String(partLimit, "piece")))
		}
		if c.Err() != nil {
			return fmt.Errorf("part of %s: %w", w.path, c.Err())
		}
	}
	if err := format.CheckTiles(w.m.Rect().Cols, w.m.SavedRows(), at); err != nil {
		return fmt.Errorf("matrix %q: %w", w.m.Name, err)
	}
	if err := w.values.Commit(ctx, inner); err != nil {
		return err
	}
	if err := w.text(ctx); err != nil {
		return err
	}
	w.stage.Abort(ctx) // the values are in the file now
	return nil
}

// text writes the file from the turned matrix.
func (w *arrayWriter) text(ctx context.Context) error {
	obj, err := w.bucket.Open(ctx, w.stage.Name(turnedPiece))
	if err != nil {
		return err
	}
	defer obj.Close()
	out, err := w.bucket.Create(ctx, w.path)
	if err != nil {
		return err
	}
	defer out.Abort()
	buf := header(&w.m, 0)
	line := func(_, col int64, value []byte) error {
		if col == realPart {
			buf = append(append(buf, bytes.TrimPrefix(value, []byte{'+'})...), ' ')
			return nil
		}
		if buf = appendValue(buf, value); len(buf) < flushBytes {
			return nil
		}
		_, err := out.Write(buf)
		buf = buf[:0]
		return err
	}
	for b, err := range w.columns(ctx, obj) {
		if err == nil {
			err = b.EachText(line)
		}
		if err != nil {
			return err
		}
	}
	if _, err := out.Write(buf); err != nil {
		return err
	}
	return out.Commit()
}

// realPart is the column of real parts in blocks of complex values: no other column has the number.
const realPart = -2

// columns are the values in the order of the file: those of a complex value beside each other, in the columns realPart and
// the next.
func (w *arrayWriter) columns(ctx context.Context, o blob.Object) iter.Seq2[matrix.Block, error] {
	if !paired(&w.m) {
		return w.turned.Blocks(ctx, o, w.turned.At)
	}
	return func(yield func(matrix.Block, error) bool) {
		at := w.turned.At
		values := matrix.Rect{Rows: matrix.Range{Hi: at.Rows.Len() / 2}, Cols: at.Cols}
		for some := range format.Bands(values, bandCells/2) {
			part := matrix.Rect{Rows: matrix.Range{Lo: at.Rows.Lo + 2*some.Rows.Lo, Hi: at.Rows.Lo + 2*some.Rows.Hi}, Cols: some.Cols}
			for b, err := range w.turned.Blocks(ctx, o, part) { // which is one block
				if err != nil {
					yield(b, err)
					return
				}
				for lo := b.At.Rows.Lo; lo < b.At.Rows.Hi; lo += 2 {
					one := turn(b.Cut(matrix.Rect{Rows: matrix.Range{Lo: lo, Hi: lo + 2}, Cols: b.At.Cols}))
					one.At.Cols = matrix.Range{Lo: realPart, Hi: realPart + 2}
					if !yield(one, nil) {
						return
					}
				}
			}
		}
	}
}

// Abort implements format.Writer.
func (w *arrayWriter) Abort(ctx context.Context) {
	w.values.Abort(ctx)
	w.stage.Abort(ctx)
}

// turn exchanges rows and columns of a block that was checked and is small.
func turn(b matrix.Block) matrix.Block {
	at := matrix.Rect{Rows: b.At.Cols, Cols: b.At.Rows}
	out := matrix.NewDense(b.Data.DType(), at)
	from, size := wire.ViewAny(b.ToDense().Data.Values())
	to, _ := wire.ViewAny(out.Data.Values())
	rows, cols := int(b.At.Rows.Len()), int(b.At.Cols.Len())
	switch size {
	case 8:
		turnAs[uint64](to, from, rows, cols)
	case 4:
		turnAs[uint32](to, from, rows, cols)
	case 2:
		turnAs[uint16](to, from, rows, cols)
	default:
		turnAs[uint8](to, from, rows, cols)
	}
	return out
}

// tile is how many rows and columns are turned at a time, so that all lines of memory that they touch stay near.
const tile = 32

func turnAs[T wire.Number](to, from []byte, rows, cols int) {
	dst, _ := wire.Numbers[T](to)
	src, _ := wire.Numbers[T](from)
	for r0 := 0; r0 < rows; r0 += tile {
		for c0 := 0; c0 < cols; c0 += tile {
			for r := r0; r < min(r0+tile, rows); r++ {
				for c := c0; c < min(c0+tile, cols); c++ {
					dst[c*rows+r] = src[r*cols+c]
				}
			}
		}
	}
}
