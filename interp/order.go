package interp

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"thole.example/matrix"
)

// at is an element as a number for comparison; integers beyond 53 bits are compared rounded.
func (t *Tensor) at(i int) float64 {
	if t.Type == matrix.F32 {
		return float64(t.F[i])
	}
	return float64(t.I[i])
}

// ranked gives the first n of each line along a dimension in order, and where they stood. Equal values keep their order.
func (c *call) ranked(axis int64, n int64, descending bool) error {
	x := c.t("X")
	at, err := axisOf(axis, len(x.Dims))
	if err != nil {
		return err
	}
	outer, whole, inner := around(x.Dims, at)
	if n < 0 {
		n = int64(whole)
	}
	if n > int64(whole) {
		return fmt.Errorf("the first %d of %d: %w", n, whole, ErrShape)
	}
	dims := slices.Clone(x.Dims)
	dims[at] = int(n)
	index, err := (&Tensor{Type: matrix.I64}).like(dims)
	if err != nil {
		return err
	}
	line := make([]int, whole)
	for o := range outer {
		for i := range inner {
			base := o*whole*inner + i
			for k := range line {
				line[k] = k
			}
			slices.SortStableFunc(line, func(a, b int) int {
				if descending {
					a, b = b, a
				}
				return cmp.Compare(x.at(base+a*inner), x.at(base+b*inner))
			})
			for k := range int(n) {
				index.I[(o*int(n)+k)*inner+i] = int64(line[k])
			}
		}
	}
	out, err := x.pick(dims, func(p int, _ []int) int {
		return (p/(int(n)*inner)*whole+int(index.I[p]))*inner + p%inner
	})
	if err != nil {
		return err
	}
	c.vars[c.out["Out"][0]], c.vars[c.out["Indices"][0]] = out, index
	return nil
}

// topK gives the largest or smallest along a dimension.
func topK(c *call) error {
	k, err := c.int("k")
	if err != nil {
		return err
	}
	axis, descending := int64(-1), true
	if c.op.name != "top_k" {
		if axis, err = c.int("axis"); err != nil {
			return err
		}
		descending = c.bool("largest")
	}
	return c.ranked(axis, max(k, 0), descending)
}

func argsort(c *call) error {
	axis, err := c.int("axis")
	if err != nil {
		return err
	}
	return c.ranked(axis, -1, c.bool("descending"))
}

// extreme gives where along a dimension the first value is that beats all others; NaN beats all.
func extreme(beats func(a, b float64) bool) func(c *call) error {
	return func(c *call) error {
		x := c.t("X")
		axis, err := c.int("axis")
		if err != nil {
			return err
		}
		of, keep := x.Dims, c.bool("keepdims")
		if c.bool("flatten") {
			of, axis = []int{x.Len()}, 0
		}
		at, err := axisOf(axis, len(of))
		if err != nil {
			return err
		}
		outer, n, inner := around(of, at)
		if n == 0 {
			return fmt.Errorf("X of shape %v has none: %w", x.Dims, ErrShape)
		}
		to := matrix.DType(c.set["dtype"].(elem))
		if to == matrix.Invalid {
			to = matrix.I64
		}
		out, err := (&Tensor{Type: to}).like(slices.Concat(of[:at], []int{1}, of[at+1:]))
		if err != nil {
			return err
		}
		for o := range outer {
			for i := range inner {
				best := 0
				for k := 1; k < n; k++ {
					v, top := x.at((o*n+k)*inner+i), x.at((o*n+best)*inner+i)
					if beats(v, top) || math.IsNaN(v) && !math.IsNaN(top) {
						best = k
					}
				}
				if err := out.set(o*inner+i, float64(best)); err != nil {
					return err
				}
			}
		}
		switch {
		case c.bool("flatten") && keep:
			out.Dims = slices.Repeat([]int{1}, len(x.Dims))
		case c.bool("flatten"):
			out.Dims = c.single(false)
		case !keep:
			out.Dims = slices.Delete(out.Dims, at, at+1)
		}
		c.give(out)
		return nil
	}
}
