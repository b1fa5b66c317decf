package angel

import (
	"encoding/binary"
	"math"

	"thole.example/internal/number"
)

// longest is more than any number takes that is written here, with room behind it for bytes that are written at once.
const longest = 40

// room makes dst longer by at least n bytes and gives it with the place where the next byte goes.
func room(dst []byte, n int) (all []byte, at int) {
	at = len(dst)
	if cap(dst)-at < n {
		dst = append(make([]byte, 0, 2*cap(dst)+n), dst...)
	}
	return dst[:at+n], at
}

func appendFloat64(dst []byte, v float64) []byte {
	dst, i := room(dst, longest)
	return dst[:putFloat64(dst, i, v)]
}

func appendFloat32(dst []byte, v float32) []byte {
	dst, i := room(dst, longest)
	return dst[:putFloat32(dst, i, v)]
}

func appendInt[T int32 | int64](dst []byte, v T) []byte {
	dst, i := room(dst, longest)
	return dst[:putInt(dst, i, v)]
}

// putFloat64 and putFloat32 write a number to dst[i:], as Java's Double.toString and Float.toString do, from the fewest
// digits that read back to the same number: plain from 0.001 to below ten million, else with one digit before the point
// and an exponent. They answer where it ends; dst has room for longest bytes.
func putFloat64(dst []byte, i int, v float64) int {
	raw := math.Float64bits(v)
	if raw>>52&0x7ff == 0x7ff {
		return putSpecial(dst, i, v)
	}
	digits, exp := number.Shortest64(raw)
	return putJava(dst, i, digits, exp, int(raw>>63))
}

func putFloat32(dst []byte, i int, v float32) int {
	raw := math.Float32bits(v)
	if raw>>23&0xff == 0xff {
		return putSpecial(dst, i, float64(v))
	}
	digits, exp := number.Shortest32(raw)
	return putJava(dst, i, uint64(digits), exp, int(raw>>31))
}

func putSpecial(dst []byte, i int, v float64) int {
	switch {
	case v != v:
		return i + copy(dst[i:], "NaN")
	case v > 0:
		return i + copy(dst[i:], "Infinity")
	}
	return i + copy(dst[i:], "-Infinity")
}

// putJava writes digits * 10^exp, with a sign if negative is 1.
func putJava(dst []byte, i int, digits uint64, exp, negative int) int {
	dst[i] = '-'
	i += negative
	n := number.Width(digits)
	switch point := n + exp; { // digits before the decimal point
	case digits == 0:
		return i + copy(dst[i:], "0.0")
	case point > 7 || point < -2:
		return putPower(dst, i, digits, n, point-1)
	case exp >= 0:
		number.PutDigits(dst[i:], digits*number.Power10(exp), point)
		i += point
		dst[i], dst[i+1] = '.', '0'
		return i + 2
	case point > 0:
		number.PutDigits(dst[i+1:], digits, n)
		for k := i; k < i+point; k++ {
			dst[k] = dst[k+1]
		}
		dst[i+point] = '.'
		return i + n + 1
	default:
		binary.LittleEndian.PutUint32(dst[i:], '0'|'.'<<8|'0'<<16|'0'<<24)
		i += 2 - point
		number.PutDigits(dst[i:], digits, n)
		return i + n
	}
}

// putPower writes a number with an exponent behind it.
func putPower(dst []byte, i int, digits uint64, n, exp int) int {
	number.PutDigits(dst[i+1:], digits, n)
	dst[i], dst[i+1] = dst[i+1], '.'
	i += n + 1
	if n == 1 {
		dst[i] = '0'
		i++
	}
	dst[i] = 'E'
	i++
	if exp < 0 {
		dst[i] = '-'
		i++
		exp = -exp
	}
	n = number.Width(uint64(exp))
	number.PutDigits(dst[i:], uint64(exp), n)
	return i + n
}

// putInt writes an integer to dst[i:] and answers where it ends; dst has room for longest bytes.
func putInt[T int32 | int64](dst []byte, i int, v T) int {
	u := uint64(v)
	if v < 0 {
		dst[i] = '-'
		i++
		u = -u
	}
	n := number.Width(u)
	number.PutDigits(dst[i:], u, n)
	return i + n
}
