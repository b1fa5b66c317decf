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
				err = c.add(one.lines, one.entries, one.at, one.open, one.err)
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

// filler puts values that come column by column into dense blocks. Its columns are those of the file: a value has one or
// two numbers.
type filler[T value] struct {
	h        *head
	asked    matrix.Rect // of the matrix
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
	f.asked = want.Intersect(matrix.At(0, a.h.rows, 0, a.h.width()))
	f.want = f.asked
	f.want.Cols = matrix.Range{Lo: f.asked.Cols.Lo / a.h.field.parts, Hi: (f.asked.Cols.Hi + a.h.field.parts - 1) / a.h.field.parts}
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
	f.val = make([]T, n*f.h.field.parts)
}

// take puts values at the next places. There are not more than the file must have.
func (f *filler[T]) take(val []T) {
	parts := int(f.h.field.parts)
	for len(val) > 0 && !f.done {
		n := int(min(int64(len(val)/parts), f.h.rows-f.row)) // of one column
		if f.h.symmetry != general {
			f.both(val[:n*parts])
		} else if f.want.Cols.Has(f.col) {
			f.run(val[:n*parts])
		}
		val = val[n*parts:]
		f.row += int64(n)
		f.skip()
	}
}

// skip goes on to the next column that has values, at the end of one.
func (f *filler[T]) skip() {
	for f.row >= f.h.rows && f.col < f.h.cols {
		f.col++
		switch f.row = 0; f.h.symmetry {
		case symmetric, hermitian:
			f.row = f.col
		case skew:
			f.row = f.col + 1
		}
	}
}

// run puts neighbouring values of one wanted column, and yields the blocks that they fill.
func (f *filler[T]) run(val []T) {
	parts := f.h.field.parts
	at := matrix.Range{Lo: f.row, Hi: f.row + int64(len(val))/parts}
	for part := at.Intersect(f.band.Rows); part.Len() > 0; part = at.Intersect(f.band.Rows) {
		width := f.band.Cols.Len()
		to := (part.Lo-f.band.Rows.Lo)*width + f.col - f.band.Cols.Lo
		some := val[(part.Lo-at.Lo)*parts:][:part.Len()*parts]
		for i := int64(0); i < int64(len(some)); i += parts {
			copy(f.val[to*parts:], some[i:i+parts])
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
	parts := int(f.h.field.parts)
	for i := 0; i < len(val); i += parts {
		v, im := val[i], T(0)
		if parts == 2 {
			im = val[i+1]
		}
		r, c := f.row+int64(i/parts), f.col
		if !f.h.mayStand(r, c, im != 0) {
			err := fmt.Errorf("imaginary part %v in cell (%d,%d) on the diagonal of a hermitian matrix, want 0", im, r+1, c+1)
			f.yield(matrix.Block{}, &wire.At{Off: f.h.values, Err: err})
			f.done = true
			return
		}
		f.put(r, c, v, im)
		if r == c || !f.band.Rows.Has(c) || !f.band.Cols.Has(r) {
			continue
		}
		o, oim := opposite(f.h.symmetry, v, im)
		if f.h.symmetry == skew && o == v && v < 0 {
			err := fmt.Errorf("value %v in cell (%d,%d), whose opposite is no %s", v, r+1, c+1, f.h.field.word)
			f.yield(matrix.Block{}, &wire.At{Off: f.h.values, Err: err})
			f.done = true
			return
		}
		f.put(c, r, o, oim)
	}
}

// put puts one value, if the block has its place.
func (f *filler[T]) put(r, c int64, v, im T) {
	if !f.band.Rows.Has(r) || !f.band.Cols.Has(c) {
		return
	}
	to := ((r-f.band.Rows.Lo)*f.band.Cols.Len() + c - f.band.Cols.Lo) * f.h.field.parts
	if f.val[to] = v; f.h.field.parts == 2 {
		f.val[to+1] = im
	}
}

// end yields what is complete only now.
func (f *filler[T]) end() {
	if f.h.symmetry != general && !f.done && !f.band.Empty() {
		f.emit()
	}
}

func (f *filler[T]) emit() bool {
	at := f.band
	at.Cols = matrix.Range{Lo: at.Cols.Lo * f.h.field.parts, Hi: at.Cols.Hi * f.h.field.parts}
	b, err := narrow(f.h, matrix.Block{At: at, Data: &matrix.Dense[T]{Val: f.val}})
	if !f.asked.Contains(at) { // half a value
		b = b.Cut(f.asked)
	}
	f.done = !f.yield(b, err) || err != nil
	return !f.done
}
