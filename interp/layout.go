package interp

import (
	"fmt"
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
		{"flip", x, out, []setting{{"axis", []int64{}, ""}}, mirrored},
		{"tril_triu", x, out, []setting{{"diagonal", int64(0), ""}, {"lower", true, ""}},
			func(c *call) error { return triangle(c, c.bool("lower")) }},
		{"triu", x, out, []setting{{"diagonal", int64(0), ""}}, func(c *call) error { return triangle(c, false) }}, // of PIR only
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
		{"pd_op.flip", "flip", x, out, nil},
		{"pd_op.tril", "tril_triu", x, out, nil},
		{"pd_op.triu", "triu", x, out, nil},
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
	return c.result(spread(x, dims))
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
	return c.result(x.pick(dims, func(_ int, idx []int) int {
		from := 0
		for i, v := range idx {
			from += v % old[i] * step[i]
		}
		return from
	}))
}

// mirrored turns dimensions around.
func mirrored(c *call) error {
	x := c.t("X")
	list, err := c.ints("axis")
	if err != nil {
		return err
	}
	step, from := strides(x.Dims, x.Dims), 0
	for _, axis := range list {
		at, err := axisOf(axis, len(x.Dims))
		if err != nil {
			return err
		}
		if step[at] > 0 {
			from, step[at] = from+(x.Dims[at]-1)*step[at], -step[at]
		}
	}
	return c.result(x.pick(x.Dims, func(_ int, idx []int) int { return from + offset(idx, step) }))
}

// triangle keeps what is on a diagonal of the last two dimensions and on one side of it; the rest is 0.
func triangle(c *call, lower bool) error {
	x := c.t("X")
	diagonal, err := c.int("diagonal")
	if err != nil {
		return err
	}
	last := len(x.Dims) - 1
	if last < 1 {
		return fmt.Errorf("X of shape %v, want two dimensions or more: %w", x.Dims, ErrShape)
	}
	out := x.zeros(x.Type)
	walk(x.Dims, func(at int, idx []int) {
		if right := int64(idx[last] - idx[last-1]); right != diagonal && right < diagonal != lower {
			return
		}
		if x.Type == matrix.F32 {
			out.F[at] = x.F[at]
		} else {
			out.I[at] = x.I[at]
		}
	})
	c.give(out)
	return nil
}
