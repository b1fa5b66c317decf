package format

import (
	"math"

	"thole.example/internal/number"
	"thole.example/matrix"
)

// CellReader is the reader of decimal numbers of the type at the beginning of text: it gives the number and its length, 0
// if there is none or one that the type does not hold. Whole types take digits with a sign and nothing else. Floats are
// rounded once, to nearest even (half floats by way of f32); finite numbers beyond the largest are none. Truth values are
// 0, 1, true and false, the words in any case.
func CellReader[T matrix.Stored]() func(b []byte) (T, int) {
	var read any
	switch matrix.DTypeOf[T]() {
	case matrix.F64:
		read = number.ParseFloat64
	case matrix.F32:
		read = number.ParseFloat32
	case matrix.I64:
		read = readI64
	case matrix.I32:
		read = wholeReader[int32](math.MinInt32, math.MaxInt32)
	case matrix.I16:
		read = wholeReader[int16](math.MinInt16, math.MaxInt16)
	case matrix.I8:
		read = wholeReader[int8](math.MinInt8, math.MaxInt8)
	case matrix.U64:
		read = readU64
	case matrix.U32:
		read = wholeReader[uint32](0, math.MaxUint32)
	case matrix.U16:
		read = wholeReader[uint16](0, math.MaxUint16)
	case matrix.U8:
		read = wholeReader[uint8](0, math.MaxUint8)
	case matrix.F16:
		read = halfReader(matrix.ToFloat16)
	case matrix.BF16:
		read = halfReader(matrix.ToBFloat16)
	default:
		read = readBool
	}
	return read.(func(b []byte) (T, int))
}

func wholeReader[T matrix.Elem](lo, hi int64) func(b []byte) (T, int) {
	return func(b []byte) (T, int) {
		v, n, ok := number.ParseInt64(b)
		if !ok || v < lo || v > hi {
			return 0, 0
		}
		return T(v), n
	}
}

func readI64(b []byte) (int64, int) {
	v, n, ok := number.ParseInt64(b)
	if !ok {
		return 0, 0
	}
	return v, n
}

func readU64(b []byte) (uint64, int) {
	sign := 0
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		sign = 1
	}
	v, n, ok := number.ParseUint64(b[sign:])
	if !ok || sign == 1 && b[0] == '-' && v != 0 {
		return 0, 0
	}
	return v, sign + n
}

// halfReader rounds by way of float32, in which every half float is exact.
func halfReader[T interface {
	matrix.Stored
	Float32() float32
}](round func(float32) T) func(b []byte) (T, int) {
	return func(b []byte) (T, int) {
		v, n := number.ParseFloat32(b)
		h := round(v)
		if math.IsInf(float64(h.Float32()), 0) && !math.IsInf(float64(v), 0) {
			return h, 0
		}
		return h, n
	}
}

func readBool(b []byte) (matrix.Boolean, int) {
	switch {
	case len(b) > 0 && b[0]|1 == '1':
		return matrix.Boolean(b[0] - '0'), 1
	case isWord(b, "true"):
		return 1, 4
	case isWord(b, "false"):
		return 0, 5
	}
	return 0, 0
}

// isWord reports whether b begins with the word, which is in lower case.
func isWord(b []byte, word string) bool {
	if len(b) < len(word) {
		return false
	}
	for i := range len(word) {
		if b[i]|0x20 != word[i] {
			return false
		}
	}
	return true
}
