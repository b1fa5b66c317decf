package kernel

import "math"

// Op is an operation on two numbers. Each is rounded by itself; integers wrap around.
type Op int

// The operations of Combine.
const (
	Plus  Op = iota
	Minus    // x - y
	Times
	Over  // x / y; of integers towards zero, and 0 where y is 0
	Least // the smaller, NaN if one of both is; -0 is smaller than +0
	Most  // the larger, NaN if one of both is
	ops
)

// Combine makes dst[i] = x[i] op y[i]. All have one length; dst may be x or y, and must not overlap them otherwise.
func Combine[T Number](op Op, dst, x, y []T) { combine(machine, op, dst, x, y) }

func combine[T Number](on level, op Op, dst, x, y []T) {
	checkLen(len(x), len(dst), "x")
	checkLen(len(y), len(dst), "y")
	n := combineOn(on, op, dst, x, y)
	dst, x, y = dst[n:], x[n:len(dst)], y[n:len(dst)]
	switch op {
	case Plus:
		for i := range dst {
			dst[i] = x[i] + y[i]
		}
	case Minus:
		for i := range dst {
			dst[i] = x[i] - y[i]
		}
	case Times:
		for i := range dst {
			dst[i] = x[i] * y[i]
		}
	case Over:
		over(dst, x, y)
	case Least:
		for i := range dst {
			dst[i] = min(x[i], y[i])
		}
	case Most:
		for i := range dst {
			dst[i] = max(x[i], y[i])
		}
	}
}

func over[T Number](dst, x, y []T) {
	var half T = 1
	isFloat := half/2 != 0
	for i := range dst {
		if d := y[i]; d != 0 || isFloat {
			dst[i] = x[i] / d
		} else {
			dst[i] = 0
		}
	}
}

// change is an operation on one number.
type change int

const (
	absolute change = iota
	negation
	squareRoot
	changes
)

// Abs makes dst[i] = |x[i]|; the smallest integer stays as it is. dst may be x.
func Abs[T Number](dst, x []T) { apply(machine, absolute, dst, x) }

// Neg makes dst[i] = -x[i]; the smallest integer stays as it is. dst may be x.
func Neg[T Number](dst, x []T) { apply(machine, negation, dst, x) }

// Sqrt makes dst[i] the square root of x[i], rounded once; NaN below 0. dst may be x.
func Sqrt[T Float](dst, x []T) { apply(machine, squareRoot, dst, x) }

func apply[T Number](on level, c change, dst, x []T) {
	checkLen(len(x), len(dst), "x")
	n := applyOn(on, c, dst, x)
	dst, x = dst[n:], x[n:len(dst)]
	switch c {
	case absolute:
		for i, v := range x {
			if v <= 0 {
				v = 0 - v // of -0 too
			}
			dst[i] = v
		}
	case negation:
		for i, v := range x {
			dst[i] = -v
		}
	case squareRoot:
		for i, v := range x {
			dst[i] = T(math.Sqrt(float64(v)))
		}
	}
}

// Affine makes dst[i] = a*x[i] + b, the product rounded before b is added; integers wrap around. dst may be x.
func Affine[T Number](dst, x []T, a, b T) { affine(machine, dst, x, a, b) }

func affine[T Number](on level, dst, x []T, a, b T) {
	checkLen(len(x), len(dst), "x")
	n := affineOn(on, dst, x, a, b)
	dst, x = dst[n:], x[n:len(dst)]
	for i, v := range x {
		dst[i] = T(a*v) + b
	}
}

// Fill makes every value of dst v. Large memory is written past the caches.
func Fill[T Number](dst []T, v T) { fill(machine, dst, v) }

func fill[T Number](on level, dst []T, v T) {
	lo, hi := fillOn(on, dst, v)
	for i := range dst[:lo] {
		dst[i] = v
	}
	dst = dst[hi:]
	for i := range dst {
		dst[i] = v
	}
}
