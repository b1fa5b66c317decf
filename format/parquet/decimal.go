package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
)

// exact are the powers of ten that a double holds.
var exact = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
	1e20, 1e21, 1e22}

// decimal is v with so many digits behind the point, rounded once.
func decimal(v int64, digits int) float64 {
	if v >= -1<<53 && v <= 1<<53 && digits < len(exact) {
		return float64(v) / exact[digits]
	}
	return rounded(strconv.AppendInt(nil, v, 10), digits)
}

// rounded is the number of the decimal text with so many digits behind the point; infinite beyond the largest double.
func rounded(text []byte, digits int) float64 {
	text = strconv.AppendInt(append(text, "e-"...), int64(digits), 10)
	v, _ := strconv.ParseFloat(string(text), 64) // digits and an exponent: nothing else can be wrong
	return v
}

// maxDecimal is the most bytes of a decimal number that we read: about 600 digits.
const maxDecimal = 256

// decimalBytes reads decimal numbers as whole ones of any length, the highest byte first, in two's complement; it gives the bits
// of a double.
func decimalBytes(digits int) func(b []byte) (uint64, error) {
	return func(b []byte) (uint64, error) {
		if len(b) > maxDecimal {
			return 0, fmt.Errorf("a decimal number of %d bytes, want at most %d", len(b), maxDecimal)
		}
		if v, ok := whole(b); ok {
			return math.Float64bits(decimal(v, digits)), nil
		}
		v := new(big.Int).SetBytes(b)
		if b[0] >= 0x80 {
			v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return math.Float64bits(rounded(v.Append(nil, 10), digits)), nil
	}
}

// whole is such a number, if it has 64 bits at most.
func whole(b []byte) (v int64, ok bool) {
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

// wholeBytes reads such a number without digits behind the point.
func wholeBytes(b []byte) (uint64, error) {
	v, ok := whole(b)
	if !ok {
		return 0, fmt.Errorf("a number of %d bytes, want %d digits at most", len(b), wholeDigits)
	}
	return uint64(v), nil
}

const (
	epochDay  = 2440588 // the Julian day of the first of January 1970
	dayMicros = 24 * 60 * 60 * 1000 * 1000
	// maxDays is how far from it days may be, that microseconds have 64 bits.
	maxDays = math.MaxInt64/dayMicros - 1
)

// moment reads an INT96: nanoseconds of a day in 8 bytes, the Julian day in 4. It gives microseconds since the beginning of 1970.
func moment(b []byte) (uint64, error) {
	nanos, day := int64(binary.LittleEndian.Uint64(b)), int64(int32(binary.LittleEndian.Uint32(b[8:])))-epochDay
	if day > maxDays || day < -maxDays || nanos < 0 || nanos > 1000*dayMicros {
		return 0, fmt.Errorf("a time of %d ns of day %d", nanos, day)
	}
	return uint64(day*dayMicros + nanos/1000), nil
}
