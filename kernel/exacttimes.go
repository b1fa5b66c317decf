package kernel

import "math/bits"

// MergeTimes adds another sum as often as n says; if n is negative, it takes it away.
// Values that are not finite are added all the same.
func (e *Exact) MergeTimes(o *Exact, n int64) {
	if n == 0 {
		return
	}
	m, negative := o.abs()
	sign := n >> 63
	if negative {
		sign = ^sign
	}
	for i, limb := range m.limbs {
		if limb != 0 {
			hi, lo := bits.Mul64(uint64(limb), magnitude(n))
			e.add128(hi, lo, sign, limbBits*i-least)
		}
	}
	e.special |= o.special
}
