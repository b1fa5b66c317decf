package daphne

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"

	"thole.example/blob"
	"thole.example/blockio"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// bandBytes is about how many bytes of a large block are read at a time.
const bandBytes = 16 << 20

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

// Blocks gives the blocks in row-major order of their places, large ones in bands. The next ones are read and decoded
// while one is looked at.
func (r *reader) Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		if name != r.meta.Name {
			yield(matrix.Block{}, fmt.Errorf("matrix %q: %w", name, format.ErrMatrix))
			return
		}
		want = r.meta.Rect().Intersect(want)
		if want.Empty() {
			return
		}
		want.Cols = matrix.Range{Lo: want.Cols.Lo - r.meta.ColLo, Hi: want.Cols.Hi - r.meta.ColLo}
		w := &walk{reader: r, ctx: ctx, want: want}
		for blocks, err := range format.Ahead(w.jobs) {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err != nil {
				yield(matrix.Block{}, format.Wrap("daphne", r.path, err))
				return
			}
			for _, b := range blocks {
				if r.meta.ColLo != 0 {
					b = b.Shift(0, r.meta.ColLo)
				}
				if !yield(b, nil) {
					return
				}
			}
		}
	}
}

// View implements format.Viewer for files of dense blocks in the types that the header states.
func (r *reader) View(ctx context.Context, name string, look func(matrix.Block) error) (ok bool, err error) {
	if name != r.meta.Name {
		return false, fmt.Errorf("matrix %q: %w", name, format.ErrMatrix)
	}
	slabs := make([]format.Slab, len(r.blocks))
	for i, e := range r.blocks {
		s := format.Slab{Name: name, At: e.At, DType: e.Type, Order: wire.Little, Off: e.off}
		if e.as != asBlock || e.Kind != blockio.Dense || e.Type != r.colType(e.At.Cols.Lo) || !s.Viewable() ||
			r.data == frame && e.At.Cols.Len() > 1 || e.At.Empty() || r.meta.Layout != matrix.RowDense {
			return false, nil
		}
		s.At.Cols = matrix.Range{Lo: e.At.Cols.Lo + r.meta.ColLo, Hi: e.At.Cols.Hi + r.meta.ColLo}
		slabs[i] = s
	}
	for i := range slabs {
		if err := r.check(ctx, r.src, i); err != nil {
			return true, format.Wrap("daphne", r.path, err)
		}
		if ok, err = slabs[i].View(ctx, r.src, look); !ok || err != nil {
			break
		}
	}
	return ok, format.Wrap("daphne", r.path, err)
}

// job gives some of the blocks that are wanted.
type job = func() ([]matrix.Block, error)

// walk is one walk over the blocks.
type walk struct {
	*reader
	ctx  context.Context
	want matrix.Rect
	free chan []byte // of rows that are decoded
}

// jobs are what there is to do for the values within want. A job reads, unless where it begins is known only by reading.
func (w *walk) jobs(yield func(job) bool) {
	w.free = make(chan []byte, 8)
	for i, e := range w.blocks {
		if e.At.Intersect(w.want).Empty() {
			continue
		}
		if w.sum != nil && w.want.Contains(e.At) {
			if !yield(func() ([]matrix.Block, error) { return nil, w.check(w.ctx, w.src, i) }) {
				return
			}
		}
		if !w.entry(e, yield) {
			return
		}
	}
}

// entry gives the jobs of one block; false if there shall be no more.
func (w *walk) entry(e entry, yield func(job) bool) bool {
	switch {
	case e.as == asRecords:
		return w.records(e, yield)
	case e.as == asArrays:
		return w.arrays(e, yield)
	case e.as == asRows:
		return yield(func() ([]matrix.Block, error) { return w.oldRows(e) })
	case e.Kind == blockio.Empty:
		at := e.At.Intersect(w.want)
		return yield(func() ([]matrix.Block, error) {
			return w.give(e, matrix.Block{At: at, Data: matrix.Empty{D: w.colType(e.At.Cols.Lo)}})
		})
	case e.Kind == blockio.Dense:
		return w.dense(e, yield)
	case e.Kind == blockio.CSR:
		return w.rows(e, yield)
	}
	return yield(func() ([]matrix.Block, error) {
		raw := make([]byte, e.Body)
		if err := wire.ReadAt(w.src, raw, e.off); err != nil {
			return nil, err
		}
		return w.decoded(e, e.Head, raw, e.off)
	})
}

// decoded gives the block whose head and cells are there.
func (w *walk) decoded(e entry, h blockio.Head, raw []byte, off int64) ([]matrix.Block, error) {
	d := blockio.Decoder{InPlace: true}
	b, err := d.Body(wire.NewCursor(raw, off, wire.Little), h)
	if err != nil {
		return nil, err
	}
	return w.give(e, b)
}

// give is what is wanted of a block, converted to the types that the header states.
func (w *walk) give(e entry, b matrix.Block) (out []matrix.Block, err error) {
	part := b.At.Intersect(w.want)
	if part.Empty() {
		return nil, nil
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
		one, exact := one.Cast(t)
		if !exact {
			return nil, misfit(e.off, "block %v of %v holds a value that %v does not", e.At, e.Type, t)
		}
		out = append(out, one)
	}
	return out, nil
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

// dense reads bands of a dense block straight into the slices that are given away.
func (w *walk) dense(e entry, yield func(job) bool) bool {
	size := int64(e.Type.Size())
	for band := range format.Bands(e.At.Intersect(w.want), bandBytes/size) {
		if !yield(func() ([]matrix.Block, error) {
			b := matrix.NewDense(e.Type, band)
			raw, _ := wire.ViewAny(b.Data.Values())
			if err := w.cells(e, band, raw, size); err != nil {
				return nil, err
			}
			wire.Swap(raw, int(size), wire.Little)
			return w.give(e, b)
		}) {
			return false
		}
	}
	return true
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
func (w *walk) records(e entry, yield func(job) bool) bool {
	row := recordLen(w.types)
	each := max(1, min(e.At.Rows.Len(), bandBytes/max(1, row)))
	wanted := e.At.Intersect(w.want)
	for lo := wanted.Rows.Lo; lo < wanted.Rows.Hi; lo += each {
		rows := matrix.Range{Lo: lo, Hi: min(lo+each, wanted.Rows.Hi)}
		if !yield(func() ([]matrix.Block, error) { return w.columns(e, rows, wanted.Cols, row) }) {
			return false
		}
	}
	return true
}

// columns reads rows of records and takes the columns out of them.
func (w *walk) columns(e entry, rows, cols matrix.Range, row int64) (out []matrix.Block, err error) {
	raw := w.buffer(rows.Len() * row)
	defer w.done(raw)
	if err := wire.ReadAt(w.src, raw, e.off+rows.Lo*row); err != nil {
		return nil, err
	}
	at := recordLen(w.types[:cols.Lo])
	for c := cols.Lo; c < cols.Hi; c++ {
		b := matrix.NewDense(w.types[c], matrix.Rect{Rows: rows, Cols: matrix.Range{Lo: c, Hi: c + 1}})
		val, size := wire.ViewAny(b.Data.Values())
		column(val, raw[at:], size, int(row))
		wire.Swap(val, size, wire.Little)
		at += int64(size)
		out = append(out, b)
	}
	return out, nil
}

// buffer is memory for n bytes, used before if there is such; done gives it back.
func (w *walk) buffer(n int64) []byte {
	select {
	case b := <-w.free:
		if int64(cap(b)) >= n {
			return b[:n]
		}
	default:
	}
	return make([]byte, n)
}

func (w *walk) done(b []byte) {
	select {
	case w.free <- b:
	default:
	}
}

// column copies the values of size bytes that lie stride bytes apart.
func column(dst, src []byte, size, stride int) {
	le := binary.LittleEndian
	for i, o := 0, 0; i < len(dst); i, o = i+size, o+stride {
		switch size {
		case 8:
			le.PutUint64(dst[i:], le.Uint64(src[o:]))
		case 4:
			le.PutUint32(dst[i:], le.Uint32(src[o:]))
		default:
			copy(dst[i:i+size], src[o:o+size])
		}
	}
}

var (
	_ io.Closer     = (*reader)(nil)
	_ format.Viewer = (*reader)(nil)
)
