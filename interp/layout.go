package interp

import (
	"fmt"
	"math"
	"slices"

	"thole.example/matrix"
)

// layoutOps are the operators that repeat, cut and measure tensors.
func layoutOps() []op {
	x, out := unary, []string{"Out"}
	return []op{
		{"expand_v2", x, out, []setting{{"shape", []int64{}, "Shape expand_shapes_tensor"}}, expand},
		{"expand_as_v2", []string{"X", "Y?"}, out, []setting{{"target_shape", []int64{}, ""}}, expandAs},
		{"tile", x, out, []setting{{"repeat_times", []int64{}, "RepeatTimes repeat_times_tensor"}}, tile},
		{"split", x, []string{"Out*"}, []setting{{"axis", int64(0), "AxisTensor"}, {"num", int64(0), ""},
			{"sections", []int64{}, "SectionsTensorList"}}, split},
		{"unstack", x, []string{"Y*"}, []setting{{"axis", int64(0), ""}, {"num", int64(0), ""}}, unstack},
		{"shape", []string{"Input"}, out, nil, shapeAs(matrix.I32)},
		{"shape64", []string{"Input"}, out, nil, shapeAs(matrix.I64)}, // of PIR only
		{"size", []string{"Input"}, out, nil, size},
		{"fill_any_like", x, out, []setting{{"value", 0.0, ""}, {"dtype", elem(matrix.Invalid), ""}}, fillLike},
		{"range", []string{"Start", "End", "Step"}, out, nil, arange},
	}
}

// layoutPIR is how PIR calls them.
func layoutPIR() []pirOp {
	x, out := unary, []string{"Out"}
	return []pirOp{
		{"pd_op.expand", "expand_v2", []string{"X", "@shape"}, out, nil},
		{"pd_op.expand_as", "expand_as_v2", []string{"X", "Y"}, out, nil},
		{"pd_op.tile", "tile", []string{"X", "@repeat_times"}, out, nil},
		{"pd_op.split", "split", []string{"X", "@sections", "@axis"}, []string{"Out"}, nil},
		{"pd_op.split_with_num", "split", []string{"X", "@axis"}, []string{"Out"}, nil},
		{"pd_op.unstack", "unstack", x, []string{"Y"}, nil},
		{"pd_op.shape", "shape", []string{"Input"}, out, nil},
		{"pd_op.shape64", "shape64", []string{"Input"}, out, nil},
		{"pd_op.numel", "size", []string{"Input"}, out, nil},
		{"pd_op.full_like", "fill_any_like", []string{"X", "@value"}, out, nil},
		{"pd_op.full_with_tensor", "fill_constant", []string{"@value", "@shape"}, out, nil},
		{"pd_op.assign_value_", "assign_value", []string{""}, out, nil},
		{"pd_op.assign_value", "assign_value", nil, out, nil},
	}
}

// pick makes a tensor of t's type, of which each element is one of t: that at the place from says.
func (t *Tensor) pick(dims []int, from func(at int, idx []int) int) (*Tensor, error) {
	out, err := t.like(dims)
	if err != nil {
		return nil, err
	}
	if out.Len() == 0 {
		return out, nil
	}
	walk(dims, func(at int, idx []int) {
		if t.Type == matrix.F32 {
			out.F[at] = t.F[from(at, idx)]
		} else {
			out.I[at] = t.I[from(at, idx)]
		}
	})
	return out, nil
}

// spread repeats dimensions of 1 until x has the shape.
func spread(x *Tensor, dims []int) (*Tensor, error) {
	both, err := broadcast(x.Dims, dims)
	if err != nil || !slices.Equal(both, dims) {
		return nil, fmt.Errorf("shape %v as %v: %w", x.Dims, dims, ErrShape)
	}
	step := strides(x.Dims, dims)
	return x.pick(dims, func(_ int, idx []int) int { return offset(idx, step) })
}

// expand takes -1 as the size that the input has there.
func expand(c *call) error {
	x := c.t("X")
	shape, err := c.ints("shape")
	if err != nil {
		return err
	}
	dims := make([]int, len(shape))
	for i, d := range shape {
		if at := i - (len(shape) - len(x.Dims)); d == -1 && at >= 0 {
			d = int64(x.Dims[at])
		}
		if d < 0 || d > maxElems {
			return fmt.Errorf("shape %v for X of shape %v: %w", shape, x.Dims, ErrShape)
		}
		dims[i] = int(d)
	}
	return c.giveSpread(x, dims)
}

func (c *call) giveSpread(x *Tensor, dims []int) error {
	out, err := spread(x, dims)
	if err == nil {
		c.give(out)
	}
	return err
}

// expandAs expands to the shape of Y, or to the one that is written.
func expandAs(c *call) error {
	if y := c.t("Y"); y != nil {
		return c.giveSpread(c.t("X"), y.Dims)
	}
	dims, err := c.dims("target_shape")
	if err != nil {
		return err
	}
	return c.giveSpread(c.t("X"), dims)
}

// tile repeats whole dimensions.
func tile(c *call) error {
	x := c.t("X")
	times, err := c.dims("repeat_times")
	if err != nil {
		return err
	}
	rank := max(len(times), len(x.Dims))
	old, dims := make([]int, rank), make([]int, rank)
	for i := range dims {
		old[i], dims[i] = 1, 1
		if at := i - (rank - len(x.Dims)); at >= 0 {
			old[i] = x.Dims[at]
		}
		if at := i - (rank - len(times)); at >= 0 {
			dims[i] = times[at]
		}
		if dims[i] *= old[i]; dims[i] > maxElems {
			return fmt.Errorf("X of shape %v repeated %v times: %w", x.Dims, times, ErrShape)
		}
	}
	step := strides(old, old)
	out, err := x.pick(dims, func(_ int, idx []int) int {
		from := 0
		for i, v := range idx {
			from += v % old[i] * step[i]
		}
		return from
	})
	if err == nil {
		c.give(out)
	}
	return err
}

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
func unstack(c *call) error {
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
	return c.giveAll("Y", list)
}

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
	out, err := (&Tensor{Type: to}).like(x.Dims)
	if err != nil {
		return err
	}
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
