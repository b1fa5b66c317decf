package data

import (
	"encoding/binary"
	"math"
	"strconv"

	"thole.example/internal/number"
)

// pad is how many zero bytes follow the text of a chunk, so that eight bytes can be loaded at its last one.
const pad = 16

// eight are the eight bytes at text[i], of which number.Eight reads the digits.
func eight(text []byte, i int) uint64 { return binary.LittleEndian.Uint64(text[i:]) }

// whole reads an index at text[i] and answers where it ends, or -1 if there is none or it is above math.MaxInt64.
func whole(text []byte, i int) (v int64, end int) {
	first, n := number.Eight(eight(text, i))
	if n < 8 {
		if n == 0 {
			return 0, -1
		}
		return int64(first), i + n
	}
	end = i + 8
	sum := first
	for n == 8 {
		first, n = number.Eight(eight(text, end))
		end += n
		if end-i > 18 {
			return longWhole(text, i)
		}
		sum = sum*number.Power10(n) + first
	}
	return int64(sum), end
}

func longWhole(text []byte, i int) (int64, int) {
	end := i
	for text[end]-'0' <= 9 {
		end++
	}
	v, err := strconv.ParseInt(string(text[i:end]), 10, 64)
	if err != nil {
		return 0, -1
	}
	return v, end
}

// decimal reads a decimal number at text[i] and answers where it ends, or -1 if there is none or it is not finite as a
// float32. The result is the nearest float32, as strconv gives it.
//
// With at most 15 digits and a power of ten up to 22, both are exact as float64 and one operation rounds correctly. The
// second rounding to float32 can err only if the float64 lies in the middle of two float32: those go to strconv.
func decimal(text []byte, i int) (v float32, end int) {
	start := i
	c := text[i]
	if c == '-' || c == '+' {
		i++
	}
	from := i
	m, n := number.Eight(eight(text, i))
	i += n
	for n == 8 {
		var more uint64
		more, n = number.Eight(eight(text, i))
		m = m*number.Power10(n) + more
		i += n
	}
	seen, exp := i-from, 0
	if text[i] == '.' {
		i++
		from = i
		for n = 8; n == 8; {
			var more uint64
			more, n = number.Eight(eight(text, i))
			m = m*number.Power10(n) + more
			i += n
		}
		exp = from - i
		seen -= exp
	}
	if text[i]|0x20 == 'e' {
		var e int
		if e, i = exponent(text, i+1); i < 0 {
			return 0, -1
		}
		exp += e
	}
	if uint(seen-1) > 17 || m >= 1<<53 || exp < -22 || exp > 22 {
		return slowNumber(text, start, seen)
	}
	f := float64(m)
	if exp < 0 {
		f /= number.Exact10(-exp)
	} else {
		f *= number.Exact10(exp)
	}
	if c == '-' {
		f = -f
	}
	if math.Float64bits(f)&(1<<29-1) == 1<<28 {
		return slowNumber(text, start, seen)
	}
	return float32(f), i
}

// decimal is the value at text[i], and the same as it was before it was rounded, where that is asked for.
func (s *settings) decimal(text []byte, i int) (v float32, unrounded float64, end int) {
	if s.Exact {
		unrounded, end = double(text, i)
		return float32(unrounded), unrounded, end
	}
	v, end = decimal(text, i)
	return v, float64(v), end
}

// double is decimal for the nearest float64.
func double(text []byte, i int) (v float64, end int) {
	end = i
	for c := text[end]; c-'0' <= 9 || c == '.' || c|0x20 == 'e' || c == '+' || c == '-'; c = text[end] {
		end++
	}
	v, n := number.ParseFloat64(text[i:end])
	if n == 0 {
		return 0, -1
	}
	return v, i + n
}

// exponent reads the digits after an "e"; numbers beyond all floats stay beyond them.
func exponent(text []byte, i int) (e, end int) {
	negative := text[i] == '-'
	if negative || text[i] == '+' {
		i++
	}
	end = i
	for ; text[end]-'0' <= 9; end++ {
		if e < 10000 {
			e = e*10 + int(text[end]-'0')
		}
	}
	if end == i {
		return 0, -1
	}
	if negative {
		e = -e
	}
	return e, end
}

// slowNumber reads what decimal leaves to strconv; seen is the number of its digits.
func slowNumber(text []byte, i, seen int) (float32, int) {
	if seen == 0 {
		return 0, -1
	}
	end := i
	for c := text[end]; c-'0' <= 9 || c == '.' || c|0x20 == 'e' || c == '+' || c == '-'; c = text[end] {
		end++
	}
	v, err := strconv.ParseFloat(string(text[i:end]), 32)
	if err != nil {
		return 0, -1
	}
	return float32(v), end
}
