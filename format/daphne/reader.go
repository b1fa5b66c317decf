package daphne

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"thole/blob"
	"thole/blockio"
	"thole/format"
	"thole/internal/wire"
	"thole/matrix"
)

// bandBytes is about how many bytes of a large block are read at a time.
const bandBytes = 64 << 20

// reader implements format.Reader.
type reader struct {
	*file
	src  blob.Object
	path string
	meta matrix.Meta
}

func (r *reader) Matrices() []matrix.Meta  { return []matrix.Meta{r.meta} }
func (r *reader) Notes() []string          { return r.notes }
func (r *reader) Files() map[string][]byte { return nil }
func (r *reader) Close() error             { return r.src.Close() }

// Extent implements format.Measurer.
func (r *reader) Extent(string) (format.Extent, bool) {
	return format.Extent{Pieces: len(r.blocks), Kind: "blocks", Bytes: r.src.Size()}, true
}

// Blocks gives the blocks in row-major order of their places, large ones in bands.
func (r *reader) Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		if name != r.meta.Name {
			yield(matrix.Block{}, fmt.Errorf("matrix %q: %w", name, format.ErrMatrix))
			return
		}
		w := &walk{reader: r, want: want.Intersect(r.rect()), yield: yield, done: ctx.Done()}
		for _, e := range r.blocks {
			if e.At.Intersect(w.want).Empty() {
				continue
			}
			err := w.entry(e)
			if errors.Is(err, errStop) {
				return
			}
			if err == errEnded {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(matrix.Block{}, format.Wrap("daphne", r.path, err))
				return
			}
		}
	}
}

var (
	errStop  = errors.New("the caller has enough")
	errEnded = errors.New("the context has ended")
)

// walk is one walk over the blocks.
type walk struct {
	*reader
	want  matrix.Rect
	yield func(matrix.Block, error) bool
	done  <-chan struct{}
}

func (w *walk) entry(e entry) error {
	switch {
	case e.as == asRecords:
		return w.records(e)
	case e.as == asArrays:
		return w.arrays(e)
	case e.as == asRows:
		return w.oldRows(e)
	case e.Kind == blockio.Empty:
		return w.emit(e, matrix.Block{At: e.At.Intersect(w.want), Data: matrix.Empty{D: w.colType(e.At.Cols.Lo)}})
	case e.Kind == blockio.Dense:
		return w.dense(e)
	case e.Kind == blockio.CSR:
		return w.rows(e)
	}
	raw := make([]byte, e.Body)
	if err := wire.ReadAt(w.src, raw, e.off); err != nil {
		return err
	}
	return w.decoded(e, e.Head, raw, e.off)
}

// decoded gives the block whose head and cells are there.
func (w *walk) decoded(e entry, h blockio.Head, raw []byte, off int64) error {
	d := blockio.Decoder{InPlace: true}
	b, err := d.Body(wire.NewCursor(raw, off, wire.Little), h)
	if err != nil {
		return err
	}
	return w.emit(e, b)
}

// emit gives what is wanted of a block, converted to the types that the header states.
func (w *walk) emit(e entry, b matrix.Block) error {
	select {
	case <-w.done:
		return errEnded
	default:
	}
	part := b.At.Intersect(w.want)
	if part.Empty() {
		return nil
	}
	if part != b.At {
		b = b.Cut(part)
	}
	for cols := range w.runs(b.At.Cols) {
		one := b
		if cols != b.At.Cols {
			one = b.Cut(matrix.Rect{Rows: b.At.Rows, Cols: cols})
		}
		t := w.colType(cols.Lo)
		out, exact := one.Cast(t)
		if !exact {
			return misfit(e.off, "block %v of %v holds a value that %v does not", e.At, e.Type, t)
		}
		if !w.yield(out, nil) {
			return errStop
		}
	}
	return nil
}

// runs cuts columns where their value type changes.
func (h header) runs(cols matrix.Range) iter.Seq[matrix.Range] {
	return func(yield func(matrix.Range) bool) {
		if h.data != frame {
			yield(cols)
			return
		}
		for lo := cols.Lo; lo < cols.Hi; {
			hi := lo + 1
			for hi < cols.Hi && h.types[hi] == h.types[lo] {
				hi++
			}
			if !yield(matrix.Range{Lo: lo, Hi: hi}) {
				return
			}
			lo = hi
		}
	}
}

// dense reads bands of a dense block straight into the slice that is given away.
func (w *walk) dense(e entry) error {
	size := int64(e.Type.Size())
	for band := range format.Bands(e.At.Intersect(w.want), bandBytes/size) {
		b := matrix.NewDense(e.Type, band)
		raw, _ := wire.ViewAny(b.Data.Values())
		if err := w.cells(e, band, raw, size); err != nil {
			return err
		}
		wire.Swap(raw, int(size), wire.Little)
		if err := w.emit(e, b); err != nil {
			return err
		}
	}
	return nil
}

// nearBytes is the gap between the wanted parts of two rows that is read over rather than jumped over.
const nearBytes = 16 << 10

// cells reads the band of a dense block into raw.
func (w *walk) cells(e entry, band matrix.Rect, raw []byte, size int64) error {
	stride, width := e.At.Cols.Len()*size, band.Cols.Len()*size
	off := e.off + (band.Rows.Lo-e.At.Rows.Lo)*stride + (band.Cols.Lo-e.At.Cols.Lo)*size
	rows := band.Rows.Len()
	if stride == width {
		return wire.ReadAt(w.src, raw, off)
	}
	each := int64(1) // rows for one read
	if stride-width < nearBytes {
		each = max(1, min(rows, (1<<20)/stride))
	}
	buf := make([]byte, (each-1)*stride+width)
	for r := int64(0); r < rows; r += each {
		n := min(each, rows-r)
		part := buf[:(n-1)*stride+width]
		if err := wire.ReadAt(w.src, part, off+r*stride); err != nil {
			return err
		}
		for i := range n {
			copy(raw[(r+i)*width:(r+i+1)*width], part[i*stride:])
		}
	}
	return nil
}

// records reads bands of a frame that is stored row after row, and gives each column as a block.
func (w *walk) records(e entry) error {
	row := recordLen(w.types)
	each := max(1, min(e.At.Rows.Len(), bandBytes/max(1, row)))
	buf := make([]byte, each*row)
	wanted := e.At.Intersect(w.want)
	for lo := wanted.Rows.Lo; lo < wanted.Rows.Hi; lo += each {
		rows := matrix.Range{Lo: lo, Hi: min(lo+each, wanted.Rows.Hi)}
		part := buf[:rows.Len()*row]
		if err := wire.ReadAt(w.src, part, e.off+lo*row); err != nil {
			return err
		}
		at := recordLen(w.types[:wanted.Cols.Lo])
		for c := wanted.Cols.Lo; c < wanted.Cols.Hi; c++ {
			b := matrix.NewDense(w.types[c], matrix.Rect{Rows: rows, Cols: matrix.Range{Lo: c, Hi: c + 1}})
			raw, size := wire.ViewAny(b.Data.Values())
			column(raw, part[at:], size, int(row))
			wire.Swap(raw, size, wire.Little)
			at += int64(size)
			if err := w.emit(e, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// column copies the values of size bytes that lie stride bytes apart.
func column(dst, src []byte, size, stride int) {
	for i, o := 0, 0; i < len(dst); i, o = i+size, o+stride {
		copy(dst[i:i+size], src[o:o+size])
	}
}

var _ io.Closer = (*reader)(nil)
