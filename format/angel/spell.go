package angel

import (
	"encoding/binary"
	"math"

	"thole/internal/number"
)

// appendFloat64 and appendFloat32 write a number as Java's Double.toString and Float.toString do, from the fewest digits
// that read back to the same number: plain from 0.001 to below ten million, else with one digit before the point and an
// exponent.
func appendFloat64(dst []byte, v float64) []byte {
	raw := math.Float64bits(v)
	if raw>>52&0x7ff == 0x7ff {
		return appendSpecial(dst, v)
	}
	digits, exp := number.Shortest64(raw)
	return appendJava(dst, digits, exp, raw>>63 != 0)
}

func appendFloat32(dst []byte, v float32) []byte {
	raw := math.Float32bits(v)
	if raw>>23&0xff == 0xff {
		return appendSpecial(dst, float64(v))
	}
	digits, exp := number.Shortest32(raw)
	return appendJava(dst, uint64(digits), exp, raw>>31 != 0)
}

func appendSpecial(dst []byte, v float64) []byte {
	switch {
	case v != v:
		return append(dst, "NaN"...)
	case v > 0:
		return append(dst, "Infinity"...)
	}
	return append(dst, "-Infinity"...)
}

// longest is more than any number takes that is written here.
const longest = 32

// room makes dst longer by at least n bytes and gives it with the place where the next byte goes.
func room(dst []byte, n int) (all []byte, at int) {
	at = len(dst)
	if cap(dst)-at < n {
		dst = append(make([]byte, 0, 2*cap(dst)+n), dst...)
	}
	return dst[:at+n], at
}

// appendJava writes digits * 10^exp.
func appendJava(dst []byte, digits uint64, exp int, negative bool) []byte {
	dst, i := room(dst, longest)
	if negative {
		dst[i] = '-'
		i++
	}
	n := width(digits)
	switch point := n + exp; { // digits before the decimal point
	case digits == 0:
		return append(dst[:i], "0.0"...)
	case point > 7 || point < -2:
		return appendPower(dst, i, digits, n, point-1)
	case exp >= 0:
		digits *= whole[exp]
		putDigits(dst[i:], digits, point)
		i += point
		dst[i], dst[i+1] = '.', '0'
		return dst[:i+2]
	case point > 0:
		putDigits(dst[i+1:], digits, n)
		copy(dst[i:i+point], dst[i+1:i+1+point])
		dst[i+point] = '.'
		return dst[:i+n+1]
	default:
		copy(dst[i:], "0.00")
		i += 2 - point
		putDigits(dst[i:], digits, n)
		return dst[:i+n]
	}
}

// appendPower writes a number with an exponent behind it, from dst[i] on.
func appendPower(dst []byte, i int, digits uint64, n, exp int) []byte {
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
	w := width(uint64(exp))
	putDigits(dst[i:], uint64(exp), w)
	return dst[:i+w]
}

// whole are the powers of ten that a uint64 holds.
var whole = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19}

// width is the number of decimal digits, 1 for zero.
func width(v uint64) int {
	if v < 1e9 {
		switch {
		case v >= 1e8:
			return 9
		case v >= 1e7:
			return 8
		case v >= 1e6:
			return 7
		}
	} else if v >= 1e15 {
		n := 16
		for n < len(whole) && v >= whole[n] {
			n++
		}
		return n
	}
	n := 1
	for v >= whole[n] {
		n++
	}
	return n
}

const pairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051" +
	"525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// putDigits writes v, which has n digits, to the beginning of dst.
func putDigits(dst []byte, v uint64, n int) {
	for v >= 1e8 {
		q := v / 1e8
		n -= 8
		put8(dst[n:], uint32(v-q*1e8))
		v = q
	}
	u := uint32(v)
	for n >= 2 {
		q := u / 100
		p := (u - q*100) * 2
		n -= 2
		dst[n], dst[n+1] = pairs[p], pairs[p+1]
		u = q
	}
	if n == 1 {
		dst[0] = '0' + byte(u)
	}
}

// put8 writes eight digits, zeros before the first among them.
func put8(dst []byte, v uint32) {
	hi := v / 10000
	x := uint64(hi) | uint64(v-hi*10000)<<32                // two numbers of four digits
	q := x * 10486 >> 20 & (0x7f | 0x7f<<32)                // their upper two
	x = q | (x-q*100)<<16                                   // four of two
	q = x * 103 >> 10 & (0xf | 0xf<<16 | 0xf<<32 | 0xf<<48) // their upper one
	x = q | (x-q*10)<<8
	binary.LittleEndian.PutUint64(dst, x|0x3030303030303030)
}

// appendInt writes an integer.
func appendInt[T int32 | int64](dst []byte, v T) []byte {
	dst, i := room(dst, longest)
	u := uint64(v)
	if v < 0 {
		dst[i] = '-'
		i++
		u = -u
	}
	n := width(u)
	putDigits(dst[i:], u, n)
	return dst[:i+n]
}
