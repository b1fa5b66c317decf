package angel

import (
	"bytes"
	"math"
	"strconv"

	"thole/matrix"
)

// number is an element type that Angel stores.
type number interface {
	float64 | float32 | int64 | int32
}

// spelling is how the numbers of one type are read from text and written to it. parse reads the longest number at the
// beginning of b and says how many bytes it has; 0 if there is none or it does not fit the type.
type spelling[T number] struct {
	parse  func(b []byte) (v T, n int)
	append func(dst []byte, v T) []byte
}

func spellingOf[T number]() spelling[T] {
	var s any
	switch matrix.DTypeOf[T]() {
	case matrix.F64:
		s = spelling[float64]{parseFloat64, appendFloat64}
	case matrix.F32:
		s = spelling[float32]{parseFloat32, appendFloat32}
	case matrix.I64:
		s = spelling[int64]{parseInt, appendInt[int64]}
	default:
		s = spelling[int32]{parseInt32, appendInt[int32]}
	}
	return s.(spelling[T])
}

func appendInt[T int32 | int64](dst []byte, v T) []byte { return strconv.AppendInt(dst, int64(v), 10) }

func parseInt32(b []byte) (int32, int) {
	v, n := parseInt(b)
	if v != int64(int32(v)) {
		return 0, 0
	}
	return int32(v), n
}

// parseInt reads an optional sign and decimal digits.
func parseInt(b []byte) (v int64, n int) {
	neg := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		n = 1
	}
	first := n
	var u uint64
	for n < len(b) && b[n]-'0' <= 9 {
		u = u*10 + uint64(b[n]-'0')
		n++
	}
	switch digits := n - first; {
	case digits == 0:
		return 0, 0
	case digits > 18: // u may have wrapped around
		w, err := strconv.ParseInt(string(b[:n]), 10, 64)
		if err != nil {
			return 0, 0
		}
		return w, n
	case neg:
		return -int64(u), n
	}
	return int64(u), n
}

// decimal is a number as its digits say it: mant * 10^exp. exact is false if mant lost digits.
type decimal struct {
	mant  uint64
	exp   int
	neg   bool
	exact bool
}

// scanDecimal reads sign, digits, fraction and exponent. n is 0 if there is no digit before the exponent.
func scanDecimal(b []byte) (d decimal, n int) {
	d.exact = true
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		d.neg = b[0] == '-'
		n = 1
	}
	digits, point := 0, -1
	for ; n < len(b); n++ {
		c := b[n] - '0'
		if c > 9 {
			if b[n] != '.' || point >= 0 {
				break
			}
			point = digits
			continue
		}
		digits++
		if d.mant < 1e18 {
			d.mant = d.mant*10 + uint64(c)
		} else {
			d.exact = false
		}
	}
	if digits == 0 {
		return d, 0
	}
	if point >= 0 {
		d.exp = point - digits
	}
	if n < len(b) && (b[n] == 'E' || b[n] == 'e') {
		if e, m := parseInt(b[n+1:]); m > 0 {
			d.exp += int(max(-1<<20, min(e, 1<<20)))
			n += 1 + m
		}
	}
	return d, n
}

// tens are the powers of ten that a float64 holds exactly.
var tens = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// quick is the float64 nearest to d by one exact operation, where mantissa and power of ten are both exact.
func (d *decimal) quick() (v float64, ok bool) {
	if !d.exact || d.mant > 1<<53 || d.exp < -22 || d.exp > 22 {
		return 0, false
	}
	v = float64(d.mant)
	if d.exp < 0 {
		v /= tens[-d.exp]
	} else {
		v *= tens[d.exp]
	}
	if d.neg {
		v = -v
	}
	return v, true
}

func parseFloat64(b []byte) (float64, int) {
	d, n := scanDecimal(b)
	if n == 0 {
		return parseSpecial(b)
	}
	if v, ok := d.quick(); ok {
		return v, n
	}
	return parseSlow(b[:n], 64)
}

func parseFloat32(b []byte) (float32, int) {
	d, n := scanDecimal(b)
	if n == 0 {
		v, n := parseSpecial(b)
		return float32(v), n
	}
	if v, ok := d.quick(); ok {
		if a := math.Abs(v); a == 0 || a >= 0x1p-126 && a < math.MaxFloat32 {
			// Rounding twice is wrong only where the first result lies at the middle of two float32.
			if low := math.Float64bits(v) & (1<<29 - 1); low-(1<<28-1) > 2 {
				return float32(v), n
			}
		}
	}
	v, n := parseSlow(b[:n], 32)
	return float32(v), n
}

func parseSlow(b []byte, bits int) (float64, int) {
	v, err := strconv.ParseFloat(string(b), bits)
	if err != nil {
		return 0, 0
	}
	return v, len(b)
}

// specials are the spellings of what is not a finite number. The single bytes are what Java's stream keeps of the
// characters for infinity (U+221E) and for not a number (U+FFFD).
var specials = []struct {
	text string
	v    float64
}{
	{"NaN", math.NaN()}, {"nan", math.NaN()}, {"\xfd", math.NaN()},
	{"Infinity", math.Inf(1)}, {"inf", math.Inf(1)}, {"Inf", math.Inf(1)}, {"\x1e", math.Inf(1)},
}

func parseSpecial(b []byte) (float64, int) {
	sign, n := 1.0, 0
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if b[0] == '-' {
			sign = -1
		}
		n = 1
	}
	for _, s := range specials {
		if bytes.HasPrefix(b[n:], []byte(s.text)) {
			return math.Copysign(s.v, sign), n + len(s.text)
		}
	}
	return 0, 0
}

func appendFloat64(dst []byte, v float64) []byte { return appendJava(dst, v, 64) }
func appendFloat32(dst []byte, v float32) []byte { return appendJava(dst, float64(v), 32) }

// appendJava writes a number as Java's Float.toString and Double.toString do, from the shortest digits that read back
// to the same number: plain from 0.001 to below ten million, else with one digit before the point and an exponent.
func appendJava(dst []byte, v float64, bits int) []byte {
	abs := math.Abs(v)
	switch {
	case v != v:
		return append(dst, "NaN"...)
	case abs > math.MaxFloat64 && v > 0:
		return append(dst, "Infinity"...)
	case abs > math.MaxFloat64:
		return append(dst, "-Infinity"...)
	case abs == 0 || abs >= 1e-3 && abs < 1e7:
		first := len(dst)
		dst = strconv.AppendFloat(dst, v, 'f', -1, bits)
		if bytes.IndexByte(dst[first:], '.') < 0 {
			dst = append(dst, '.', '0')
		}
		return dst
	}
	var room [32]byte
	text := strconv.AppendFloat(room[:0], v, 'e', -1, bits)
	e := bytes.IndexByte(text, 'e')
	dst = append(dst, text[:e]...)
	if bytes.IndexByte(text[:e], '.') < 0 {
		dst = append(dst, '.', '0')
	}
	dst = append(dst, 'E')
	if text[e+1] == '-' {
		dst = append(dst, '-')
	}
	return append(dst, bytes.TrimLeft(text[e+2:], "0")...)
}
