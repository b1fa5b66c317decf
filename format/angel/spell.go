package angel

import (
	"encoding/binary"
	"math"
	"math/bits"

	"thole/internal/number"
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
	n := width(digits)
	switch point := n + exp; { // digits before the decimal point
	case digits == 0:
		return i + copy(dst[i:], "0.0")
	case point > 7 || point < -2:
		return putPower(dst, i, digits, n, point-1)
	case exp >= 0:
		putDigits(dst[i:], digits*whole[exp], point)
		i += point
		dst[i], dst[i+1] = '.', '0'
		return i + 2
	case point > 0:
		putDigits(dst[i+1:], digits, n)
		for k := i; k < i+point; k++ {
			dst[k] = dst[k+1]
		}
		dst[i+point] = '.'
		return i + n + 1
	default:
		binary.LittleEndian.PutUint32(dst[i:], '0'|'.'<<8|'0'<<16|'0'<<24)
		i += 2 - point
		putDigits(dst[i:], digits, n)
		return i + n
	}
}

// putPower writes a number with an exponent behind it.
func putPower(dst []byte, i int, digits uint64, n, exp int) int {
	putDigits(dst[i+1:], digits, n)
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
	n = width(uint64(exp))
	putDigits(dst[i:], uint64(exp), n)
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
	n := width(u)
	putDigits(dst[i:], u, n)
	return i + n
}

// whole are the powers of ten that a uint64 holds.
var whole = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19}

// width is the number of decimal digits, 1 for zero.
func width(v uint64) int {
	n := bits.Len64(v|1) * 1233 >> 12 // log10 of the next power of two, rounded down
	if v|1 >= whole[n] {
		n++
	}
	return n
}

// putDigits writes v, which has n digits, to the beginning of dst. The eight bytes behind them may change too.
func putDigits(dst []byte, v uint64, n int) {
	if v < 1e8 {
		binary.LittleEndian.PutUint64(dst, eightDigits(uint32(v))>>uint(64-8*n))
		return
	}
	q := v / 1e8
	putDigits(dst, q, n-8)
	binary.LittleEndian.PutUint64(dst[n-8:], eightDigits(uint32(v-q*1e8)))
}

// eightDigits are the digits of v, with zeros before them, the first in the lowest byte.
func eightDigits(v uint32) uint64 {
	hi := v / 10000
	x := uint64(hi) | uint64(v-hi*10000)<<32                // two numbers of four digits
	q := x * 10486 >> 20 & (0x7f | 0x7f<<32)                // their upper two
	x = q | (x-q*100)<<16                                   // four of two
	q = x * 103 >> 10 & (0xf | 0xf<<16 | 0xf<<32 | 0xf<<48) // their upper one
	return (q | (x-q*10)<<8) | 0x3030303030303030
}
