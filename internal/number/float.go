package number

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// ParseFloat64 reads a decimal number with an optional sign, fraction and exponent, or inf, infinity or nan in any case
// with an optional sign, and gives the nearest float64, as strconv does. n is its length; 0 if b begins with no number or
// with one beyond the largest float64.
func ParseFloat64(b []byte) (v float64, n int) {
	var d decimal
	if len(b) >= plainRoom {
		d, n = plain(b)
	}
	if n == 0 {
		d, n = scan(b)
	}
	switch {
	case n == 0:
		return special(b)
	case d.mant < 1<<53 && uint(d.exp+22) <= 44 && !d.long: // both are exact, so that one operation rounds correctly
		return d.sign(d.quick()), n
	case d.mant == 0 && !d.long:
		return d.sign(0), n
	case d.long || d.exp < -maxExp || d.exp > maxExp:
		return slow(b[:n], 64)
	}
	return d.sign(d.exact(53)), n
}

// plainRoom is how many bytes plain looks at.
const plainRoom = 40

// plain is scan for a number of up to seven digits before the point and up to 24 behind it, without a plus or an
// exponent, that has room behind it; n is 0 if b begins with anything else.
func plain(b []byte) (d decimal, n int) {
	if d.negative = b[0] == '-'; d.negative {
		n = 1
	}
	mant, k := Eight(binary.LittleEndian.Uint64(b[n:]))
	if k == 0 || k == 8 {
		return d, 0
	}
	n += k
	if b[n] == '.' {
		point := n + 1
		n = point
		for range 3 {
			more, k := Eight(binary.LittleEndian.Uint64(b[n:]))
			mant = mant*whole[k] + more
			if n += k; k < 8 {
				break
			}
		}
		d.exp = point - n
		if n-1 > maxDigits || b[n]-'0' <= 9 { // mant may have wrapped around
			return d, 0
		}
	}
	if b[n]|0x20 == 'e' {
		return d, 0
	}
	d.mant = mant
	return d, n
}

// ParseFloat32 is ParseFloat64 for the nearest float32, rounded once.
func ParseFloat32(b []byte) (v float32, n int) {
	var d decimal
	if len(b) >= plainRoom {
		d, n = plain(b)
	}
	if n == 0 {
		d, n = scan(b)
	}
	switch {
	case n == 0:
		v, n := special(b)
		return float32(v), n
	case d.mant == 0 && !d.long:
		return float32(d.sign(0)), n
	case d.long || d.exp < -maxExp || d.exp > maxExp:
		v, n := slow(b[:n], 32)
		return float32(v), n
	case d.mant < 1<<53 && d.exp >= -22 && d.exp <= 22:
		// Rounding twice is wrong only where the first result lies in the middle of two float32.
		if f := d.quick(); math.Float64bits(f)&(1<<29-1) != 1<<28 {
			return narrow(d.sign(f), n)
		}
	}
	return narrow(d.sign(d.exact(24)), n)
}

// narrow makes a float32 of f, which lies in the range of the normal ones or above.
func narrow(f float64, n int) (float32, int) {
	if v := float32(f); v-v == 0 {
		return v, n
	}
	return 0, 0
}

// decimal is a number as its digits say it: mant * 10^exp. long says that it has too many digits for mant, which is
// worth nothing then.
type decimal struct {
	mant     uint64
	exp      int
	negative bool
	long     bool
}

func (d *decimal) sign(v float64) float64 {
	if d.negative {
		return -v
	}
	return v
}

// maxDigits is how many decimal digits any uint64 can hold.
const maxDigits = 19

// scan reads sign, digits, fraction and exponent. n is 0 if there is no digit before the exponent.
func scan(b []byte) (d decimal, n int) {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		d.negative = b[0] == '-'
		n = 1
	}
	first := n
	d.mant, n = digits(b, n)
	count := n - first
	if n < len(b) && b[n] == '.' {
		point := n + 1
		var more uint64
		more, n = digits(b, point)
		fraction := n - point
		count += fraction
		d.exp = -fraction
		if count <= maxDigits {
			d.mant = d.mant*whole[fraction] + more
		}
	}
	if count == 0 {
		return d, 0
	}
	d.long = count > maxDigits
	if n < len(b) && b[n]|0x20 == 'e' {
		e, m := exponent(b[n+1:])
		d.exp += e
		if m > 0 {
			n += 1 + m
		}
	}
	return d, n
}

// exponent reads the number behind an "e"; those beyond all floats stay beyond them.
func exponent(b []byte) (e, n int) {
	negative := len(b) > 0 && b[0] == '-'
	if negative || len(b) > 0 && b[0] == '+' {
		n = 1
	}
	first := n
	for ; n < len(b) && b[n]-'0' <= 9; n++ {
		e = min(e*10+int(b[n]-'0'), 1<<20)
	}
	if n == first {
		return 0, 0
	}
	if negative {
		e = -e
	}
	return e, n
}

// exact10 are the powers of ten that a float64 holds exactly.
var exact10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// Exact10 is the power of ten of an exponent from 0 to 22, all of which a float64 holds exactly.
func Exact10(exp int) float64 { return exact10[exp] }

func (d *decimal) quick() float64 {
	if d.exp < 0 {
		return float64(d.mant) / exact10[-d.exp]
	}
	return float64(d.mant) * exact10[d.exp]
}

// maxExp is the largest power of five that fits 63 bits.
const maxExp = 27

// power5 are the powers of five up to maxExp.
var power5 = [maxExp + 1]uint64{1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125, 9765625, 48828125, 244140625,
	1220703125, 6103515625, 30517578125, 152587890625, 762939453125, 3814697265625, 19073486328125, 95367431640625,
	476837158203125, 2384185791015625, 11920928955078125, 59604644775390625, 298023223876953125, 1490116119384765625,
	7450580596923828125}

// exact rounds mant * 5^exp * 2^exp to so many bits, half to even. The product or quotient with the power of five is
// calculated to 64 bits or more, and whether anything remains below them: that is all that rounding needs. mant is not
// 0; the result is far within the range of float64, so that the last multiplication is exact.
func (d *decimal) exact(width int) float64 {
	var top, rest uint64 // the first 64 bits or more of the result, and what says that more follows
	power := d.exp       // of two, that top is multiplied with
	if d.exp >= 0 {
		hi, lo := bits.Mul64(d.mant, power5[d.exp])
		if top, rest = lo, 0; hi != 0 {
			shift := bits.LeadingZeros64(hi)
			top, rest = hi<<shift|lo>>(64-shift), lo<<shift
			power += 64 - shift
		}
	} else {
		by := power5[-d.exp]
		mz, bz := bits.LeadingZeros64(d.mant), bits.LeadingZeros64(by)
		m := d.mant << mz
		top, rest = bits.Div64(m>>1, m<<63, by<<bz) // m * 2^63 by a number not below 2^63: no overflow
		power += bz - mz - 63
	}
	if cut := bits.Len64(top) - width; cut > 0 {
		half := uint64(1) << (cut - 1)
		below := top & (half<<1 - 1)
		top >>= cut
		power += cut
		if below > half || below == half && (rest != 0 || top&1 == 1) {
			top++
		}
	}
	return float64(top) * math.Float64frombits(uint64(1023+power)<<52)
}

// slow leaves long numbers and far exponents to strconv.
func slow(b []byte, bits int) (float64, int) {
	v, err := strconv.ParseFloat(string(b), bits)
	if err != nil {
		return 0, 0
	}
	return v, len(b)
}

// special reads what is no finite number.
func special(b []byte) (v float64, n int) {
	negative := len(b) > 0 && b[0] == '-'
	if negative || len(b) > 0 && b[0] == '+' {
		n = 1
	}
	switch rest := b[n:]; {
	case isWord(rest, "infinity"):
		v, n = math.Inf(1), n+8
	case isWord(rest, "inf"):
		v, n = math.Inf(1), n+3
	case isWord(rest, "nan"):
		v, n = math.NaN(), n+3
	default:
		return 0, 0
	}
	if negative {
		v = -v
	}
	return v, n
}

// isWord reports whether b begins with the word, which is in lower case.
func isWord(b []byte, word string) bool {
	if len(b) < len(word) {
		return false
	}
	for i := range len(word) {
		if b[i]|0x20 != word[i] {
			return false
		}
	}
	return true
}
