package interp

import (
	"fmt"
	"slices"
)

// giveAll sets the variables of an output.
func (c *call) giveAll(slot string, list []*Tensor) error {
	names := c.out[slot]
	if len(names) != len(list) {
		return fmt.Errorf("%d parts for %d variables: %w", len(list), len(names), ErrShape)
	}
	for i, name := range names {
		c.vars[name] = list[i]
	}
	return nil
}

// part is the places [lo, hi) of one dimension.
func (t *Tensor) part(axis, lo, hi int) (*Tensor, error) {
	dims := slices.Clone(t.Dims)
	dims[axis] = hi - lo
	step := strides(t.Dims, t.Dims)
	for i, d := range t.Dims {
		if d == 1 {
			step[i] = 0
		}
	}
	from := lo * span(t.Dims[axis+1:])
	return t.pick(dims, func(_ int, idx []int) int { return from + offset(idx, step) })
}

// split cuts a dimension into as many parts of one size as there are outputs, or into sections, of which one may be -1:
// what remains.
func split(c *call) error {
	x := c.t("X")
	axis, err := c.int("axis")
	if err != nil {
		return err
	}
	at, err := axisOf(axis, len(x.Dims))
	if err != nil {
		return err
	}
	sections, err := c.ints("sections")
	if err != nil {
		return err
	}
	sizes, err := cuts(x.Dims[at], len(c.out["Out"]), sections)
	if err != nil {
		return err
	}
	var list []*Tensor
	lo := 0
	for _, n := range sizes {
		t, err := x.part(at, lo, lo+n)
		if err != nil {
			return err
		}
		list, lo = append(list, t), lo+n
	}
	return c.giveAll("Out", list)
}

// cuts are the sizes of n parts of a dimension.
func cuts(whole, n int, sections []int64) (sizes []int, err error) {
	bad := fmt.Errorf("a dimension of %d into %d parts, sections %v: %w", whole, n, sections, ErrShape)
	if len(sections) == 0 {
		if n == 0 || whole%n != 0 {
			return nil, bad
		}
		return slices.Repeat([]int{whole / n}, n), nil
	}
	rest, open := whole, -1
	for i, s := range sections {
		switch {
		case s == -1 && open < 0:
			open = i
		case s < 0 || s > int64(rest):
			return nil, bad
		default:
			rest -= int(s)
		}
		sizes = append(sizes, int(s))
	}
	if open >= 0 {
		sizes[open], rest = rest, 0
	}
	if rest != 0 {
		return nil, bad
	}
	return sizes, nil
}

// unstack gives each place of a dimension, which the results do not have.
func unstack(c *call) error { return unstackTo(c, "Y") }

func unstackTo(c *call, slot string) error {
	x := c.t("X")
	axis, err := c.int("axis")
	if err != nil {
		return err
	}
	at, err := axisOf(axis, len(x.Dims))
	if err != nil {
		return err
	}
	var list []*Tensor
	for i := range x.Dims[at] {
		t, err := x.part(at, i, i+1)
		if err != nil {
			return err
		}
		t.Dims = slices.Delete(t.Dims, at, at+1)
		list = append(list, t)
	}
	return c.giveAll(slot, list)
}
