package format

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"

	"thole.example/blob"
	"thole.example/matrix"
)

// The element types that are none of ours, as Meta.Origin has them.
const (
	Complex64  = "complex64"
	Complex128 = "complex128"
	Float8E4M3 = "fp8_e4m3fn"
	Float8E5M2 = "fp8_e5m2"
	// Of another family: one zero, one NaN (0x80) and no infinities.
	Float8E4M3Z = "fp8_e4m3fnuz"
	Float8E5M2Z = "fp8_e5m2fnuz"
)

// Element is an element type as a format stores it. Values of a type that is none of ours are held as another type that
// has all of them: 8-bit floats as f16, complex numbers as pairs of floats in one dimension more, of length 2.
type Element struct {
	DType  matrix.DType // how the bytes in a file are read
	Origin string       // the name of a type that is none of ours; "" for the others
}

// String names the type.
func (e Element) String() string {
	if e.Origin != "" {
		return e.Origin
	}
	return e.DType.String()
}

// Pair reports whether an element is two numbers, real and imaginary.
func (e Element) Pair() bool { return e.Origin == Complex64 || e.Origin == Complex128 }

// Eight reports whether an element is a float of 8 bits.
func (e Element) Eight() bool {
	return e.Origin == Float8E4M3 || e.Origin == Float8E5M2 || e.Origin == Float8E4M3Z || e.Origin == Float8E5M2Z
}

// Held is the element type of the matrix.
func (e Element) Held() matrix.DType {
	if e.Eight() {
		return matrix.F16
	}
	return e.DType
}

// Shape are the dimensions of the matrix of a tensor; they may share memory with dims.
func (e Element) Shape(dims []int64) []int64 {
	if e.Pair() {
		return append(slices.Clip(dims), 2)
	}
	return dims
}

// OriginNotes say how the values of matrices are held whose element type is none of ours.
func OriginNotes(ms []matrix.Meta) (notes []string) {
	of := map[string]int{}
	for _, m := range ms {
		if m.Origin != "" {
			of[m.Origin]++
		}
	}
	for _, origin := range slices.Sorted(maps.Keys(of)) {
		how := "as f16, exactly"
		if (Element{Origin: origin}).Pair() {
			how = "as pairs of floats, real and imaginary part, in a last dimension of 2"
		}
		notes = append(notes, fmt.Sprintf("%s in %d tensors, held %s", origin, of[origin], how))
	}
	return notes
}

// Of reports whether the values of the matrix can be stored as this type that is none of ours, as far as type and shape
// say, and the dimensions of its tensor, of a matrix with these.
func (e Element) Of(m *matrix.Meta, dims []int64) (tensor []int64, ok bool) {
	if m.Origin == "" || e.Origin != m.Origin || e.Held() != m.DType {
		return nil, false
	}
	if !e.Pair() {
		return dims, true
	}
	n := len(dims)
	if m.Dims == nil || n == 0 || dims[n-1] != 2 {
		return nil, false
	}
	return dims[:n-1], true
}

// Widen gives the value of every 8-bit float of the type, all of which an f16 holds exactly. No two codes have the same
// bits, NaNs included.
//
//	fp8_e4m3fn     sign, 4 bits exponent (bias 7), 3 bits fraction; no infinities, NaN is 0x7f and 0xff; up to 448
//	fp8_e5m2       the upper half of an f16
//	fp8_e4m3fnuz   as fp8_e4m3fn with bias 8; NaN is 0x80 alone, there is no minus zero; up to 240
//	fp8_e5m2fnuz   sign, 5 bits exponent (bias 16), 2 bits fraction; NaN is 0x80 alone; up to 57344
func (e Element) Widen() *[256]matrix.Float16 {
	var all [256]matrix.Float16
	fraction, bias, nan := 3, 7, []int{0x7f, 0xff}
	switch e.Origin {
	case Float8E5M2:
		for i := range all {
			all[i] = matrix.Float16(i << 8)
		}
		return &all
	case Float8E4M3Z:
		bias, nan = 8, []int{0x80}
	case Float8E5M2Z:
		fraction, bias, nan = 2, 16, []int{0x80}
	}
	for i := range all {
		exp, v := i&0x7f>>fraction, i&(1<<fraction-1)
		if exp > 0 {
			v |= 1 << fraction
		}
		all[i] = matrix.ToFloat16(float32(math.Ldexp(float64(v), max(exp, 1)-bias-fraction)))
		if slices.Contains(nan, i) {
			all[i] = 0x7e00
		}
		all[i] |= matrix.Float16(i&0x80) << 8
	}
	return &all
}

// widened are the blocks with their 8-bit floats as a matrix holds them.
func (e Element) widened(blocks iter.Seq2[matrix.Block, error]) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		value := e.Widen()
		for b, err := range blocks {
			if bits, ok := b.Data.(*matrix.Dense[uint8]); ok {
				b.Data = &matrix.Dense[matrix.Float16]{Val: replaced(bits.Val, func(v uint8) matrix.Float16 { return value[v] })}
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

func replaced[T, U any](from []T, by func(T) U) []U {
	to := make([]U, len(from))
	for i, v := range from {
		to[i] = by(v)
	}
	return to
}

// ElementSlab is a slab of values of any element type: its DType is how they are stored.
type ElementSlab struct {
	Slab
	Origin string // of their type if it is none of ours
}

// Viewable reports whether View can show the slab if the object can be mapped.
func (s *ElementSlab) Viewable() bool {
	return !(Element{Origin: s.Origin}).Eight() && s.Slab.Viewable()
}

// View shows the values in place as Slab.View does, if they are stored as the matrix holds them.
func (s *ElementSlab) View(ctx context.Context, o blob.Object, look func(matrix.Block) error) (ok bool, err error) {
	if !s.Viewable() {
		return false, nil
	}
	return s.Slab.View(ctx, o, look)
}

// Blocks reads the values within want as the matrix holds them, as Slab.Blocks does.
func (s *ElementSlab) Blocks(ctx context.Context, r io.ReaderAt, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	e := Element{DType: s.DType, Origin: s.Origin}
	if !e.Eight() {
		return s.Slab.Blocks(ctx, r, want)
	}
	return e.widened(s.Slab.Blocks(ctx, r, want))
}

// narrowed is a block of 8-bit floats, as they are stored, of one that holds them as f16. A value that 8 bits do not hold
// is ErrLossy.
func narrowed(matrixName string, back map[matrix.Float16]uint8, b matrix.Block) (matrix.Block, error) {
	var odd error
	bits := func(v matrix.Float16) uint8 {
		to, exact := back[v]
		if !exact && odd == nil {
			odd = fmt.Errorf("matrix %q: value %v, which no 8-bit float of its type is: %w", matrixName, v.Float32(), ErrLossy)
		}
		return to
	}
	switch d := b.Data.(type) {
	case *matrix.Dense[matrix.Float16]:
		b.Data = &matrix.Dense[uint8]{Val: replaced(d.Val, bits)}
	case *matrix.CSR[matrix.Float16]:
		b.Data = &matrix.CSR[uint8]{Ptr: d.Ptr, Idx: d.Idx, Val: replaced(d.Val, bits)}
	case *matrix.COO[matrix.Float16]:
		b.Data = &matrix.COO[uint8]{Row: d.Row, Col: d.Col, Val: replaced(d.Val, bits)}
	case *matrix.Cols[matrix.Float16]:
		b.Data = &matrix.Cols[uint8]{Idx: d.Idx, Val: replaced(d.Val, bits)}
	case matrix.Empty:
		b.Data = matrix.Empty{D: matrix.U8}
	default:
		return b, fmt.Errorf("matrix %q: block of type %v, want %v", matrixName, b.Data.DType(), matrix.F16)
	}
	return b, odd
}
