package expr

import "math"

// step runs one operation on floats over a block: all slices have the length of d or more, and may be d itself.
func step[F floating](o op, d, a, b, c []F, p, q F) {
	a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
	switch o {
	case opAffine:
		for i := range d {
			d[i] = F(p*a[i]) + q // the conversion keeps processors from rounding only once
		}
	case opAxpy:
		for i := range d {
			d[i] = F(p*a[i]) + b[i]
		}
	case opDiv:
		for i := range d {
			d[i] = a[i] / b[i]
		}
	case opMod, opPow:
		f := math.Mod
		if o == opPow {
			f = math.Pow
		}
		for i := range d {
			d[i] = F(f(float64(a[i]), float64(b[i])))
		}
	case opAbs, opFloor, opCeil, opRound, opTrunc, opSqrt, opExp, opExpm1, opLog, opLog10, opLog1p, opSin, opCos, opTanh, opSigmoid:
		each(d, a, unary(o))
	default:
		arithmetic(o, d, a, b, c)
	}
}

// arithmetic is what step and stepInt have in common.
func arithmetic[N floating | int64](o op, d, a, b, c []N) {
	a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
	switch o {
	case opAdd:
		for i := range d {
			d[i] = a[i] + b[i]
		}
	case opSub:
		for i := range d {
			d[i] = a[i] - b[i]
		}
	case opMul:
		for i := range d {
			d[i] = a[i] * b[i]
		}
	case opMin:
		for i := range d {
			d[i] = min(a[i], b[i])
		}
	case opMax:
		for i := range d {
			d[i] = max(a[i], b[i])
		}
	case opCopy:
		copy(d, a)
	case opSelect:
		for i := range d {
			if a[i] != 0 {
				d[i] = b[i]
			} else {
				d[i] = c[i]
			}
		}
	case opSign:
		for i, v := range a {
			d[i] = sign(v)
		}
	case opNeg: // only of numbers; else it is an affine
		for i := range d {
			d[i] = -a[i]
		}
	default:
		test(o, d, a, b)
	}
}

// flag is 1 or 0.
func flag[N float64 | float32 | int64](yes bool) N {
	var k uint8 // no branch
	if yes {
		k = 1
	}
	return N(k)
}

// test runs comparisons and logic.
func test[N float64 | float32 | int64](o op, d, a, b []N) {
	a, b = a[:len(d)], b[:len(d)]
	switch o {
	case opGt:
		test(opLt, d, b, a)
	case opGe:
		test(opLe, d, b, a)
	case opLt:
		for i := range d {
			d[i] = flag[N](a[i] < b[i])
		}
	case opLe:
		for i := range d {
			d[i] = flag[N](a[i] <= b[i])
		}
	case opEq:
		for i := range d {
			d[i] = flag[N](a[i] == b[i])
		}
	case opNe:
		for i := range d {
			d[i] = flag[N](a[i] != b[i])
		}
	case opAnd:
		for i := range d {
			d[i] = flag[N](a[i] != 0 && b[i] != 0)
		}
	case opOr:
		for i := range d {
			d[i] = flag[N](a[i] != 0 || b[i] != 0)
		}
	case opNot:
		for i := range d {
			d[i] = flag[N](a[i] == 0)
		}
	}
}

func sign[N float64 | float32 | int64](v N) N {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return v // zeros keep their sign, and NaN stays
}

// each computes a function in float64.
func each[F floating](d, a []F, f func(float64) float64) {
	a = a[:len(d)]
	for i := range d {
		d[i] = F(f(float64(a[i])))
	}
}

// unary is the function of one operand that an operation stands for.
func unary(o op) func(float64) float64 {
	switch o {
	case opAbs:
		return math.Abs
	case opCeil:
		return math.Ceil
	case opFloor:
		return math.Floor
	case opRound:
		return math.Round
	case opTrunc:
		return math.Trunc
	case opSqrt:
		return math.Sqrt
	case opExp:
		return math.Exp
	case opExpm1:
		return math.Expm1
	case opLog:
		return math.Log
	case opLog10:
		return math.Log10
	case opLog1p:
		return math.Log1p
	case opSin:
		return math.Sin
	case opCos:
		return math.Cos
	case opTanh:
		return math.Tanh
	}
	return sigmoid
}

// sigmoid is 1/(1+exp(-v)), without overflow for any v.
func sigmoid(v float64) float64 {
	e := math.Exp(-math.Abs(v))
	if v < 0 {
		return e / (1 + e)
	}
	return 1 / (1 + e)
}

// stepInt is step for whole numbers, which wrap around.
func stepInt(o op, d, a, b, c []int64, p, q int64) {
	a, b, c = a[:len(d)], b[:len(d)], c[:len(d)]
	switch o {
	case opAffine:
		for i := range d {
			d[i] = p*a[i] + q
		}
	case opMod:
		for i := range d {
			if b[i] == 0 {
				d[i] = 0
			} else {
				d[i] = a[i] % b[i]
			}
		}
	case opAbs:
		for i, v := range a {
			d[i] = max(v, -v)
		}
	default:
		arithmetic(o, d, a, b, c)
	}
}

// truths sets 1 where a is not 0; NaN is not.
func truths[F floating](d []int64, a []F) {
	a = a[:len(d)]
	for i := range d {
		d[i] = flag[int64](a[i] != 0)
	}
}
