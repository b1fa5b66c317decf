package csv

import (
	"math"
	"strconv"

	"thole/internal/number"
	"thole/matrix"
)

// newColumn reads cells of the type.
func newColumn(d matrix.DType, e empty) column {
	switch d {
	case matrix.F64:
		return &cells[float64]{read: number.ParseFloat64, dtype: d, empty: e}
	case matrix.F32:
		return &cells[float32]{read: number.ParseFloat32, dtype: d, empty: e}
	case matrix.I64:
		return &cells[int64]{read: readI64, dtype: d, empty: e}
	case matrix.I32:
		return whole[int32](d, e, math.MinInt32, math.MaxInt32)
	case matrix.I16:
		return whole[int16](d, e, math.MinInt16, math.MaxInt16)
	case matrix.I8:
		return whole[int8](d, e, math.MinInt8, math.MaxInt8)
	case matrix.U64:
		return &cells[uint64]{read: readU64, dtype: d, empty: e}
	case matrix.U32:
		return whole[uint32](d, e, 0, math.MaxUint32)
	case matrix.U16:
		return whole[uint16](d, e, 0, math.MaxUint16)
	case matrix.U8:
		return whole[uint8](d, e, 0, math.MaxUint8)
	case matrix.F16:
		return &cells[matrix.Float16]{read: readF16, dtype: d, empty: e}
	case matrix.BF16:
		return &cells[matrix.BFloat16]{read: readBF16, dtype: d, empty: e}
	}
	return &cells[matrix.Boolean]{read: readBool, dtype: matrix.Bool, empty: e}
}

func whole[T matrix.Elem](d matrix.DType, e empty, lo, hi int64) column {
	return &cells[T]{dtype: d, empty: e, read: func(b []byte) (T, int) {
		v, n, ok := number.ParseInt64(b)
		if !ok || v < lo || v > hi {
			return 0, 0
		}
		return T(v), n
	}}
}

func readI64(b []byte) (int64, int) {
	v, n, ok := number.ParseInt64(b)
	if !ok {
		return 0, 0
	}
	return v, n
}

func readU64(b []byte) (uint64, int) {
	v, n, ok := number.ParseInt64(b)
	switch {
	case ok && v >= 0:
		return uint64(v), n
	case ok || n == 0 || b[0] == '-':
		return 0, 0
	}
	first := 0
	if b[0] == '+' {
		first = 1
	}
	u, err := strconv.ParseUint(string(b[first:n]), 10, 64)
	if err != nil {
		return 0, 0
	}
	return u, n
}

// readF16 rounds by way of float32, in which every float16 is exact. A finite number that becomes infinite is none.
func readF16(b []byte) (matrix.Float16, int) {
	v, n := number.ParseFloat32(b)
	h := matrix.ToFloat16(v)
	if math.IsInf(float64(h.Float32()), 0) && !math.IsInf(float64(v), 0) {
		return 0, 0
	}
	return h, n
}

func readBF16(b []byte) (matrix.BFloat16, int) {
	v, n := number.ParseFloat32(b)
	h := matrix.ToBFloat16(v)
	if math.IsInf(float64(h.Float32()), 0) && !math.IsInf(float64(v), 0) {
		return 0, 0
	}
	return h, n
}

// readBool reads 0, 1, true and false, the words in any case.
func readBool(b []byte) (matrix.Boolean, int) {
	switch {
	case b[0] == '0' || b[0] == '1':
		return matrix.Boolean(b[0] - '0'), 1
	case isWord(b, "true"):
		return 1, 4
	case isWord(b, "false"):
		return 0, 5
	}
	return 0, 0
}

// isWord tells whether b begins with the word, which is in lower case.
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
