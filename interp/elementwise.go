package interp

import (
	"fmt"
	"math"

	"thole.example/kernel"
	"thole.example/matrix"
)

func addF(a, b float32) float32 { return a + b }
func subF(a, b float32) float32 { return a - b }
func mulF(a, b float32) float32 { return a * b }
func divF(a, b float32) float32 { return a / b }
func maxF(a, b float32) float32 { return max(a, b) }
func minF(a, b float32) float32 { return min(a, b) }
func powF(a, b float32) float32 { return float32(math.Pow(float64(a), float64(b))) }

// known is f of what is a number: of two values of which one is NaN the other.
func known(f func(a, b float32) float32) func(a, b float32) float32 {
	return func(a, b float32) float32 {
		switch {
		case a != a:
			return b
		case b != b:
			return a
		}
		return f(a, b)
	}
}

// heaviside is 1 above 0, what b says at 0, and else 0.
func heaviside[T float32 | int64](a, b T) T {
	switch {
	case a == 0:
		return b
	case a > 0:
		return 1
	}
	return 0
}

func addI(a, b int64) int64 { return a + b }
func subI(a, b int64) int64 { return a - b }
func mulI(a, b int64) int64 { return a * b }
func maxI(a, b int64) int64 { return max(a, b) }
func minI(a, b int64) int64 { return min(a, b) }

// binary combines X and Y element by element. ints is nil where integers are not supported.
func binary(floats func(a, b float32) float32, ints func(a, b int64) int64) func(c *call) error {
	return func(c *call) error {
		x, y := c.t("X"), c.t("Y")
		axis, err := c.int("axis")
		if err != nil {
			return err
		}
		if x.Type != y.Type || x.Type != matrix.F32 && ints == nil {
			return fmt.Errorf("X is %s, Y is %s: %w", x.text(), y.text(), ErrOp)
		}
		xd, yd, err := place(x.Dims, y.Dims, axis)
		if err != nil {
			return err
		}
		dims, err := broadcast(xd, yd)
		if err != nil {
			return err
		}
		out, err := x.like(dims)
		if err != nil {
			return err
		}
		if x.Type == matrix.F32 {
			combine(out.F, x.F, y.F, dims, strides(xd, dims), strides(yd, dims), floats)
		} else {
			combine(out.I, x.I, y.I, dims, strides(xd, dims), strides(yd, dims), ints)
		}
		c.give(out)
		return nil
	}
}

// combine fills out, a row of the last dimension at a time.
func combine[T float32 | int64](out, x, y []T, dims, xs, ys []int, f func(a, b T) T) {
	if len(dims) == 0 {
		out[0] = f(x[0], y[0])
		return
	}
	last := len(dims) - 1
	n := dims[last]
	walk(dims[:last], func(at int, idx []int) {
		a, b, to := offset(idx, xs[:last]), offset(idx, ys[:last]), out[at*n:][:n]
		for i := range to {
			to[i] = f(x[a+i*xs[last]], y[b+i*ys[last]])
		}
	})
}

// addAll adds tensors of one shape, from left to right.
func addAll(c *call) error {
	list := c.all("X")
	out := list[0].zeros(list[0].Type)
	copy(out.F, list[0].F)
	copy(out.I, list[0].I)
	for _, t := range list[1:] {
		if t.Type != out.Type || fmt.Sprint(t.Dims) != fmt.Sprint(out.Dims) {
			return fmt.Errorf("%s and %s: %w", out.text(), t.text(), ErrShape)
		}
		kernel.Add(t.F, out.F)
		for i, v := range t.I {
			out.I[i] += v
		}
	}
	c.give(out)
	return nil
}

// scale is x * scale + bias, or (x + bias) * scale. For integers scale and bias are integers too: what stands before the
// point.
func scale(c *call) error {
	x := c.t("X")
	by, err := c.float("scale")
	if err != nil {
		return err
	}
	bias, err := c.float("bias")
	if err != nil {
		return err
	}
	after := c.bool("bias_after_scale")
	if x.whole() {
		by, bias := int64(by), int64(bias)
		return c.mapInts(x, func(v int64) int64 {
			if after {
				return v*by + bias
			}
			return (v + bias) * by
		})
	}
	if x, err = c.floats("X"); err != nil {
		return err
	}
	return mapped(c, x, func(v float32) float32 {
		if after {
			return float32(v*by) + bias
		}
		return (v + bias) * by
	})
}

// mapped gives f of every element of x.
func mapped(c *call, x *Tensor, f func(v float32) float32) error {
	out := x.zeros(x.Type)
	for i, v := range x.F {
		out.F[i] = f(v)
	}
	c.give(out)
	return nil
}

// each is an operator that computes element by element.
func each(f func(v float32) float32) func(c *call) error {
	return func(c *call) error {
		x, err := c.floats("X")
		if err != nil {
			return err
		}
		return mapped(c, x, f)
	}
}

// eachOf is an operator that computes element by element, of integers too.
func eachOf(floats func(v float32) float32, ints func(v int64) int64) func(c *call) error {
	return func(c *call) error {
		if x := c.t("X"); x.whole() {
			return c.mapInts(x, ints)
		}
		return each(floats)(c)
	}
}

// mapInts gives f of every element of x, of which the result has the type.
func (c *call) mapInts(x *Tensor, f func(v int64) int64) error {
	out := x.zeros(x.Type)
	for i, v := range x.I {
		if out.I[i] = f(v); x.Type == matrix.I32 {
			out.I[i] = int64(int32(out.I[i]))
		}
	}
	c.give(out)
	return nil
}

// whole reports whether t holds integers that are computed with.
func (t *Tensor) whole() bool { return t != nil && (t.Type == matrix.I64 || t.Type == matrix.I32) }

func relu(v float32) float32   { return max(v, 0) }
func relu6(v float32) float32  { return min(max(v, 0), 6) }
func tanh(v float32) float32   { return float32(math.Tanh(float64(v))) }
func square(v float32) float32 { return v * v }
func sqrt(v float32) float32   { return float32(math.Sqrt(float64(v))) }
func exp(v float32) float32    { return float32(math.Exp(float64(v))) }
func logE(v float32) float32   { return float32(math.Log(float64(v))) }
func abs(v float32) float32    { return float32(math.Abs(float64(v))) }

func leakyRelu(c *call) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	alpha, err := c.float("alpha")
	if err != nil {
		return err
	}
	return mapped(c, x, func(v float32) float32 {
		if v < 0 {
			return alpha * v
		}
		return v
	})
}

func sigmoid(c *call) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	out := x.zeros(x.Type)
	kernel.Sigmoid(x.F, out.F)
	c.give(out)
	return nil
}

// silu is x * sigmoid(x).
func silu(c *call) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	out := x.zeros(x.Type)
	kernel.Sigmoid(x.F, out.F)
	for i, v := range x.F {
		out.F[i] *= v
	}
	c.give(out)
	return nil
}
