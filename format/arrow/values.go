package arrow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// loaded is a column of a record batch whose buffers can be read anywhere: in the file, or in memory if they were
// compressed.
type loaded struct {
	f     *field
	b     *batch
	order wire.Order
	nulls nulls
	seen  []int64 // nulls that were met, by node

	values, valid, items buffer // whether there is a row, and whether there is a number in its list
}

// buffer is a buffer; nil if it has no bytes.
type buffer struct {
	r   io.ReaderAt
	off int64
}

// newLoaded prepares reading the column.
func newLoaded(o blob.Object, s *source, b *batch, f *field, n nulls, seen []int64) (*loaded, error) {
	l := &loaded{f: f, b: b, order: s.order, nulls: n, seen: seen}
	cells := b.rows.Len() * f.width()
	size := cells * int64(f.raw.Size())
	if f.raw == matrix.Bool {
		size = bitBytes(cells)
	}
	var err error
	if l.values, _, err = newBuffer(o, s, b, f.values(), size, blockBytes); err == nil {
		l.valid, _, err = newBuffer(o, s, b, f.buffer, bitBytes(b.rows.Len()), blockBytes)
	}
	if err == nil && f.list {
		l.items, _, err = newBuffer(o, s, b, f.buffer+1, bitBytes(cells), blockBytes)
	}
	return l, err
}

// newBuffer is the buffer, unpacked if it has to be, at once if it has at most whole bytes. held is about how much memory it takes.
func newBuffer(o blob.Object, of *source, b *batch, i int, want, whole int64) (s buffer, held int64, err error) {
	off, size := b.buffer(i)
	if size == 0 || want == 0 {
		return s, 0, nil
	}
	if b.packing == plain {
		return buffer{o, off}, 0, nil
	}
	p, err := header(o, off, size, b.packing, want)
	if err == nil {
		s, held, err = of.unpacked(p, want, whole)
	}
	var at *wire.At
	if err != nil && !errors.As(err, &at) {
		err = &wire.At{Off: off, Err: err}
	}
	return s, held, err
}

// into reads the cells of at, a place of at most some MiB within the batch and the column, row-major and in the order of
// the machine.
func (l *loaded) into(ctx context.Context, dst []byte, at matrix.Rect) error {
	if at.Empty() {
		return nil
	}
	if !l.f.wide {
		if err := l.stored(ctx, dst, at); err != nil {
			return err
		}
		return l.blank(dst, at)
	}
	narrow := matrix.NewDense(l.f.raw, at)
	raw, _ := wire.ViewAny(narrow.Data.Values())
	if err := l.stored(ctx, raw, at); err != nil {
		return err
	}
	wide, exact := narrow.Cast(matrix.F64)
	values := wide.Data.Values().([]float64)
	if err := l.blank(wire.View(values), at); err != nil {
		return err
	}
	copy(dst, wire.View(values))
	if !exact { // of the values that are there?
		for i, size := 0, l.f.raw.Size(); i < len(values); i++ {
			if math.IsNaN(values[i]) {
				clear(raw[i*size : (i+1)*size])
			}
		}
		if _, exact = narrow.Cast(matrix.F64); !exact {
			return fmt.Errorf("column %q: nulls, and a value that f64 does not hold", l.f.name)
		}
	}
	return nil
}

// stored reads the cells as they are stored, whatever is in the place of nulls.
func (l *loaded) stored(ctx context.Context, dst []byte, at matrix.Rect) error {
	var err error
	rows, width := l.b.rows, l.f.width()
	first := (at.Rows.Lo-rows.Lo)*width + at.Cols.Lo - l.f.cols.Lo
	switch {
	case l.f.raw == matrix.Bool:
		err = l.bits(dst, at)
	case at.Cols == l.f.cols || at.Rows.Len() == 1:
		err = wire.ReadAt(l.values.r, dst, l.values.off+first*int64(l.f.raw.Size()))
	default:
		slab := format.Slab{At: matrix.Rect{Rows: rows, Cols: l.f.cols}, DType: l.f.raw, Order: wire.NativeOrder, Off: l.values.off}
		rest := dst
		for b, err := range slab.Blocks(ctx, l.values.r, at) {
			if err != nil {
				return err
			}
			raw, _ := wire.ViewAny(b.Data.Values())
			rest = rest[copy(rest, raw):]
		}
	}
	wire.Swap(dst, l.f.raw.Size(), l.order)
	return err
}

// some reads n bits from the first on.
func (s buffer) some(first, n int64) (bitmap, error) {
	raw := make([]byte, (first+n+7)/8-first/8)
	err := wire.ReadAt(s.r, raw, s.off+first/8)
	return bitmap{raw, int(first % 8)}, err
}

func (l *loaded) bits(dst []byte, at matrix.Rect) error {
	n := int(at.Cols.Len())
	for r := at.Rows.Lo; r < at.Rows.Hi; {
		rows := int64(1) // or all, if they lie behind each other
		if at.Cols == l.f.cols {
			rows = at.Rows.Len()
		}
		count := rows * int64(n)
		m, err := l.values.some((r-l.b.rows.Lo)*l.f.width()+at.Cols.Lo-l.f.cols.Lo, count)
		if err != nil {
			return err
		}
		for i := range int(count) {
			dst[i] = 0
			if m.has(i) {
				dst[i] = 1
			}
		}
		dst, r = dst[count:], r+rows
	}
	return nil
}

// blank puts what a null is into the cells that have no value.
func (l *loaded) blank(dst []byte, at matrix.Rect) error {
	size, width := l.f.held().Size(), at.Cols.Len()
	if l.valid.r != nil {
		m, err := l.valid.some(at.Rows.Lo-l.b.rows.Lo, at.Rows.Len())
		if err != nil {
			return err
		}
		a := absent{m: m, n: at.Rows.Len(), node: l.f.node, row: at.Rows.Lo, width: 1, dst: dst, size: int(width) * size}
		a.counted = at.Cols.Lo == l.f.cols.Lo // once for each row
		if err := l.absent(&a); err != nil {
			return err
		}
	}
	if l.items.r == nil {
		return nil
	}
	step := int64(1) // rows whose bits lie behind each other
	if at.Cols == l.f.cols {
		step = max(1, at.Rows.Len())
	}
	for r := at.Rows.Lo; r < at.Rows.Hi; r += step {
		m, err := l.items.some((r-l.b.rows.Lo)*l.f.width()+at.Cols.Lo-l.f.cols.Lo, step*width)
		if err != nil {
			return err
		}
		a := absent{m: m, n: step * width, node: l.f.node + 1, row: r, width: width, size: size, counted: true}
		a.dst = dst[(r-at.Rows.Lo)*width*int64(size):]
		if err := l.absent(&a); err != nil {
			return err
		}
	}
	return nil
}

// absent are bits that say which of n groups of bytes have no value.
type absent struct {
	m          bitmap
	n          int64
	node       int
	counted    bool   // the nulls are among those that the node counts
	row, width int64  // of the first bit, and how many bits a row has
	dst        []byte // of the groups
	size       int    // bytes of a group: one value or several
}

// absent puts what a null is into the groups whose bit is zero.
func (l *loaded) absent(a *absent) error {
	n := a.m.absent(int(a.n))
	if n == 0 {
		return nil
	}
	if a.counted {
		if l.seen[a.node] += int64(n); l.seen[a.node] > l.b.nulls(a.node) {
			return l.disagree(a.node)
		}
	}
	null, err := l.nulls.value(l.f.held())
	for i := range int(a.n) {
		if a.m.has(i) {
			continue
		}
		if err != nil {
			return fmt.Errorf("column %q, row %d: %w", l.f.name, a.row+int64(i)/a.width, err)
		}
		for k := i * a.size; k < (i+1)*a.size; k += len(null) {
			copy(a.dst[k:], null)
		}
	}
	return nil
}

// disagree says that the bitmap has other nulls than the node says.
func (l *loaded) disagree(node int) error {
	return fmt.Errorf("column %q: %d nulls in rows %v, want %d", l.f.name, l.seen[node], l.b.rows, l.b.nulls(node))
}
