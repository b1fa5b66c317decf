package mtx

import (
	"context"
	"fmt"
	"iter"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/wire"
)

// bandCells is how many values of an array are held at a time, if its symmetry allows it.
const bandCells = 1 << 20

// array reads the values of an array file, column by column.
type array[T value] struct{ h *head }

// blocks implements source. The file is read from its beginning to its end whatever is wanted of it.
func (a *array[T]) blocks(ctx context.Context, o blob.Object, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		p := &parser[T]{h: a.h, parse: parserOf[T]()}
		c := counter{h: a.h, lines: a.h.lines}
		f := a.filler(want, yield)
		for one, err := range format.ParseLines(ctx, o, a.h.values, a.h.size, p.cells) {
			if err == nil {
				err = c.add(one.lines, len(one.val), one.at, one.open, one.err)
			}
			if err != nil {
				yield(matrix.Block{}, err)
				return
			}
			if f.take(one.val); f.done {
				return
			}
		}
		if err := c.end(); err != nil {
			yield(matrix.Block{}, err)
			return
		}
		f.end()
	}
}

// filler puts values that come column by column into dense blocks.
type filler[T value] struct {
	h        *head
	want     matrix.Rect
	yield    func(matrix.Block, error) bool
	row, col int64 // of the next value
	band     matrix.Rect
	val      []T
	done     bool // yield does not want more
}

func (a *array[T]) filler(want matrix.Rect, yield func(matrix.Block, error) bool) *filler[T] {
	f := &filler[T]{h: a.h, yield: yield}
	whole := matrix.At(0, a.h.rows, 0, a.h.cols)
	f.want = want.Intersect(whole)
	if a.h.symmetry == skew && !whole.Empty() {
		f.row = 1
		f.skip()
	}
	if !f.want.Empty() {
		f.begin(f.want.Rows.Lo, f.want.Cols.Lo)
	}
	return f
}

// begin starts the block whose first cell that is: of several columns, or of a part of one.
func (f *filler[T]) begin(row, col int64) {
	rows := f.want.Rows
	f.band = matrix.Rect{Rows: rows, Cols: matrix.Range{Lo: col, Hi: f.want.Cols.Hi}}
	switch {
	case f.h.symmetry != general: // any column holds cells of all others
	case rows.Len() > bandCells:
		f.band = matrix.At(row, min(row+bandCells, rows.Hi), col, col+1)
	default:
		f.band.Cols.Hi = min(f.band.Cols.Hi, col+bandCells/rows.Len())
	}
	n, _ := f.band.Cells()
	f.val = make([]T, n)
}

// take puts values at the next places. There are not more than the file must have.
func (f *filler[T]) take(val []T) {
	for len(val) > 0 && !f.done {
		n := int(min(int64(len(val)), f.h.rows-f.row)) // of one column
		if f.h.symmetry != general {
			f.both(val[:n])
		} else if f.want.Cols.Has(f.col) {
			f.run(val[:n])
		}
		val = val[n:]
		f.row += int64(n)
		f.skip()
	}
}

// skip goes on to the next column that has values, at the end of one.
func (f *filler[T]) skip() {
	for f.row >= f.h.rows && f.col < f.h.cols {
		f.col++
		switch f.row = 0; f.h.symmetry {
		case symmetric:
			f.row = f.col
		case skew:
			f.row = f.col + 1
		}
	}
}

// run puts neighbouring values of one wanted column, and yields the blocks that they fill.
func (f *filler[T]) run(val []T) {
	at := matrix.Range{Lo: f.row, Hi: f.row + int64(len(val))}
	for part := at.Intersect(f.band.Rows); part.Len() > 0; part = at.Intersect(f.band.Rows) {
		width := f.band.Cols.Len()
		to := (part.Lo-f.band.Rows.Lo)*width + f.col - f.band.Cols.Lo
		for _, v := range val[part.Lo-at.Lo:][:part.Len()] {
			f.val[to] = v
			to += width
		}
		if part.Hi < f.band.Rows.Hi || f.col+1 < f.band.Cols.Hi {
			return
		}
		if !f.emit() {
			return
		}
		switch {
		case f.band.Rows.Hi < f.want.Rows.Hi:
			f.begin(f.band.Rows.Hi, f.col)
		case f.col+1 < f.want.Cols.Hi:
			f.begin(f.want.Rows.Lo, f.col+1)
			return
		default:
			f.band = matrix.Rect{}
		}
	}
}

// both puts neighbouring values of one column of a symmetric matrix and their mirror images.
func (f *filler[T]) both(val []T) {
	width := f.band.Cols.Len()
	for i, v := range val {
		r, c := f.row+int64(i), f.col
		if f.band.Rows.Has(r) && f.band.Cols.Has(c) {
			f.val[(r-f.band.Rows.Lo)*width+c-f.band.Cols.Lo] = v
		}
		if r == c || !f.band.Rows.Has(c) || !f.band.Cols.Has(r) {
			continue
		}
		if f.h.symmetry == skew {
			if v = -v; v == val[i] && v < 0 {
				err := fmt.Errorf("value %v in cell (%d,%d), whose opposite is no %s", v, r+1, c+1, f.h.field.word)
				f.yield(matrix.Block{}, &wire.At{Off: f.h.values, Err: err})
				f.done = true
				return
			}
		}
		f.val[(c-f.band.Rows.Lo)*width+r-f.band.Cols.Lo] = v
	}
}

// end yields what is complete only now.
func (f *filler[T]) end() {
	if f.h.symmetry != general && !f.done && !f.band.Empty() {
		f.emit()
	}
}

func (f *filler[T]) emit() bool {
	b, err := narrow(f.h, matrix.Block{At: f.band, Data: &matrix.Dense[T]{Val: f.val}})
	f.done = !f.yield(b, err) || err != nil
	return !f.done
}
