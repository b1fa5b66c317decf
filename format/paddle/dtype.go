package paddle

import (
	"fmt"
	"slices"

	"thole/format"
	"thole/matrix"
)

// element is what one of Paddle's codes of element types means.
type element struct {
	// dtype is how the bytes in a file are read.
	dtype matrix.DType
	// origin is Paddle's name of a type that is none of ours; "" for the others. Its values are held as another type that
	// has all of them: 8-bit floats as f16, complex numbers as pairs of floats in one dimension more, of length 2.
	origin string
}

// elements are Paddle's codes of element types (VarType.Type), the same in every release. What the table leaves out is no
// element of a tensor and is refused by number.
var elements = [...]element{
	0: {dtype: matrix.Bool}, 1: {dtype: matrix.I16}, 2: {dtype: matrix.I32}, 3: {dtype: matrix.I64},
	4: {dtype: matrix.F16}, 5: {dtype: matrix.F32}, 6: {dtype: matrix.F64},
	19: {dtype: matrix.U64}, 20: {dtype: matrix.U8}, 21: {dtype: matrix.I8}, 22: {dtype: matrix.BF16},
	23: {matrix.F32, complex64Name}, 24: {matrix.F64, complex128Name},
	32: {matrix.U8, e4m3Name}, 33: {matrix.U8, e5m2Name},
}

// The element types that are none of ours, as Meta.Origin has them.
const (
	complex64Name  = "complex64"
	complex128Name = "complex128"
	e4m3Name       = "fp8_e4m3fn"
	e5m2Name       = "fp8_e5m2"
)

// codeF32 is the type of records that do not name one.
const codeF32 = 5

// String names the type.
func (e element) String() string {
	if e.origin != "" {
		return e.origin
	}
	return e.dtype.String()
}

// pair tells whether an element is two numbers, real and imaginary.
func (e element) pair() bool { return e.origin == complex64Name || e.origin == complex128Name }

// eight tells whether an element is a float of 8 bits.
func (e element) eight() bool { return e.origin == e4m3Name || e.origin == e5m2Name }

// held is the element type of the matrix.
func (e element) held() matrix.DType {
	if e.eight() {
		return matrix.F16
	}
	return e.dtype
}

// shape are the dimensions of the matrix of a tensor.
func (e element) shape(dims []int64) []int64 {
	if e.pair() {
		return append(slices.Clip(dims), 2)
	}
	return dims
}

// elementOf is what a code means.
func elementOf(code int64) (element, error) {
	if code >= 0 && code < int64(len(elements)) && elements[code].dtype != matrix.Invalid {
		return elements[code], nil
	}
	return element{}, fmt.Errorf("element type code %d, want one of 0..6, 19..24, 32, 33: %w", code, format.ErrVersion)
}

// codeOf is the code of the type in which elements of type d are stored, and that type: u32 and u16, for which Paddle
// has no code, are stored in the next larger signed type.
func codeOf(d matrix.DType) (code byte, as matrix.DType) {
	switch d {
	case matrix.U32:
		d = matrix.I64
	case matrix.U16:
		d = matrix.I32
	}
	for c, known := range elements {
		if known.dtype == d && known.origin == "" {
			return byte(c), d
		}
	}
	return codeF32, matrix.F32
}

// origins are the names of the element types that are none of ours.
func origins() []string { return []string{complex64Name, complex128Name, e4m3Name, e5m2Name} }

// adopt is the code of the type that the matrix's values come from, and the dimensions of its tensor; ok is false if the
// matrix does not hold such values any more.
func adopt(m *matrix.Meta, dims []int64) (code byte, tensor []int64, ok bool) {
	for c, e := range elements {
		if e.origin != m.Origin || e.held() != m.DType || m.Origin == "" {
			continue
		}
		if !e.pair() {
			return byte(c), dims, true
		}
		if n := len(dims); m.Dims != nil && n > 0 && dims[n-1] == 2 {
			return byte(c), dims[:n-1], true
		}
	}
	return 0, nil, false
}

// typeText names the element type of a code.
func typeText(code int64) string {
	if e, err := elementOf(code); err == nil {
		return e.String()
	}
	return "unknown"
}
