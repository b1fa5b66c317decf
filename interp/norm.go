package interp

import (
	"fmt"
	"math"
)

// axisOf is a dimension of a shape, counted from the end if it is below 0.
func axisOf(axis int64, rank int) (int, error) {
	if axis < -int64(rank) || axis >= int64(rank) {
		return 0, fmt.Errorf("dimension %d of %d: %w", axis, rank, ErrShape)
	}
	if axis < 0 {
		axis += int64(rank)
	}
	return int(axis), nil
}

// around cuts a shape at a dimension: how many before, of it, and behind.
func around(dims []int, axis int) (outer, n, inner int) {
	return span(dims[:axis]), dims[axis], span(dims[axis+1:])
}

// softmax subtracts the largest value before it takes the exponentials.
func softmax(c *call) error { return normalized(c, softmaxRow, 1) }

// normalized does with the values along the attribute axis what row does with n of them that lie step apart; alone is what
// becomes of one value without an axis.
func normalized(c *call, row func(x, y []float32, n, step int), alone float32) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	if len(x.Dims) == 0 {
		return mapped(c, x, func(float32) float32 { return alone })
	}
	axis, err := c.int("axis")
	if err != nil {
		return err
	}
	at, err := axisOf(axis, len(x.Dims))
	if err != nil {
		return err
	}
	out := x.zeros(x.Type)
	outer, n, inner := around(x.Dims, at)
	if n == 0 {
		outer = 0
	}
	for o := range outer {
		for i := range inner {
			row(x.F[o*n*inner+i:], out.F[o*n*inner+i:], n, inner)
		}
	}
	c.give(out)
	return nil
}

// softmaxRow takes n values, at least one, that lie step apart.
func softmaxRow(x, y []float32, n, step int) {
	top := x[0]
	for k := 1; k < n; k++ {
		top = max(top, x[k*step])
	}
	sum := 0.0
	for k := range n {
		sum += math.Exp(float64(x[k*step]) - float64(top))
	}
	for k := range n {
		y[k*step] = float32(math.Exp(float64(x[k*step])-float64(top)) / sum)
	}
}

// dropout drops nothing in inference. Where the model says that it was trained without scaling (downgrade_in_infer) the
// values are scaled now.
func dropout(c *call) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	p, err := c.float("dropout_prob")
	if err != nil {
		return err
	}
	switch how := c.str("dropout_implementation"); how {
	case "upscale_in_train":
		c.give(x)
		return nil
	case "downgrade_in_infer":
		return mapped(c, x, func(v float32) float32 { return v * (1 - p) })
	default:
		return fmt.Errorf("dropout_implementation %q: %w", how, ErrOp)
	}
}

// batchNorm uses the stored mean and variance.
func batchNorm(c *call) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	layout := c.str("data_layout")
	axis := 1
	if layout == "NHWC" {
		axis = len(x.Dims) - 1
	} else if layout != "NCHW" && layout != "AnyLayout" {
		return fmt.Errorf("data_layout %q: %w", layout, ErrOp)
	}
	if len(x.Dims) < 2 {
		return fmt.Errorf("X of shape %v, want two dimensions or more: %w", x.Dims, ErrShape)
	}
	outer, n, inner := around(x.Dims, axis)
	var of [4][]float32
	for i, slot := range []string{"Mean", "Variance", "Scale", "Bias"} {
		t, err := c.floats(slot)
		if err != nil {
			return err
		}
		if len(t.F) != n {
			return fmt.Errorf("%s of shape %v, want %d values: %w", slot, t.Dims, n, ErrShape)
		}
		of[i] = t.F
	}
	epsilon, err := c.float("epsilon")
	if err != nil {
		return err
	}
	out := x.zeros(x.Type)
	for k := range n {
		mean, factor, gain, bias := of[0][k], 1/sqrt(of[1][k]+epsilon), of[2][k], of[3][k]
		for o := range outer {
			from := (o*n + k) * inner
			for i := from; i < from+inner; i++ {
				out.F[i] = float32(float32((x.F[i]-mean)*factor)*gain) + bias
				if c.bool("fuse_with_relu") {
					out.F[i] = relu(out.F[i])
				}
			}
		}
	}
	c.give(out)
	return nil
}
