package number

import "math/bits"

// Shortest64 gives the fewest decimal digits that read back to the float64 with these bits, and among those the nearest:
// digits * 10^exp, where digits does not end with a zero (0, 0 for zero). In the middle between two decimals the even one is
// taken, as Java does. The number must be finite; its sign is left out.
//
// This is Giulietti's method ("The Schubfach way to render doubles"): one of the decimals beside v scaled to a power of
// ten lies within the interval that rounds to v, and three products with 128 bits of that power tell which.
func Shortest64(raw uint64) (digits uint64, exp int) {
	const width, bias = 52, 1023 + 52
	fraction, e := raw&(1<<width-1), int(raw>>width&0x7ff)
	c, q := fraction, 1-bias
	if e != 0 {
		c, q = fraction|1<<width, e-bias
		if q <= 0 && q > -53 && c&(1<<uint(-q)-1) == 0 {
			return trim(c>>uint(-q), 0)
		}
	} else if c == 0 {
		return 0, 0
	}
	odd := c & 1
	closer := uint64(0) // the float below is half as far away
	if fraction == 0 && e > 1 {
		closer = 1
	}
	k := (q*1262611 - int(closer)*524031) >> 22
	h := uint(q + (-k*1741647)>>19 + 1)
	g := &powers10[-k-power10Lo]
	lower := roundOdd(g, (4*c-2+closer)<<h) + odd
	vb := roundOdd(g, 4*c<<h)
	upper := roundOdd(g, (4*c+2)<<h) - odd

	s := vb / 4
	if s >= 10 {
		sp := s / 10
		up, wp := lower <= 40*sp, 40*sp+40 <= upper
		if up != wp {
			if wp {
				sp++
			}
			return trim(sp, k+1)
		}
	}
	return trim(pick(s, vb, lower, upper), k)
}

// pick chooses between s and s+1, where vb, lower and upper are four times v and the ends of its interval.
func pick(s, vb, lower, upper uint64) uint64 {
	u, w := lower <= 4*s, 4*s+4 <= upper
	if u != w {
		if w {
			s++
		}
		return s
	}
	if mid := 4*s + 2; vb > mid || vb == mid && s&1 != 0 {
		s++
	}
	return s
}

// roundOdd is the upper part of g * c, with its last bit set if anything remains below.
func roundOdd(g *[2]uint64, c uint64) uint64 {
	x, _ := bits.Mul64(g[1], c)
	y1, y0 := bits.Mul64(g[0], c)
	y0, carry := bits.Add64(y0, x, 0)
	y1 += carry
	if y0 > 1 {
		y1 |= 1
	}
	return y1
}

// Shortest32 is Shortest64 for float32 and its bits.
func Shortest32(raw uint32) (digits uint32, exp int) {
	const width, bias = 23, 127 + 23
	fraction, e := raw&(1<<width-1), int(raw>>width&0xff)
	c, q := fraction, 1-bias
	if e != 0 {
		c, q = fraction|1<<width, e-bias
		if q <= 0 && q > -24 && c&(1<<uint(-q)-1) == 0 {
			return trim32(c>>uint(-q), 0)
		}
	} else if c == 0 {
		return 0, 0
	}
	odd := c & 1
	closer := uint32(0)
	if fraction == 0 && e > 1 {
		closer = 1
	}
	k := (q*1262611 - int(closer)*524031) >> 22
	h := uint(q + (-k*1741647)>>19 + 1)
	p := &powers10[-k-power10Lo]
	g := p[0]
	if p[1] != 0 {
		g++
	}
	lower := roundOdd32(g, (4*c-2+closer)<<h) + odd
	vb := roundOdd32(g, 4*c<<h)
	upper := roundOdd32(g, (4*c+2)<<h) - odd

	s := vb / 4
	if s >= 10 {
		sp := s / 10
		up, wp := lower <= 40*sp, 40*sp+40 <= upper
		if up != wp {
			if wp {
				sp++
			}
			return trim32(sp, k+1)
		}
	}
	return trim32(uint32(pick(uint64(s), uint64(vb), uint64(lower), uint64(upper))), k)
}

func roundOdd32(g uint64, c uint32) uint32 {
	hi, lo := bits.Mul64(g, uint64(c))
	y := uint32(hi)
	if lo>>32 > 1 {
		y |= 1
	}
	return y
}

// trim takes zeros off the end of the digits.
func trim(d uint64, exp int) (uint64, int) {
	for d != 0 {
		q := d / 10
		if q*10 != d {
			break
		}
		d, exp = q, exp+1
	}
	return d, exp
}

func trim32(d uint32, exp int) (uint32, int) {
	for d != 0 {
		q := d / 10
		if q*10 != d {
			break
		}
		d, exp = q, exp+1
	}
	return d, exp
}
