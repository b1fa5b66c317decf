package number

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// longest is more than a number takes that is written here, with the room behind it that PutDigits wants.
const longest = 40

// AppendFloat64 writes v with the fewest digits that ParseFloat64 reads back to the same bits, in the form of strconv's
// verb g: as -0, 0.1, 123456, 1e+06, Inf, -Inf, NaN. Where two spellings are as short and as near the even one is taken.
func AppendFloat64(dst []byte, v float64) []byte {
	raw := math.Float64bits(v)
	if v-v != 0 {
		return appendSpecial(dst, v)
	}
	dst, i := room(dst, raw>>63)
	if end := putDecimal(dst, i, math.Abs(v)); end > 0 {
		return dst[:end]
	}
	digits, exp := Shortest64(raw)
	return dst[:putFloat(dst, i, digits, exp)]
}

// AppendFloat32 writes v with the fewest digits that ParseFloat32 reads back to the same bits, as AppendFloat64 does.
func AppendFloat32(dst []byte, v float32) []byte {
	raw := math.Float32bits(v)
	if v-v != 0 {
		return appendSpecial(dst, float64(v))
	}
	dst, i := room(dst, uint64(raw>>31))
	digits, exp := Shortest32(raw)
	return dst[:putFloat(dst, i, uint64(digits), exp)]
}

// AppendInt64 writes v in decimal.
func AppendInt64(dst []byte, v int64) []byte {
	u := uint64(v)
	if v < 0 {
		u = -u
	}
	dst, i := room(dst, uint64(v)>>63)
	n := Width(u)
	PutDigits(dst[i:], u, n)
	return dst[:i+n]
}

// room makes dst longer, with a sign if negative is 1, and answers where the digits go.
func room(dst []byte, negative uint64) (all []byte, at int) {
	at = len(dst)
	if cap(dst)-at < longest {
		dst = slices.Grow(dst, longest)
	}
	dst = dst[:at+longest]
	dst[at] = '-'
	return dst, at + int(negative)
}

func appendSpecial(dst []byte, v float64) []byte {
	switch {
	case v > 0:
		return append(dst, "Inf"...)
	case v < 0:
		return append(dst, "-Inf"...)
	}
	return append(dst, "NaN"...)
}

// putFloat writes digits * 10^exp to dst[i:] and answers where it ends.
func putFloat(dst []byte, i int, digits uint64, exp int) int {
	n := Width(digits)
	switch point := n + exp; { // digits before the decimal point
	case point > 6 || point < -3:
		return putPower(dst, i, digits, n, point-1)
	case exp >= 0:
		PutDigits(dst[i:], digits*whole[exp], point)
		return i + point
	case point > 0:
		PutDigits(dst[i+1:], digits, n)
		for k := i; k < i+point; k++ {
			dst[k] = dst[k+1]
		}
		dst[i+point] = '.'
		return i + n + 1
	default:
		copy(dst[i:], "0.000")
		i += 2 - point
		PutDigits(dst[i:], digits, n)
		return i + n
	}
}

// putPower writes a number with an exponent of two digits or three behind it.
func putPower(dst []byte, i int, digits uint64, n, exp int) int {
	PutDigits(dst[i+1:], digits, n)
	dst[i] = dst[i+1]
	i++
	if n > 1 {
		dst[i] = '.'
		i += n
	}
	dst[i], dst[i+1] = 'e', '+'
	if exp < 0 {
		dst[i+1] = '-'
		exp = -exp
	}
	i += 2
	if exp < 10 {
		dst[i] = '0'
		i++
	}
	n = Width(uint64(exp))
	PutDigits(dst[i:], uint64(exp), n)
	return i + n
}

// scale is the power of ten of the decimals that putDecimal knows.
const scale = 1e8

// putDecimal writes a number of at most 8 decimals between 0.0001 and a million, faster than Shortest64 finds its digits,
// and answers where it ends; 0 if the number is another.
//
// Such a number times scale is a whole number m of at most 14 digits. If m/scale, rounded once, is v again, then the
// digits of m read back to v; and no two decimals of 15 digits or fewer are the same float64, so that no shorter one
// does.
func putDecimal(dst []byte, i int, v float64) int {
	if !(v >= 1e-4 && v < 1e6) {
		return 0
	}
	m := uint64(v*scale + 0.5)
	if float64(m)/scale != v {
		return 0
	}
	before, behind := eightDigits(uint32(m/scale)), eightDigits(uint32(m%scale))
	skip := min(bits.TrailingZeros64(before^eightZeros), 56) &^ 7 // bits of zeros before the first digit
	binary.LittleEndian.PutUint64(dst[i:], before>>uint(skip))
	i += 8 - skip>>3
	if behind == eightZeros {
		return i
	}
	dst[i] = '.'
	binary.LittleEndian.PutUint64(dst[i+1:], behind)
	return i + 9 - bits.LeadingZeros64(behind^eightZeros)>>3
}
