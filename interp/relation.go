package interp

import (
	"fmt"
	"math"

	"thole.example/matrix"
)

// relation compares X and Y element by element.
func relation(floats func(a, b float32) bool, ints func(a, b int64) bool) func(c *call) error {
	return func(c *call) error {
		x, y := c.t("X"), c.t("Y")
		if (x.Type == matrix.F32) != (y.Type == matrix.F32) {
			return fmt.Errorf("X is %s, Y is %s: %w", x.text(), y.text(), ErrOp)
		}
		axis, err := c.int("axis")
		if err != nil {
			return err
		}
		if x.Type == matrix.F32 {
			return pairs(c, x.F, y.F, axis, floats)
		}
		return pairs(c, x.I, y.I, axis, ints)
	}
}

// logic combines truth values; a number counts as true unless it is 0.
func logic(f func(a, b bool) bool) func(c *call) error {
	return func(c *call) error {
		return pairs(c, truthsOf(c.t("X")), truthsOf(c.t("Y")), -1, f)
	}
}

// pairs makes truth values of the elements of X and Y, whose values are given.
func pairs[T any](c *call, x, y []T, axis int64, f func(a, b T) bool) error {
	xd, yd, err := place(c.t("X").Dims, c.t("Y").Dims, axis)
	if err != nil {
		return err
	}
	dims, err := broadcast(xd, yd)
	if err != nil {
		return err
	}
	out, err := (&Tensor{Type: matrix.Bool}).like(dims)
	if err != nil {
		return err
	}
	xs, ys := strides(xd, dims), strides(yd, dims)
	walk(dims, func(at int, idx []int) { out.I[at] = bit(f(x[offset(idx, xs)], y[offset(idx, ys)])) })
	c.give(out)
	return nil
}

func logicalNot(c *call) error {
	x := c.t("X")
	out := x.zeros(matrix.Bool)
	for i, v := range truthsOf(x) {
		out.I[i] = bit(!v)
	}
	c.give(out)
	return nil
}

// truthsOf are the values, true unless they are 0.
func truthsOf(t *Tensor) []bool {
	all := make([]bool, t.Len())
	for i := range all {
		all[i] = t.Type == matrix.F32 && t.F[i] != 0 || t.Type != matrix.F32 && t.I[i] != 0
	}
	return all
}

// test says something of each value.
func test(f func(v float64) bool) func(c *call) error {
	return func(c *call) error {
		x := c.t("X")
		out := x.zeros(matrix.Bool)
		for i := range out.I {
			out.I[i] = bit(f(x.at(i)))
		}
		c.give(out)
		return nil
	}
}

func isInf(v float64) bool { return math.IsInf(v, 0) }

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
