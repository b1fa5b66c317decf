package kernel

import "math"

// Sigmoid64 sets y[i] to 1/(1+exp(-x[i])), without overflow for any x. x and y may be the same slice.
func Sigmoid64(x, y []float64) { want(len(x), len(y), "x"); sigmoid(x, y) }

// Softplus sets y[i] to ln(1+exp(x[i])), without overflow and with full precision for any x: the log loss of margin m is
// the softplus of -m. x and y may be the same slice.
func Softplus(x, y []float32) { want(len(x), len(y), "x"); softplus(x, y) }

// Softplus64 is Softplus in float64.
func Softplus64(x, y []float64) { want(len(x), len(y), "x"); softplus(x, y) }

func sigmoid(x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		e := expNegative(-math.Abs(v))
		if v < 0 {
			y[i] = e / (1 + e)
		} else {
			y[i] = 1 / (1 + e) // a NaN comes here and stays
		}
	}
}

func softplus[T Float](x, y []T) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] = T(max(float64(v), 0) + math.Log1p(expNegative(-math.Abs(float64(v)))))
	}
}

// expNegative is exp(x) for x <= 0, to about one unit in the last place; below -708.39, where the result would not be a
// normal number, it is 0. NaN stays NaN. It is here because math.Exp gives different bits on different machines.
//
// x = k ln 2 + r with |r| <= ln(2)/2, and exp(r) = 1 + 2r / (2 - r + r^2 R(r^2)) with R by its minimax polynomial
// (W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980; coefficients as in the C library of
// FreeBSD, e_exp.c).
func expNegative(x float64) float64 {
	const (
		ln2High = 6.93147180369123816490e-01
		ln2Low  = 1.90821492927058770002e-10
		log2E   = 1.44269504088896338700e+00
		lowest  = -708.39
	)
	if !(x >= lowest) {
		if x != x {
			return x
		}
		return 0
	}
	k := int64(x*log2E - 0.5) // x <= 0: rounds to nearest
	high := x - float64(float64(k)*ln2High)
	low := float64(float64(k) * ln2Low)
	r := high - low
	t := float64(r * r)
	c := float64(t * 4.13813679705723846039e-08)
	c = float64(t * (c - 1.65339022054652515390e-06))
	c = float64(t * (c + 6.61375632143793436117e-05))
	c = float64(t * (c - 2.77777777770155933842e-03))
	c = r - float64(t*(c+1.66666666666666019037e-01))
	v := 1 - ((low - float64(r*c)/(2-c)) - high)
	return v * math.Float64frombits(uint64(1023+k)<<52)
}
