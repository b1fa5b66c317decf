package paddle

import (
	"fmt"

	"thole/format"
	"thole/matrix"
)

// dtypes are Paddle's codes of element types (VarType.Type), the same in every release. Those that the table leaves out
// (complex, 8-bit floats, and what is no tensor element) are refused by number.
var dtypes = [...]matrix.DType{
	0: matrix.Bool, 1: matrix.I16, 2: matrix.I32, 3: matrix.I64, 4: matrix.F16, 5: matrix.F32, 6: matrix.F64,
	19: matrix.U64, 20: matrix.U8, 21: matrix.I8, 22: matrix.BF16,
}

// codeF32 is the type of records that do not name one.
const codeF32 = 5

// dtypeOf is the element type of a code.
func dtypeOf(code int64) (matrix.DType, error) {
	if code >= 0 && code < int64(len(dtypes)) && dtypes[code] != matrix.Invalid {
		return dtypes[code], nil
	}
	return matrix.Invalid, fmt.Errorf("element type code %d, want one of 0..6, 19..22: %w", code, format.ErrVersion)
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
	for c, known := range dtypes {
		if known == d {
			return byte(c), d
		}
	}
	return codeF32, matrix.F32
}
