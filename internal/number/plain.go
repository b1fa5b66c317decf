package number

import (
	"bytes"
	"math"
	"slices"
	"strconv"
)

// PlainLimit is from which size on AppendPlain writes numbers with an exponent, unless they are whole and have 64 bits; its inverse is
// below which size.
const PlainLimit = 1e15

// AppendPlain writes v as a text that all spellings of the same number share: whole numbers below 2^64 as integers (1, 10000000, 0 for
// -0), others with the fewest digits that read back to the same bits, without an exponent from 1e-15 to 1e15 (0.1, 0.00001, 1e+20),
// inf, -inf and NaN.
func AppendPlain(dst []byte, v float64) []byte {
	a := math.Abs(v)
	switch {
	case v != v:
		return append(dst, "NaN"...)
	case a > math.MaxFloat64:
		return append(dst, map[bool]string{true: "inf", false: "-inf"}[v > 0]...)
	case a < 1<<64 && a == math.Trunc(a):
		if v < 0 {
			dst = append(dst, '-')
		}
		return strconv.AppendUint(dst, uint64(a), 10)
	case a >= PlainLimit || a < 1/PlainLimit:
		return strconv.AppendFloat(dst, v, 'e', -1, 64)
	case a >= 1e-3 && a < 1e6: // where AppendFloat64, which is faster, writes no exponent
		return AppendFloat64(dst, v)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, 64)
}

// AppendPlain32 writes v as AppendPlain writes the shortest decimal number that rounds to it: 0.1, not 0.10000000149011612.
func AppendPlain32(dst []byte, v float32) []byte {
	if a := math.Abs(float64(v)); a < 1<<24 && a == math.Trunc(a) || v-v != 0 {
		return AppendPlain(dst, float64(v))
	}
	var room [longest]byte
	short, _ := ParseFloat64(AppendFloat32(room[:0], v)) // which it is
	return AppendPlain(dst, short)
}

// Plain is the text that AppendPlain writes for the number in text; ok is false, and the text is returned unchanged, if it is not a number
// or has leading zeros (007). Integers keep all their digits, however many. So do decimals with more digits than a float64, except zeros at
// the end, unless they are the digits of a float64 (0.1000000000000000055). The result is text, or is appended to dst, which may be nil.
func Plain(dst, text []byte) (plain []byte, ok bool) {
	sign, digits := 0, text
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		sign, digits = 1, text[1:]
	}
	whole := 0
	for whole < len(digits) && digits[whole]-'0' <= 9 {
		whole++
	}
	switch {
	case whole > 1 && digits[0] == '0':
		return text, false
	case whole == len(digits) && whole > 0:
		switch {
		case digits[0] == '0':
			return digits, true
		case sign == 1 && text[0] == '+':
			return digits, true
		}
		return text, true
	}
	v, n := ParseFloat64(text)
	if n == 0 || n != len(text) || v != v {
		return text, false
	}
	if long, ok := longFraction(dst[:0], text, digits, whole, v); ok {
		return long, true
	}
	return AppendPlain(slices.Grow(dst[:0], longest), v), true
}

// doubleDigits is how many significant digits the text of a float64 has at most.
const doubleDigits = 17

// longFraction appends a number with a point but no exponent that has more digits than v, the nearest float64, and is not v with all of its
// digits: whole of them are before the point.
func longFraction(dst, text, digits []byte, whole int, v float64) (long []byte, ok bool) {
	if whole == len(digits) || digits[whole] != '.' || bytes.ContainsAny(digits, "eE") {
		return dst, false
	}
	fraction := bytes.TrimRight(digits[whole+1:], "0")
	significant := whole + len(fraction)
	if whole == 0 || digits[0] == '0' {
		significant = len(bytes.TrimLeft(fraction, "0"))
	}
	if significant <= doubleDigits {
		return dst, false
	}
	if exact := strconv.AppendFloat(nil, math.Abs(v), 'f', len(digits)-whole-1, 64); bytes.Equal(exact, digits) {
		return dst, false
	}
	if text[0] == '-' {
		dst = append(dst, '-')
	}
	if whole == 0 {
		dst = append(dst, '0')
	}
	if dst = append(dst, digits[:whole]...); len(fraction) > 0 {
		dst = append(append(dst, '.'), fraction...)
	}
	return dst, true
}
