package kernel

import (
	"math"
	"math/big"
)

// Root is the square root of the sum, rounded once: also where the sum itself is beyond float64. That of a sum below zero is
// NaN.
func (e *Exact) Root() float64 {
	abs, below := e.abs()
	if below || e.special != 0 {
		return math.Sqrt(e.Value())
	}
	sum, limb := new(big.Int), new(big.Int)
	low := 0
	for low < limbs-2 && abs.limbs[low] == 0 {
		low++
	}
	for i := limbs - 1; i >= low; i-- {
		sum.Add(sum.Lsh(sum, limbBits), limb.SetInt64(abs.limbs[i]))
	}
	if sum.Sign() == 0 {
		return 0
	}
	// A root has half as many bits as its square, and the float64 at most 54 of them with the one that rounds: with twice as
	// many as the sum has none is lost that could make a tie of what is none.
	f := new(big.Float).SetInt(sum)
	f.SetMantExp(f, low*limbBits-least)
	f.SetPrec(2*uint(sum.BitLen()) + 128)
	out, _ := f.Sqrt(f).Float64()
	return out
}
