package paddle

import (
	"fmt"

	"thole.example/format"
	"thole.example/matrix"
)

// element is what one of Paddle's codes of element types means.
type element = format.Element

// elements are Paddle's codes of element types (VarType.Type), the same in every release. What the table leaves out is no
// element of a tensor and is refused by number.
var elements = [...]element{
	0: {DType: matrix.Bool}, 1: {DType: matrix.I16}, 2: {DType: matrix.I32}, 3: {DType: matrix.I64},
	4: {DType: matrix.F16}, 5: {DType: matrix.F32}, 6: {DType: matrix.F64},
	19: {DType: matrix.U64}, 20: {DType: matrix.U8}, 21: {DType: matrix.I8}, 22: {DType: matrix.BF16},
	23: {DType: matrix.F32, Origin: format.Complex64}, 24: {DType: matrix.F64, Origin: format.Complex128},
	32: {DType: matrix.U8, Origin: format.Float8E4M3}, 33: {DType: matrix.U8, Origin: format.Float8E5M2},
}

// codeF32 is the type of records that do not name one.
const codeF32 = 5

// elementOf is what a code means.
func elementOf(code int64) (element, error) {
	if code >= 0 && code < int64(len(elements)) && elements[code].DType != matrix.Invalid {
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
		if known.DType == d && known.Origin == "" {
			return byte(c), d
		}
	}
	return codeF32, matrix.F32
}

// origins are the names of the element types that are none of ours.
func origins() []string {
	return []string{format.Complex64, format.Complex128, format.Float8E4M3, format.Float8E5M2}
}

// adopt is the code of the type that the matrix's values come from, and the dimensions of its tensor; ok is false if the
// matrix does not hold such values any more.
func adopt(m *matrix.Meta, dims []int64) (code byte, tensor []int64, ok bool) {
	for c, e := range elements {
		if tensor, ok := e.Of(m, dims); ok {
			return byte(c), tensor, true
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
