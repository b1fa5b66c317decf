package interp

import (
	"fmt"
	"slices"

	"thole.example/matrix"
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

func totalI(v []int64) (s int64) {
	for _, x := range v {
		s += x
	}
	return s
}

// meanI is rounded toward zero.
func meanI(v []int64) int64 { return totalI(v) / int64(len(v)) }

func prodI(v []int64) int64 {
	p := int64(1)
	for _, x := range v {
		p *= x
	}
	return p
}

func largestI(v []int64) int64 { return slices.Max(v) }

func smallestI(v []int64) int64 { return slices.Min(v) }

// reduction folds the dimensions that the settings name; floats or ints gets the values of one result in the order of
// storage. The sum of 32-bit integers has 64.
func reduction(floats func(v []float32) float32, ints func(v []int64) int64) func(c *call) error {
	return func(c *call) error {
		x := c.t("X")
		if ints != nil && x.whole() {
			as := x.Type
			if c.op.name == "reduce_sum" {
				as = matrix.I64
			}
			return c.foldInts(x, as, ints)
		}
		x, err := c.floats("X")
		if err != nil {
			return err
		}
		f, err := c.folds(x)
		if err != nil {
			return err
		}
		out, err := newFloats(f.dims)
		if err != nil {
			return err
		}
		if err := fold(f, out.F, x.F, floats); err != nil {
			return err
		}
		c.give(out)
		return nil
	}
}

// truths folds truth values.
func truths(ints func(v []int64) int64) func(c *call) error {
	return func(c *call) error {
		x := c.t("X")
		if x == nil || x.Type != matrix.Bool {
			return fmt.Errorf("X is %s, want truth values: %w", x.text(), ErrOp)
		}
		return c.foldInts(x, x.Type, ints)
	}
}

// foldInts is reduction for integers.
func (c *call) foldInts(x *Tensor, as matrix.DType, ints func(v []int64) int64) error {
	f, err := c.folds(x)
	if err != nil {
		return err
	}
	out, err := x.like(f.dims)
	if err != nil {
		return err
	}
	out.Type = as
	if err := fold(f, out.I, x.I, ints); err != nil {
		return err
	}
	c.give(out)
	return nil
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

// folding says how a tensor is folded: the dimensions that are kept and those that are folded, with their steps in the
// tensor, and the shape of the result.
type folding struct {
	dims, kept, group   []int
	keptStep, groupStep []int
}

// folds reads the settings of a reduction of x.
func (c *call) folds(x *Tensor) (f folding, err error) {
	fold, err := c.folded(len(x.Dims))
	if err != nil {
		return f, err
	}
	step := strides(x.Dims, x.Dims)
	for i, d := range x.Dims {
		switch {
		case !fold[i]:
			f.kept, f.dims, f.keptStep = append(f.kept, d), append(f.dims, d), append(f.keptStep, step[i])
			continue
		case c.bool("keep_dim"):
			f.dims = append(f.dims, 1)
		}
		f.group, f.groupStep = append(f.group, d), append(f.groupStep, step[i])
	}
	if len(f.dims) == 0 {
		f.dims = c.single(false)
	}
	return f, nil
}

// fold fills out with reduce of the values of x that belong together.
func fold[T float32 | int64](f folding, out, x []T, reduce func(v []T) T) error {
	n := span(f.group)
	if n == 0 && len(out) > 0 {
		return fmt.Errorf("X has nothing to fold in dimensions %v: %w", f.group, ErrShape)
	}
	buf := make([]T, n)
	walk(f.kept, func(at int, idx []int) {
		base := offset(idx, f.keptStep)
		walk(f.group, func(k int, in []int) { buf[k] = x[base+offset(in, f.groupStep)] })
		out[at] = reduce(buf)
	})
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
