package kernel

import "math"

// Sigmoid64 sets y[i] to 1/(1+exp(-x[i])), without overflow for any x. x and y may be the same slice.
func Sigmoid64(x, y []float64) { checkLen(len(x), len(y), "x"); sigmoid(x, y) }

// Softplus sets y[i] to ln(1+exp(x[i])), without overflow and with full precision for any x: the log loss of margin m is
// the softplus of -m. x and y may be the same slice.
func Softplus(x, y []float32) { checkLen(len(x), len(y), "x"); softplus(x, y) }

// Softplus64 is Softplus in float64.
func Softplus64(x, y []float64) { checkLen(len(x), len(y), "x"); softplus(x, y) }

func sigmoid(x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		e := Exp(-math.Abs(v))
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
		y[i] = T(max(float64(v), 0) + math.Log1p(Exp(-math.Abs(float64(v)))))
	}
}
