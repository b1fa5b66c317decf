package angel

import (
	"bytes"
	"math"

	"thole.example/internal/number"
	"thole.example/matrix"
)

// Number is an element type that Angel stores.
type Number interface {
	float64 | float32 | int64 | int32
}

// spelling is how the numbers of one type are read from text and written to it. parse reads the longest number at the
// beginning of b and says how many bytes it has; 0 if there is none or it does not fit the type. put writes to b[i:], which
// has room for longest bytes, and says where the number ends.
type spelling[T Number] struct {
	parse func(b []byte) (v T, n int)
	put   func(b []byte, i int, v T) int
}

func spellingOf[T Number]() spelling[T] {
	var s any
	switch matrix.DTypeOf[T]() {
	case matrix.F64:
		s = spelling[float64]{parseFloat64, putFloat64}
	case matrix.F32:
		s = spelling[float32]{parseFloat32, putFloat32}
	case matrix.I64:
		s = spelling[int64]{parseInt, putInt[int64]}
	default:
		s = spelling[int32]{parseInt32, putInt[int32]}
	}
	return s.(spelling[T])
}

// reading is spellingOf for the numbers of a file, which may have a comma before the fraction.
func reading[T Number](s style) func(b []byte) (T, int) {
	parse := spellingOf[T]().parse
	if !s.comma {
		return parse
	}
	return func(b []byte) (T, int) {
		end := 0
		for end < len(b) && b[end] != '\n' && b[end] != '\r' && (b[end] == ',' || s.sep == "" || b[end] != s.sep[0]) {
			end++
		}
		var room [64]byte
		token := append(room[:0], b[:min(end, 1024)]...)
		if at := bytes.IndexByte(token, ','); at >= 0 {
			token[at] = '.'
		}
		if v, n := parse(token); n == end {
			return v, n
		}
		return 0, 0
	}
}

// AppendNumber writes v as Java does: integers in decimal, floats as Float.toString and Double.toString with the fewest
// digits that read back to v.
func AppendNumber[T Number](dst []byte, v T) []byte {
	dst, i := room(dst, longest)
	return dst[:spellingOf[T]().put(dst, i, v)]
}

// ParseNumber reads the longest number at the beginning of b and says how many bytes it has; 0 if there is none or it does
// not fit the type.
func ParseNumber[T Number](b []byte) (v T, n int) { return spellingOf[T]().parse(b) }

func parseInt32(b []byte) (int32, int) {
	v, n := parseInt(b)
	if v != int64(int32(v)) {
		return 0, 0
	}
	return int32(v), n
}

// parseInt reads an optional sign and decimal digits.
func parseInt(b []byte) (v int64, n int) {
	if len(b) > 1 && b[1]-'0' > 9 && b[0]-'0' <= 9 {
		return int64(b[0] - '0'), 1
	}
	v, n, ok := number.ParseInt64(b)
	if !ok {
		return 0, 0
	}
	return v, n
}

func parseFloat64(b []byte) (float64, int) {
	if v, n := number.ParseFloat64(b); n > 0 {
		return v, n
	}
	return parseSign(b)
}

func parseFloat32(b []byte) (float32, int) {
	if v, n := number.ParseFloat32(b); n > 0 {
		return v, n
	}
	v, n := parseSign(b)
	return float32(v), n
}

// parseSign reads the single bytes that Java's stream keeps of the signs for infinity (U+221E) and for not a number
// (U+FFFD).
func parseSign(b []byte) (float64, int) {
	sign, n := 1.0, 0
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if b[0] == '-' {
			sign = -1
		}
		n = 1
	}
	switch {
	case n == len(b):
		return 0, 0
	case b[n] == 0x1e:
		return math.Inf(int(sign)), n + 1
	case b[n] == 0xfd:
		return math.NaN(), n + 1
	}
	return 0, 0
}
