package kernel

import "math"

// Exp is exp(x), to about one unit in the last place: 0 below -708.39, where the result would not be a normal number, and +Inf
// above 709.78, where it would be too large. NaN stays NaN. It is here because math.Exp gives different bits on different
// machines, those that fuse products with sums and those that do not.
//
// x = k ln 2 + r with |r| <= ln(2)/2, and exp(r) = 1 + 2r / (2 - r + r^2 R(r^2)) with R by its minimax polynomial
// (W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980; coefficients as in the C library of
// FreeBSD, e_exp.c).
func Exp(x float64) float64 {
	const (
		ln2High = 6.93147180369123816490e-01
		ln2Low  = 1.90821492927058770002e-10
		lowest  = -708.39
		highest = 709.78
	)
	if !(x >= lowest && x <= highest) {
		switch {
		case x < lowest:
			return 0
		case x > highest:
			return math.Inf(1)
		}
		return x
	}
	shifted := float64(x*math.Log2E) + nearest
	n := shifted - nearest
	high := x - float64(n*ln2High)
	low := float64(n * ln2Low)
	r := high - low
	t := float64(r * r)
	c := float64(t * 4.13813679705723846039e-08)
	c = float64(t * (c - 1.65339022054652515390e-06))
	c = float64(t * (c + 6.61375632143793436117e-05))
	c = float64(t * (c - 2.77777777770155933842e-03))
	c = r - float64(t*(c+1.66666666666666019037e-01))
	v := 1 - ((low - float64(r*c)/(2-c)) - high)
	if n > 1023 { // 2^1024 is no float64, and v is below 1 here
		v, shifted = 2*v, shifted-1
	}
	return v * math.Float64frombits((math.Float64bits(shifted)+1023)<<52)
}
