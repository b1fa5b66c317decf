package data

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// pad is how many zero bytes stand behind the text of a chunk, so that eight bytes can be loaded at its last one.
const pad = 16

// digits reads up to eight decimal digits at text[i]: eight bytes at once, of which the first n are digits.
func digits(text []byte, i int) (v uint64, n int) {
	const zeros, sixes, high = 0x3030303030303030, 0x0606060606060606, 0xf0f0f0f0f0f0f0f0
	x := binary.LittleEndian.Uint64(text[i:])
	// A byte is a digit if its upper half is 3 and stays 3 when 6 is added. The carry of a byte above 0xf9 runs into later
	// bytes only, which do not count any more.
	other := (x&high ^ zeros) | ((x+sixes)&high ^ zeros)
	n = bits.TrailingZeros64(other) >> 3 // 8 if other is 0
	x = (x - zeros) << uint(64-8*n)      // the digits move to the end, zeros before them; n = 0 gives 0
	x = x*10 + x>>8                      // pairs
	x = ((x&0x000000ff000000ff)*(100+1000000<<32) + (x>>16&0x000000ff000000ff)*(1+10000<<32)) >> 32
	return x & 0xffffffff, n
}

var power10 = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8}

// whole reads an index at text[i] and answers where it ends, or -1 if there is none or it is above math.MaxInt64.
func whole(text []byte, i int) (v int64, end int) {
	first, n := digits(text, i)
	if n < 8 {
		if n == 0 {
			return 0, -1
		}
		return int64(first), i + n
	}
	end = i + 8
	sum := first
	for n == 8 {
		first, n = digits(text, end)
		end += n
		if end-i > 18 {
			return longWhole(text, i)
		}
		sum = sum*power10[n] + first
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

var exact10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// number reads a decimal number at text[i] and answers where it ends, or -1 if there is none or it is not finite as a
// float32. The result is the nearest float32, as strconv gives it.
//
// With at most 15 digits and a power of ten up to 22, both are exact as float64 and one operation rounds correctly. The
// second rounding to float32 can err only if the float64 lies in the middle of two float32: those go to strconv.
func number(text []byte, i int) (v float32, end int) {
	start := i
	c := text[i]
	if c == '-' || c == '+' {
		i++
	}
	from := i
	m, n := digits(text, i)
	i += n
	for n == 8 {
		var more uint64
		more, n = digits(text, i)
		m = m*power10[n] + more
		i += n
	}
	seen, exp := i-from, 0
	if text[i] == '.' {
		i++
		from = i
		for n = 8; n == 8; {
			var more uint64
			more, n = digits(text, i)
			m = m*power10[n] + more
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
		f /= exact10[-exp]
	} else {
		f *= exact10[exp]
	}
	if c == '-' {
		f = -f
	}
	if math.Float64bits(f)&(1<<29-1) == 1<<28 {
		return slowNumber(text, start, seen)
	}
	return float32(f), i
}

// exponent reads the digits behind an "e"; numbers beyond all floats stay beyond them.
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

// slowNumber reads what number leaves to strconv; seen is the number of its digits.
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
