package blockio

import "thole.example/matrix"

// Codes says which byte stands for which value type.
type Codes uint8

const (
	// Extended has the document's codes, and codes of our own for f16, bf16 and bool; the wide form is allowed.
	Extended Codes = iota
	// Document has the ten codes of the format document.
	Document
	// Daphne has the codes of DAPHNE's own files, which know no 16-bit types.
	Daphne
)

var documentTypes = [...]matrix.DType{
	1: matrix.U8, 2: matrix.U16, 3: matrix.U32, 4: matrix.U64,
	5: matrix.I8, 6: matrix.I16, 7: matrix.I32, 8: matrix.I64,
	9: matrix.F32, 10: matrix.F64,
	16: matrix.F16, 17: matrix.BF16, 18: matrix.Bool,
}

// documentLast is the last code of the document; those above are ours.
const documentLast = 10

var daphneTypes = [...]matrix.DType{
	0: matrix.I8, 1: matrix.I32, 2: matrix.I64,
	3: matrix.U8, 4: matrix.U32, 5: matrix.U64,
	6: matrix.F32, 7: matrix.F64,
}

func (c Codes) table() []matrix.DType {
	switch c {
	case Document:
		return documentTypes[:documentLast+1]
	case Daphne:
		return daphneTypes[:]
	}
	return documentTypes[:]
}

// DType is the value type of a code; Invalid if the code stands for none.
func (c Codes) DType(code uint8) matrix.DType {
	if t := c.table(); int(code) < len(t) {
		return t[code]
	}
	return matrix.Invalid
}

// Code is the code of a value type; ok is false if there is none.
func (c Codes) Code(d matrix.DType) (code uint8, ok bool) {
	for i, t := range c.table() {
		if t == d && d != matrix.Invalid {
			return uint8(i), true
		}
	}
	return 0, false
}

// String names the set of codes.
func (c Codes) String() string {
	switch c {
	case Document:
		return "document"
	case Daphne:
		return "daphne"
	}
	return "extended"
}
