package number

import (
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

// Plain is the text that AppendPlain writes for the number that text is; ok is false, and the text comes back as it is, if it is none
// or starts with zeros that numbers do not have (007). Digits alone are kept, however many. What it answers with is the text, or is
// appended to dst, which may be nil.
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
	return AppendPlain(slices.Grow(dst[:0], longest), v), true
}
