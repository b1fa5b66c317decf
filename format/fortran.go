package format

import (
	"context"
	"encoding/binary"
	"io"
	"iter"

	"thole.example/matrix"
	"thole.example/wire"
)

// Fortran is a dense tensor within a file whose values lie in Fortran order: the first dimension changes fastest. At is
// the whole matrix that matrix.Shape makes of Dims; with Pair, which says that an element is two values beside each other,
// it has two columns for each of that.
type Fortran struct {
	Slab
	Dims []int64
	Pair bool
}

// Blocks reads the values within want, in dense blocks of at most 16 MiB that belong to the caller. Errors are *wire.At
// with the byte of r.
func (f *Fortran) Blocks(ctx context.Context, r io.ReaderAt, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	if Flat(f.Dims) {
		return f.Slab.Blocks(ctx, r, want)
	}
	want = f.At.Intersect(want)
	unit := f.unit()
	columns := matrix.Range{Lo: want.Cols.Lo / unit, Hi: (want.Cols.Hi + unit - 1) / unit} // of elements
	turned := matrix.Rect{Rows: columns, Cols: want.Rows}                                  // whose values lie together
	return func(yield func(matrix.Block, error) bool) {
		for t := range Bands(turned, f.bandCells(want.Cols)) {
			b, err := matrix.Block{}, ctx.Err()
			if err == nil {
				b, err = f.turn(r, matrix.Rect{Rows: t.Cols, Cols: t.Rows})
			}
			if err == nil && !want.Contains(b.At) {
				b = b.Cut(want) // half an element
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// Flat reports whether a tensor lies the same in both orders: at most one dimension is longer than 1.
func Flat(dims []int64) bool {
	long := 0
	for _, n := range dims {
		if n > 1 {
			long++
		}
	}
	return long < 2
}

// turnedBytes is about how many bytes of columns are turned at a time.
const turnedBytes = 1 << 20

// unit is how many values an element has.
func (f *Fortran) unit() int64 {
	if f.Pair {
		return 2
	}
	return 1
}

// turn reads a place, whose columns are elements, some columns at a time and puts them row-major.
func (f *Fortran) turn(r io.ReaderAt, at matrix.Rect) (matrix.Block, error) {
	unit := f.unit()
	b := matrix.NewDense(f.DType, matrix.Rect{Rows: at.Rows, Cols: matrix.Range{Lo: at.Cols.Lo * unit, Hi: at.Cols.Hi * unit}})
	raw, one := wire.ViewAny(b.Data.Values())
	size := one * int(unit)
	n, cols := int(at.Rows.Len())*size, int(at.Cols.Len())
	step := min(cols, max(cacheLine/size, turnedBytes/n))
	buf := make([]byte, n*step)
	together := len(f.Dims) == 2 && at.Rows.Len() == f.Dims[0] // columns lie behind each other
	for c := 0; c < cols; c += step {
		some := buf[:n*min(step, cols-c)]
		width := n
		if together {
			width = len(some)
		}
		for k := 0; k < len(some); k += width {
			if err := wire.ReadAt(r, some[k:k+width], f.place(at.Rows.Lo, at.Cols.Lo+int64(c+k/n))); err != nil {
				return b, err
			}
		}
		transpose(raw[c*size:], some, size, n, cols*size)
	}
	wire.Swap(raw, one, f.Order)
	return b, CheckBools(b, f.Off)
}

// cacheLine is how many bytes memory moves at a time.
const cacheLine = 64

// transpose copies columns of n bytes each to their places in rows that are pitch bytes apart, a cache line of a row at a
// time.
func transpose(dst, src []byte, size, n, pitch int) {
	for group := n * (cacheLine / size); len(src) > 0; {
		some := src[:min(group, len(src))]
		for i, to := 0, 0; i < n; i, to = i+size, to+pitch {
			row := dst[to:]
			switch size {
			case 4:
				for k := i; k < len(some); k += n {
					binary.NativeEndian.PutUint32(row, binary.NativeEndian.Uint32(some[k:]))
					row = row[4:]
				}
			case 8:
				for k := i; k < len(some); k += n {
					binary.NativeEndian.PutUint64(row, binary.NativeEndian.Uint64(some[k:]))
					row = row[8:]
				}
			default:
				for k := i; k < len(some); k += n {
					row = row[copy(row, some[k:k+size]):]
				}
			}
		}
		src = src[len(some):]
		dst = dst[min(len(dst), len(some)/n*size):]
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
	return f.Off + (rest*f.Dims[0]+row)*f.unit()*int64(f.DType.Size())
}
