package kernel

import "math"

// activation is a function of single numbers: dst from x and y, of which some take x alone. Each operation is rounded by itself.
type activation int

const (
	relu activation = iota
	reluGrad
	sigmoidOf
	sigmoidGrad
	tanhOf
	tanhGrad
	mulAdd
	activations
)

// Relu sets y[i] to max(x[i], 0); NaN stays. x and y may be the same slice.
func Relu(x, y []float32) { activate(machine, relu, y, x, x) }

// ReluGrad sets dx[i] to g[i] where y[i], which Relu gave, is above 0, and to 0 elsewhere. dx may be g or y.
func ReluGrad(y, g, dx []float32) { activate(machine, reluGrad, dx, y, g) }

// Sigmoid sets y[i] to 1/(1+exp(-x[i])), to within 0.51 units in the last place, without overflow for any x. x and y may be the
// same slice.
func Sigmoid(x, y []float32) { activate(machine, sigmoidOf, y, x, x) }

// SigmoidGrad sets dx[i] to (g[i]*y[i]) * (1-y[i]), y being what Sigmoid gave. dx may be g or y.
func SigmoidGrad(y, g, dx []float32) { activate(machine, sigmoidGrad, dx, y, g) }

// Tanh sets y[i] to the hyperbolic tangent of x[i], to within 0.51 units in the last place. x and y may be the same slice.
func Tanh(x, y []float32) { activate(machine, tanhOf, y, x, x) }

// TanhGrad sets dx[i] to (g[i]*(1-y[i])) * (1+y[i]), y being what Tanh gave. dx may be g or y.
func TanhGrad(y, g, dx []float32) { activate(machine, tanhGrad, dx, y, g) }

// MulAdd adds to every dst[i] the product x[i]*y[i]. dst may be x or y.
func MulAdd(dst, x, y []float32) { activate(machine, mulAdd, dst, x, y) }

func activate(on level, f activation, dst, x, y []float32) {
	checkLen(len(x), len(dst), "x")
	checkLen(len(y), len(dst), "y")
	n := activateOn(on, f, dst, x, y)
	plainActivations[f](dst[n:], x[n:], y[n:])
}

var plainActivations = [activations]func(dst, x, y []float32){
	relu: func(dst, x, _ []float32) {
		for i, v := range x {
			if v <= 0 {
				v = 0
			}
			dst[i] = v
		}
	},
	reluGrad: func(dst, y, g []float32) {
		for i, v := range y {
			d := g[i]
			if !(v > 0) {
				d = 0
			}
			dst[i] = d
		}
	},
	sigmoidOf: func(dst, x, _ []float32) {
		for i, v := range x {
			power, more := exp32(-float64(v))
			dst[i] = float32(1 / (1 + (power + float64(power*more))))
		}
	},
	sigmoidGrad: func(dst, y, g []float32) {
		for i, v := range y {
			dst[i] = float32(g[i]*v) * (1 - v)
		}
	},
	tanhOf: func(dst, x, _ []float32) {
		for i, v := range x {
			power, more := exp32(2 * float64(v))
			m := (power - 1) + float64(power*more)
			dst[i] = float32(m / (m + 2))
		}
	},
	tanhGrad: func(dst, y, g []float32) {
		for i, v := range y {
			dst[i] = float32(g[i]*(1-v)) * (1 + v)
		}
	},
	mulAdd: func(dst, x, y []float32) {
		for i, v := range x {
			dst[i] += float32(v * y[i])
		}
	},
}

// The constants of exp32, which the assembly has too. Adding nearest to a number below 2^51 leaves the nearest integer in its
// lowest bits.
const (
	largestExp = 256
	nearest    = 3 << 51
)

// exp32 is exp(x) = power * (1 + more) with a power of two, to 31 bits and more, for x cut to +-256: beyond, float32 has 0 and 1
// alone for what is computed of it. NaN stays NaN.
//
// x = k ln 2 + r with |r| <= ln(2)/2, power = 2^k, and more = exp(r) - 1 by its Taylor series to r^8.
func exp32(x float64) (power, more float64) {
	if x > largestExp {
		x = largestExp
	}
	if x < -largestExp {
		x = -largestExp
	}
	t := float64(x*math.Log2E) + nearest
	r := x - float64((t-nearest)*math.Ln2)
	p := float64(r*(1.0/40320)) + 1.0/5040
	p = float64(r*p) + 1.0/720
	p = float64(r*p) + 1.0/120
	p = float64(r*p) + 1.0/24
	p = float64(r*p) + 1.0/6
	p = float64(r*p) + 1.0/2
	p = float64(r*p) + 1
	return math.Float64frombits((math.Float64bits(t) + 1023) << 52), float64(r * p)
}
