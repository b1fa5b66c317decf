package paddle

import (
	"context"
	"fmt"
	"io"
	"iter"

	"thole/blob"
	"thole/format"
	"thole/matrix"
)

// widen gives the value of every 8-bit float of the type, all of which an f16 holds exactly.
//
//	fp8_e4m3fn   sign, 4 bits exponent (bias 7), 3 bits fraction; no infinities, NaN is 0x7f and 0xff; up to 448
//	fp8_e5m2     the upper half of an f16
func widen(origin string) *[256]matrix.Float16 {
	var all [256]matrix.Float16
	for i := range all {
		if origin == e5m2Name {
			all[i] = matrix.Float16(i << 8)
			continue
		}
		exp, frac := i>>3&15, i&7
		v := float32(frac) / 512 // below the smallest normal number, 2^-6
		if exp > 0 {
			v = float32(8+frac) * float32(int(1)<<exp) / 1024
		}
		all[i] = matrix.ToFloat16(v)
		if i&0x7f == 0x7f {
			all[i] = 0x7e00
		}
		all[i] |= matrix.Float16(i&0x80) << 8
	}
	return &all
}

// tensorSlab is a slab of values as Paddle stores them.
type tensorSlab struct {
	format.Slab
	origin string
}

// viewable tells whether the values in the file are those of the matrix.
func (s *tensorSlab) viewable() bool { return !(element{origin: s.origin}).eight() }

// Blocks reads the values within want, as the matrix holds them.
func (s *tensorSlab) Blocks(ctx context.Context, r io.ReaderAt, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	if s.viewable() {
		return s.Slab.Blocks(ctx, r, want)
	}
	return func(yield func(matrix.Block, error) bool) {
		value := widen(s.origin)
		for b, err := range s.Slab.Blocks(ctx, r, want) {
			if bits, ok := b.Data.(*matrix.Dense[uint8]); ok {
				b.Data = &matrix.Dense[matrix.Float16]{Val: replace(bits.Val, func(v uint8) matrix.Float16 { return value[v] })}
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

func replace[T, U any](from []T, by func(T) U) []U {
	to := make([]U, len(from))
	for i, v := range from {
		to[i] = by(v)
	}
	return to
}

// narrower is a writer of matrices of which some are stored as 8-bit floats.
type narrower struct {
	format.Writer
	byteOf map[string]map[matrix.Float16]uint8 // by matrix
}

// newWriter is format.NewSlabWriter for the file of the records.
func newWriter(ctx context.Context, b blob.Bucket, path string, o format.Options, f format.SlabFile, of []record) (format.Writer, error) {
	n := narrower{byteOf: map[string]map[matrix.Float16]uint8{}}
	for i := range of {
		if e := elements[of[i].code]; e.eight() {
			back := map[matrix.Float16]uint8{}
			for bits, v := range widen(e.origin) {
				back[v] = uint8(bits)
			}
			n.byteOf[of[i].name] = back
		}
	}
	w, err := format.NewSlabWriter(ctx, b, path, o, f)
	if err != nil || len(n.byteOf) == 0 {
		return w, err
	}
	n.Writer = w
	return n, nil
}

// Put implements format.Writer. A value that 8 bits do not hold is ErrLossy.
func (n narrower) Put(ctx context.Context, matrixName string, b matrix.Block) (format.Part, error) {
	back, ok := n.byteOf[matrixName]
	if !ok {
		return n.Writer.Put(ctx, matrixName, b)
	}
	var odd error
	bits := func(v matrix.Float16) uint8 {
		to, exact := back[v]
		if !exact && odd == nil {
			odd = fmt.Errorf("matrix %q: value %v, which no 8-bit float of its type is: %w", matrixName, v.Float32(), format.ErrLossy)
		}
		return to
	}
	switch d := b.Data.(type) {
	case *matrix.Dense[matrix.Float16]:
		b.Data = &matrix.Dense[uint8]{Val: replace(d.Val, bits)}
	case *matrix.CSR[matrix.Float16]:
		b.Data = &matrix.CSR[uint8]{Ptr: d.Ptr, Idx: d.Idx, Val: replace(d.Val, bits)}
	case *matrix.COO[matrix.Float16]:
		b.Data = &matrix.COO[uint8]{Row: d.Row, Col: d.Col, Val: replace(d.Val, bits)}
	case *matrix.Cols[matrix.Float16]:
		b.Data = &matrix.Cols[uint8]{Idx: d.Idx, Val: replace(d.Val, bits)}
	case matrix.Empty:
		b.Data = matrix.Empty{D: matrix.U8}
	default:
		return nil, fmt.Errorf("matrix %q: block of type %v, want %v", matrixName, b.Data.DType(), matrix.F16)
	}
	if odd != nil {
		return nil, odd
	}
	return n.Writer.Put(ctx, matrixName, b)
}
