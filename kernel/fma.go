package kernel

import "math"

// fma32 is a*b + c, rounded once: what fused instructions compute, on every machine. The product is exact in float64, and
// the sum rounded there is on the right side of whatever a second rounding to float32 decides by, unless it is just there.
func fma32(a, b, c float32) float32 {
	if s := float64(a)*float64(b) + float64(c); !halfway(s) {
		return float32(s)
	}
	return toOdd(a, b, c)
}

// halfway reports whether s may lie halfway between two float32; where these are subnormal it always may.
func halfway(s float64) bool {
	bits := math.Float64bits(s)
	return bits&(1<<29-1) == 1<<28 || bits<<1-1 < (1023-126)<<53
}

// toOdd is fma32 by rounding to odd in float64, which a second rounding to float32 does not betray (Boldo and Melquiond,
// Emulation of FMA and Correctly Rounded Sums: Proved Algorithms Using Rounding to Odd, 2008).
func toOdd(a, b, c float32) float32 {
	p, z := float64(a)*float64(b), float64(c)
	s := float64(p + z)
	t := float64(s - p)
	rest := float64(p-float64(s-t)) + float64(z-t) // of the sum, exactly
	if bits := math.Float64bits(s); rest != 0 && bits&1 == 0 && s-s == 0 {
		if (rest > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
		s = math.Float64frombits(bits)
	}
	return float32(s)
}
