package interp

import (
	"fmt"
	"slices"

	"thole.example/matrix"
)

// gather picks places of one dimension by a list of indices, or by one index.
func gather(c *call) error {
	x, index := c.t("X"), c.t("Index")
	axis, err := c.int("axis")
	if err != nil {
		return err
	}
	at, err := axisOf(axis, len(x.Dims))
	if err != nil {
		return err
	}
	if index.Type == matrix.F32 || len(index.Dims) > 2 || len(index.Dims) == 2 && index.Dims[1] != 1 {
		return fmt.Errorf("index is %s, want a list of integers: %w", index.text(), ErrOp)
	}
	dims := slices.Clone(x.Dims)
	dims[at] = len(index.I)
	if len(index.Dims) == 0 {
		dims = slices.Delete(dims, at, at+1)
	}
	out, err := x.like(dims)
	if err != nil {
		return err
	}
	for i, k := range index.I {
		if k < 0 || k >= int64(x.Dims[at]) {
			return fmt.Errorf("index %d at place %d, want one of [0,%d): %w", k, i, x.Dims[at], ErrShape)
		}
	}
	outer, inner := span(x.Dims[:at]), span(x.Dims[at+1:])
	for o := range outer {
		for i, k := range index.I {
			from, to := (o*x.Dims[at]+int(k))*inner, (o*len(index.I)+i)*inner
			if x.Type == matrix.F32 {
				copy(out.F[to:to+inner], x.F[from:])
			} else {
				copy(out.I[to:to+inner], x.I[from:])
			}
		}
	}
	c.give(out)
	return nil
}
