package interp

import (
	"fmt"
	"math"

	"thole.example/matrix"
)

// shapeAs gives the dimensions as integers of a type.
func shapeAs(t matrix.DType) func(c *call) error {
	return func(c *call) error {
		out := &Tensor{Dims: []int{len(c.t("Input").Dims)}, Type: t, I: []int64{}}
		for _, d := range c.t("Input").Dims {
			out.I = append(out.I, int64(d))
		}
		c.give(out)
		return nil
	}
}

// size is the number of elements.
func size(c *call) error {
	c.give(Ints([]int64{int64(c.t("Input").Len())}, c.single(true)...))
	return nil
}

// fillLike makes a tensor of one value with the shape of X, and its type if the setting names none.
func fillLike(c *call) error {
	x, to := c.t("X"), matrix.DType(c.set["dtype"].(elem))
	if to == matrix.Invalid {
		to = x.Type
	}
	value, err := c.float("value")
	if err != nil {
		return err
	}
	out := x.zeros(to)
	for i := range out.Len() {
		if err := out.set(i, float64(value)); err != nil {
			return err
		}
	}
	c.give(out)
	return nil
}

// arange counts from Start to before End.
func arange(c *call) error {
	start, end, step := c.t("Start"), c.t("End"), c.t("Step")
	for _, t := range []*Tensor{start, end, step} {
		if t.Len() != 1 || t.Type != start.Type {
			return fmt.Errorf("start %s, end %s, step %s, want one number each, of one type: %w", start.text(), end.text(), step.text(), ErrShape)
		}
	}
	at := func(t *Tensor) float64 {
		if t.Type == matrix.F32 {
			return float64(t.F[0])
		}
		return float64(t.I[0])
	}
	n := math.Ceil((at(end) - at(start)) / at(step))
	if !(math.Abs(n) <= maxElems) {
		return fmt.Errorf("from %v to %v by %v: %w", at(start), at(end), at(step), ErrShape)
	}
	out, err := start.like([]int{max(int(n), 0)})
	if err != nil {
		return err
	}
	for i := range out.F {
		out.F[i] = start.F[0] + float32(float32(i)*step.F[0])
	}
	for i := range out.I {
		out.I[i] = start.I[0] + int64(i)*step.I[0]
	}
	c.give(out)
	return nil
}

// increment adds a number to one value.
func increment(c *call) error {
	x := c.t("X")
	step, err := c.float("step")
	if err != nil {
		return err
	}
	out := x.zeros(x.Type)
	for i := range x.F {
		out.F[i] = x.F[i] + step
	}
	for i := range x.I {
		out.I[i] = x.I[i] + int64(step)
	}
	c.give(out)
	return nil
}
