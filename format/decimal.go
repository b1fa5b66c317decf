package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"strconv"
)

// exact are the powers of ten that a double holds.
var exact = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
	1e20, 1e21, 1e22}

// Decimal is v with so many digits behind the point, rounded once.
func Decimal(v int64, digits int) float64 {
	if v >= -1<<53 && v <= 1<<53 && digits >= 0 && digits < len(exact) {
		return float64(v) / exact[digits]
	}
	return rounded(strconv.AppendInt(nil, v, 10), digits)
}

// rounded is the number of the decimal text with so many digits behind the point; infinite beyond the largest double.
func rounded(text []byte, digits int) float64 {
	text = strconv.AppendInt(append(text, 'e'), -int64(digits), 10)
	v, _ := strconv.ParseFloat(string(text), 64) // digits and an exponent: nothing else can be wrong
	return v
}

const (
	// maxDecimal is the most bytes of a decimal number that we read: about 600 digits.
	maxDecimal = 256
	// WholeDigits are as many digits as any number of 64 bits can have.
	WholeDigits = 18
)

// DecimalBytes is Decimal of a whole number of any length, the highest byte first, in two's complement.
func DecimalBytes(b []byte, digits int) (float64, error) {
	if len(b) > maxDecimal {
		return 0, fmt.Errorf("a decimal number of %d bytes, want at most %d", len(b), maxDecimal)
	}
	if v, ok := wholeOf(b); ok {
		return Decimal(v, digits), nil
	}
	return rounded(signed(b).Append(nil, 10), digits), nil
}

// ExactDigits are as many digits as a decimal number can have that a double tells from all others.
const ExactDigits = 15

// AppendDecimal appends the text of such a number with all of its digits: -0.050.
func AppendDecimal(dst, b []byte, digits int) ([]byte, error) {
	if len(b) > maxDecimal {
		return dst, fmt.Errorf("a decimal number of %d bytes, want at most %d", len(b), maxDecimal)
	}
	var room [WholeDigits + 2]byte
	text := room[:0]
	if v, ok := wholeOf(b); ok {
		text = strconv.AppendInt(text, v, 10)
	} else {
		text = signed(b).Append(text, 10)
	}
	if text[0] == '-' {
		dst, text = append(dst, '-'), text[1:]
	}
	if digits <= 0 {
		dst = append(dst, text...)
		if text[0] != '0' {
			dst = append(dst, bytes.Repeat([]byte{'0'}, -digits)...)
		}
		return dst, nil
	}
	point := len(text) - digits
	if point <= 0 {
		dst = append(append(dst, "0."...), bytes.Repeat([]byte{'0'}, -point)...)
		return append(dst, text...), nil
	}
	dst = append(append(dst, text[:point]...), '.')
	return append(dst, text[point:]...), nil
}

// signed is a whole number of any length, the highest byte first, in two's complement.
func signed(b []byte) *big.Int {
	v := new(big.Int).SetBytes(b)
	if b[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return v
}

// WholeBytes is such a number of 64 bits at most, without digits behind the point.
func WholeBytes(b []byte) (int64, error) {
	v, ok := wholeOf(b)
	if !ok {
		return 0, fmt.Errorf("a number of %d bytes, want %d digits at most", len(b), WholeDigits)
	}
	return v, nil
}

// wholeOf is such a number, if it has 64 bits at most.
func wholeOf(b []byte) (v int64, ok bool) {
	sign := byte(0)
	if len(b) > 0 && b[0] >= 0x80 {
		sign = 0xff
	}
	for len(b) > 8 && b[0] == sign && b[1]>>7 == sign>>7 {
		b = b[1:]
	}
	if len(b) > 8 {
		return 0, false
	}
	raw := [8]byte{sign, sign, sign, sign, sign, sign, sign, sign}
	copy(raw[8-len(b):], b)
	return int64(binary.BigEndian.Uint64(raw[:])), true
}
