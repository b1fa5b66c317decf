package interp

import (
	"fmt"
	"slices"

	"thole.example/matrix"
)

// slice takes a range of each named dimension; ends beyond the shape mean its end, and those below 0 count from there.
func slice(c *call) error {
	x := c.t("Input")
	axes, err := c.ints("axes")
	if err != nil {
		return err
	}
	starts, err := c.ints("starts")
	if err != nil {
		return err
	}
	ends, err := c.ints("ends")
	if err != nil {
		return err
	}
	if len(starts) != len(axes) || len(ends) != len(axes) {
		return fmt.Errorf("axes %v, starts %v, ends %v, want as many of each: %w", axes, starts, ends, ErrShape)
	}
	from, dims := make([]int, len(x.Dims)), slices.Clone(x.Dims)
	for i, a := range axes {
		at, err := axisOf(a, len(x.Dims))
		if err != nil {
			return err
		}
		lo, hi := within(starts[i], x.Dims[at]), within(ends[i], x.Dims[at])
		from[at], dims[at] = lo, max(hi-lo, 0)
	}
	out, err := x.like(dims)
	if err != nil {
		return err
	}
	step := strides(x.Dims, x.Dims)
	base := offset(from, step)
	walk(dims, func(to int, idx []int) {
		at := base + offset(idx, step)
		if x.Type == matrix.F32 {
			out.F[to] = x.F[at]
		} else {
			out.I[to] = x.I[at]
		}
	})
	return dropped(c, out)
}

// within is a place in a dimension of n.
func within(v int64, n int) int {
	if v < 0 {
		v += int64(n)
	}
	return int(min(max(v, 0), int64(n)))
}

// dropped gives the slice without the dimensions of 1 that decrease_axis names.
func dropped(c *call, out *Tensor) error {
	list, err := c.ints("decrease_axis")
	if err != nil {
		return err
	}
	var dims []int
	for i, d := range out.Dims {
		if !slices.Contains(list, int64(i)) {
			dims = append(dims, d)
		} else if d != 1 {
			return fmt.Errorf("dimension %d of %v cannot fall away: %w", i, out.Dims, ErrShape)
		}
	}
	return giveShaped(c, out, dims)
}

// stack puts tensors of one shape behind each other in a new dimension.
func stack(c *call) error {
	list := c.all("X")
	rank := len(list[0].Dims) + 1
	axis, err := c.int("axis")
	if err != nil {
		return err
	}
	at, err := axisOf(axis, rank)
	if err != nil {
		return err
	}
	out, err := list[0].like(slices.Insert(slices.Clone(list[0].Dims), at, len(list)))
	if err != nil {
		return err
	}
	inner := span(list[0].Dims[at:])
	for k, t := range list {
		if t.Type != out.Type || !slices.Equal(t.Dims, list[0].Dims) {
			return fmt.Errorf("%s and %s: %w", list[0].text(), t.text(), ErrShape)
		}
		for o := range span(t.Dims[:at]) {
			from, to := o*inner, (o*len(list)+k)*inner
			if t.Type == matrix.F32 {
				copy(out.F[to:to+inner], t.F[from:])
			} else {
				copy(out.I[to:to+inner], t.I[from:])
			}
		}
	}
	c.give(out)
	return nil
}
