package npy

import (
	"context"
	"fmt"
	"iter"

	"thole/blob"
	"thole/format"
	"thole/internal/wire"
	"thole/matrix"
)

// reader reads one array.
type reader struct {
	obj  blob.Object
	path string
	head head
	m    matrix.Meta
}

// Matrices implements format.Reader.
func (r *reader) Matrices() []matrix.Meta { return []matrix.Meta{r.m} }

// Notes implements format.Reader.
func (r *reader) Notes() []string { return []string{r.head.dialect()} }

// Files implements format.Reader.
func (r *reader) Files() map[string][]byte { return nil }

// Close implements format.Reader.
func (r *reader) Close() error { return r.obj.Close() }

// Blocks implements format.Reader.
func (r *reader) Blocks(ctx context.Context, matrixName string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		if matrixName != r.m.Name {
			yield(matrix.Block{}, format.Wrap(name, r.path, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix)))
			return
		}
		slab := r.head.slab()
		blocks := slab.Blocks(ctx, r.obj, want)
		if r.head.fortran && !r.head.flat() {
			blocks = r.columns(ctx, slab.At.Intersect(want))
		}
		for b, err := range blocks {
			if !yield(b, format.Wrap(name, r.path, err)) {
				return
			}
		}
	}
}

// bandBytes is how much of a Fortran array is read and turned at a time.
const bandBytes = 16 << 20

// columns reads the place of an array in Fortran order: some columns at a time, because their values lie together.
func (r *reader) columns(ctx context.Context, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	size := int64(r.head.dtype.Size())
	turned := matrix.Rect{Rows: want.Cols, Cols: want.Rows}
	return func(yield func(matrix.Block, error) bool) {
		for t := range format.Bands(turned, bandBytes/size) {
			b, err := matrix.Block{}, ctx.Err()
			if err == nil {
				b, err = r.turn(matrix.Rect{Rows: t.Cols, Cols: t.Rows})
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// turn reads a place column by column and puts it row-major.
func (r *reader) turn(at matrix.Rect) (matrix.Block, error) {
	b := matrix.NewDense(r.head.dtype, at)
	raw, size := wire.ViewAny(b.Data.Values())
	n, cols := int(at.Rows.Len())*size, int(at.Cols.Len())
	run := make([]byte, n) // of one column, or of as many as lie behind each other
	together := r.head.together(at)
	if together {
		run = make([]byte, n*cols)
		if err := wire.ReadAt(r.obj, run, r.head.place(at.Rows.Lo, at.Cols.Lo)); err != nil {
			return b, err
		}
	}
	for c := range cols {
		col := run
		if together {
			col = run[c*n:][:n]
		} else if err := wire.ReadAt(r.obj, col, r.head.place(at.Rows.Lo, at.Cols.Lo+int64(c))); err != nil {
			return b, err
		}
		scatter(raw[c*size:], col, size, cols*size)
	}
	wire.Swap(raw, size, r.head.order)
	return b, format.CheckBools(b, r.head.values)
}

// scatter copies the elements of one column to their rows, which are pitch bytes apart.
func scatter(dst, col []byte, size, pitch int) {
	for i, o := 0, 0; i < len(col); i, o = i+size, o+pitch {
		copy(dst[o:o+size], col[i:i+size])
	}
}

// together tells whether the columns of the place lie behind each other without gaps.
func (h *head) together(at matrix.Rect) bool {
	return len(h.shape) == 2 && at.Rows.Len() == h.shape[0]
}

// place is the byte of a cell of an array in Fortran order. The column counts the cells of all dimensions but the first
// in C order.
func (h *head) place(row, col int64) int64 {
	rest, step := int64(0), int64(1)
	index := make([]int64, len(h.shape))
	for i := len(h.shape) - 1; i > 0; i-- {
		index[i] = col % h.shape[i]
		col /= h.shape[i]
	}
	for i := 1; i < len(h.shape); i++ {
		rest += index[i] * step
		step *= h.shape[i]
	}
	return h.values + (rest*h.shape[0]+row)*int64(h.dtype.Size())
}
