package csv

import "math"

// scale is the power of ten of the decimals that appendDecimal knows.
const scale = 1e8

// appendDecimal writes a number of at most 8 decimals between 0.0001 and a million the way the shortest spelling would,
// several times faster. ok is false if the number is another.
//
// Such a number times scale is a whole number m of at most 14 digits. If m/scale, rounded once, is v again, then the
// digits of m read back to v; and no two decimals of 15 digits or fewer are the same float64, so that no shorter one
// does.
func appendDecimal(dst []byte, v float64) (text []byte, ok bool) {
	a := math.Abs(v)
	if !(a >= 1e-4 && a < 1e6) {
		return dst, false
	}
	m := uint64(a*scale + 0.5)
	if float64(m)/scale != a {
		return dst, false
	}
	if v < 0 {
		dst = append(dst, '-')
	}
	var buf [16]byte
	whole, fraction := uint32(m/scale), uint32(m%scale)
	i := len(buf)
	if fraction != 0 {
		n := 8
		if fraction%10000 == 0 {
			fraction, n = fraction/10000, 4
		}
		for ; n > 0; n-- {
			digit := byte(fraction % 10)
			fraction /= 10
			if digit != 0 || i < len(buf) {
				i--
				buf[i] = '0' + digit
			}
		}
		i--
		buf[i] = '.'
	}
	for {
		i--
		buf[i] = '0' + byte(whole%10)
		if whole /= 10; whole == 0 {
			return append(dst, buf[i:]...), true
		}
	}
}
