package interp

import (
	"fmt"

	"thole/matrix"
)

func total(v []float32) (s float64) {
	for _, x := range v {
		s += float64(x)
	}
	return s
}

func sumOf(v []float32) float32 { return float32(total(v)) }

func meanOf(v []float32) float32 { return float32(total(v) / float64(len(v))) }

func prodOf(v []float32) float32 {
	p := 1.0
	for _, x := range v {
		p *= float64(x)
	}
	return float32(p)
}

func maxOf(v []float32) float32 {
	m := v[0]
	for _, x := range v[1:] {
		m = max(m, x)
	}
	return m
}

func minOf(v []float32) float32 {
	m := v[0]
	for _, x := range v[1:] {
		m = min(m, x)
	}
	return m
}

// reduction folds the dimensions that the settings name; f gets the values of one result in the order of storage.
func reduction(f func(v []float32) float32) func(c *call) error {
	return func(c *call) error {
		x, err := c.floats("X")
		if err != nil {
			return err
		}
		fold, err := c.folded(len(x.Dims))
		if err != nil {
			return err
		}
		var kept, dims, group []int // the shape with ones, the result's, and the folded one
		for i, d := range x.Dims {
			switch {
			case !fold[i]:
				kept, dims = append(kept, d), append(dims, d)
			case c.bool("keep_dim"):
				dims = append(dims, 1)
				fallthrough
			default:
				group = append(group, d)
			}
		}
		return c.reduce(x, fold, kept, dims, group, f)
	}
}

// folded tells of each dimension whether it is folded. No dimension named means all.
func (c *call) folded(rank int) ([]bool, error) {
	fold := make([]bool, rank)
	list, err := c.ints("dim")
	if err != nil {
		return nil, err
	}
	all := c.bool("reduce_all") || len(list) == 0 || rank == 0
	for i := range fold {
		fold[i] = all
	}
	if all {
		return fold, nil
	}
	for _, d := range list {
		at, err := axisOf(d, rank)
		if err != nil {
			return nil, err
		}
		fold[at] = true
	}
	return fold, nil
}

func (c *call) reduce(x *Tensor, fold []bool, kept, dims, group []int, f func(v []float32) float32) error {
	if len(dims) == 0 {
		dims = c.single(false)
	}
	out, err := newFloats(dims)
	if err != nil {
		return err
	}
	n := span(group)
	if n == 0 && len(out.F) > 0 {
		return fmt.Errorf("X of shape %v has nothing to fold: %w", x.Dims, ErrShape)
	}
	whole := strides(x.Dims, x.Dims)
	var keptStep, groupStep []int
	for i, s := range whole {
		if fold[i] {
			groupStep = append(groupStep, s)
		} else {
			keptStep = append(keptStep, s)
		}
	}
	buf := make([]float32, n)
	walk(kept, func(at int, idx []int) {
		base := offset(idx, keptStep)
		walk(group, func(k int, in []int) { buf[k] = x.F[base+offset(in, groupStep)] })
		out.F[at] = f(buf)
	})
	c.give(out)
	return nil
}

// meanAll is the mean of all values, one number.
func meanAll(c *call) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	if len(x.F) == 0 {
		return fmt.Errorf("X of shape %v has no mean: %w", x.Dims, ErrShape)
	}
	c.give(Floats([]float32{meanOf(x.F)}, c.single(true)...))
	return nil
}

// single is the shape of one number: since release 2.5 it has no dimensions, before it was [1]. What the program says of
// the output tells them apart; old is for programs that say nothing.
func (c *call) single(old bool) []int {
	if c.rank == 1 || c.rank < 0 && old {
		return []int{1}
	}
	return nil
}

// lookupOld takes ids whose last dimension is 1, which falls away.
func lookupOld(c *call) error {
	ids := c.t("Ids")
	if n := len(ids.Dims); n < 2 || ids.Dims[n-1] != 1 {
		return fmt.Errorf("ids of shape %v, want a last dimension of 1: %w", ids.Dims, ErrShape)
	}
	return lookup(c, ids, ids.Dims[:len(ids.Dims)-1])
}

func lookupNew(c *call) error {
	ids := c.t("Ids")
	return lookup(c, ids, ids.Dims)
}

// lookup gives the rows of W that the ids name; the padding id gives zeros.
func lookup(c *call, ids *Tensor, batch []int) error {
	w, err := c.floats("W")
	if err != nil {
		return err
	}
	if len(w.Dims) != 2 || ids.Type == matrix.F32 {
		return fmt.Errorf("W is %s, ids are %s, want a matrix and integers: %w", w.text(), ids.text(), ErrOp)
	}
	padding, err := c.int("padding_idx")
	if err != nil {
		return err
	}
	rows, width := int64(w.Dims[0]), w.Dims[1]
	if padding < -1 {
		padding += rows
	}
	out, err := newFloats(join(batch, []int{width}))
	if err != nil {
		return err
	}
	for i, id := range ids.I {
		if id == padding && padding != -1 {
			continue
		}
		if id < 0 || id >= rows {
			return fmt.Errorf("id %d at place %d, want one of [0,%d): %w", id, i, rows, ErrShape)
		}
		copy(out.F[i*width:][:width], w.F[int(id)*width:])
	}
	c.give(out)
	return nil
}
