package format

import (
	"context"
	"io"
	"iter"

	"thole/internal/wire"
	"thole/matrix"
)

// Fortran is a dense tensor within a file whose values lie in Fortran order: the first dimension changes fastest. At is
// the whole matrix that matrix.Shape makes of Dims.
type Fortran struct {
	Slab
	Dims []int64
}

// Blocks reads the values within want, in dense blocks of at most 16 MiB that belong to the caller. Errors are *wire.At
// with the byte of r.
func (f *Fortran) Blocks(ctx context.Context, r io.ReaderAt, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	if Flat(f.Dims) {
		return f.Slab.Blocks(ctx, r, want)
	}
	want = f.At.Intersect(want)
	turned := matrix.Rect{Rows: want.Cols, Cols: want.Rows} // some columns at a time, because their values lie together
	return func(yield func(matrix.Block, error) bool) {
		for t := range Bands(turned, f.bandCells(want.Cols)) {
			b, err := matrix.Block{}, ctx.Err()
			if err == nil {
				b, err = f.turn(r, matrix.Rect{Rows: t.Cols, Cols: t.Rows})
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// Flat tells whether a tensor lies the same in both orders: at most one dimension is longer than 1.
func Flat(dims []int64) bool {
	long := 0
	for _, n := range dims {
		if n > 1 {
			long++
		}
	}
	return long < 2
}

// turn reads a place column by column and puts it row-major.
func (f *Fortran) turn(r io.ReaderAt, at matrix.Rect) (matrix.Block, error) {
	b := matrix.NewDense(f.DType, at)
	raw, size := wire.ViewAny(b.Data.Values())
	n, cols := int(at.Rows.Len())*size, int(at.Cols.Len())
	run := make([]byte, n) // of one column, or of as many as lie behind each other
	together := len(f.Dims) == 2 && at.Rows.Len() == f.Dims[0]
	if together {
		run = make([]byte, n*cols)
		if err := wire.ReadAt(r, run, f.place(at.Rows.Lo, at.Cols.Lo)); err != nil {
			return b, err
		}
	}
	for c := range cols {
		col := run
		if together {
			col = run[c*n:][:n]
		} else if err := wire.ReadAt(r, col, f.place(at.Rows.Lo, at.Cols.Lo+int64(c))); err != nil {
			return b, err
		}
		scatter(raw[c*size:], col, size, cols*size)
	}
	wire.Swap(raw, size, f.Order)
	return b, CheckBools(b, f.Off)
}

// scatter copies the elements of one column to their rows, which are pitch bytes apart.
func scatter(dst, col []byte, size, pitch int) {
	for i, o := 0, 0; i < len(col); i, o = i+size, o+pitch {
		copy(dst[o:o+size], col[i:i+size])
	}
}

// place is the byte of a cell. The column counts the cells of all dimensions but the first in C order.
func (f *Fortran) place(row, col int64) int64 {
	rest, step := int64(0), int64(1)
	index := make([]int64, len(f.Dims))
	for i := len(f.Dims) - 1; i > 0; i-- {
		index[i] = col % f.Dims[i]
		col /= f.Dims[i]
	}
	for i := 1; i < len(f.Dims); i++ {
		rest += index[i] * step
		step *= f.Dims[i]
	}
	return f.Off + (rest*f.Dims[0]+row)*int64(f.DType.Size())
}
