package interp

import (
	"fmt"
	"slices"

	"thole.example/matrix"
)

// pickOps are the operators that choose among values: by conditions, indices and order.
func pickOps() []op {
	x, out := unary, []string{"Out"}
	order := []string{"Out", "Indices"}
	along := []setting{{"axis", int64(-1), ""}, {"flatten", false, ""}, {"keepdims", false, ""}, {"dtype", elem(matrix.Invalid), ""}}
	return []op{
		{"where", []string{"Condition", "X", "Y"}, out, nil, where},
		{"one_hot_v2", x, out, []setting{{"depth", int64(0), "depth_tensor"}, {"dtype", elem(matrix.F32), ""},
			{"allow_out_of_range", false, ""}}, oneHot},
		{"sequence_mask", x, []string{"Y"}, []setting{{"maxlen", int64(-1), "MaxLenTensor"}, {"out_dtype", elem(matrix.I64), ""}}, sequenceMask},
		{"gather_nd", []string{"X", "Index"}, out, nil, gatherND},
		{"index_select", []string{"X", "Index"}, out, []setting{{"dim", int64(0), ""}}, indexSelect},
		{"index_sample", []string{"X", "Index"}, out, nil, indexSample},
		{"take_along_axis", []string{"Input", "Index"}, []string{"Result"}, []setting{{"Axis", int64(0), ""}}, takeAlong},
		{"top_k_v2", x, order, []setting{{"k", int64(1), "K"}, {"axis", int64(-1), ""}, {"largest", true, ""}, {"sorted", true, ""}}, topK},
		{"top_k", x, order, []setting{{"k", int64(1), "K"}}, topK},
		{"argsort", x, order, []setting{{"axis", int64(-1), ""}, {"descending", false, ""}, {"stable", false, ""}}, argsort},
		{"arg_max", x, out, along, extreme(func(a, b float64) bool { return a > b })},
		{"arg_min", x, out, along, extreme(func(a, b float64) bool { return a < b })},
	}
}

// pickPIR is how PIR calls them.
func pickPIR() []pirOp {
	x, out, order := unary, []string{"Out"}, []string{"Out", "Indices"}
	xIndex := []string{"X", "Index"}
	return []pirOp{
		{"pd_op.where", "where", []string{"Condition", "X", "Y"}, out, nil},
		{"pd_op.one_hot", "one_hot_v2", []string{"X", "@depth"}, out, nil},
		{"pd_op.sequence_mask", "sequence_mask", []string{"X", "@maxlen"}, []string{"Y"}, nil},
		{"pd_op.gather_nd", "gather_nd", xIndex, out, nil},
		{"pd_op.index_select", "index_select", xIndex, out, map[string]string{"axis": "dim"}},
		{"pd_op.index_sample", "index_sample", xIndex, out, nil},
		{"pd_op.take_along_axis", "take_along_axis", []string{"Input", "Index"}, []string{"Result"}, map[string]string{"axis": "Axis"}},
		{"pd_op.topk", "top_k_v2", []string{"X", "@k"}, order, nil},
		{"pd_op.argsort", "argsort", x, order, nil},
		{"pd_op.argmax", "arg_max", []string{"X", "@axis"}, out, nil},
		{"pd_op.argmin", "arg_min", []string{"X", "@axis"}, out, nil},
	}
}

// where takes X where the condition is true, and else Y.
func where(c *call) error {
	cond, x, y := c.t("Condition"), c.t("X"), c.t("Y")
	if x.Type != y.Type {
		return fmt.Errorf("X is %s, Y is %s: %w", x.text(), y.text(), ErrOp)
	}
	dims, err := broadcast(x.Dims, y.Dims)
	if err != nil {
		return err
	}
	if dims, err = broadcast(dims, cond.Dims); err != nil {
		return err
	}
	a, err := spread(x, dims)
	if err != nil {
		return err
	}
	b, err := spread(y, dims)
	if err != nil {
		return err
	}
	step, truths := strides(cond.Dims, dims), truthsOf(cond)
	out, err := x.like(dims)
	if err != nil {
		return err
	}
	walk(dims, func(at int, idx []int) {
		from := b
		if truths[offset(idx, step)] {
			from = a
		}
		if x.Type == matrix.F32 {
			out.F[at] = from.F[at]
		} else {
			out.I[at] = from.I[at]
		}
	})
	c.give(out)
	return nil
}

// integers is the variable in a slot, which must hold integers.
func (c *call) integers(slot string) (*Tensor, error) {
	t := c.t(slot)
	if t == nil || t.Type == matrix.F32 {
		return nil, fmt.Errorf("%s is %s, want integers: %w", slot, t.text(), ErrOp)
	}
	return t, nil
}

// inRange checks an index.
func inRange(k int64, n int) error {
	if k < 0 || k >= int64(n) {
		return fmt.Errorf("index %d, want one of [0,%d): %w", k, n, ErrShape)
	}
	return nil
}

// rows makes a tensor with one more dimension than integers have, of n places, and marks for each integer some of them.
func (c *call) rows(x *Tensor, n int64, t matrix.DType, mark func(v int64, place int) bool) error {
	if n < 0 || n > maxElems {
		return fmt.Errorf("%d places: %w", n, ErrShape)
	}
	out, err := (&Tensor{Type: t}).like(append(slices.Clone(x.Dims), int(n)))
	if err != nil {
		return err
	}
	for i, v := range x.I {
		for k := range int(n) {
			if mark(v, k) {
				if err := out.set(i*int(n)+k, 1); err != nil {
					return err
				}
			}
		}
	}
	c.give(out)
	return nil
}

func oneHot(c *call) error {
	x, err := c.integers("X")
	if err != nil {
		return err
	}
	depth, err := c.int("depth")
	if err != nil {
		return err
	}
	for _, v := range x.I {
		if err := inRange(v, int(max(depth, 0))); err != nil && !c.bool("allow_out_of_range") {
			return err
		}
	}
	return c.rows(x, depth, matrix.DType(c.set["dtype"].(elem)), func(v int64, k int) bool { return v == int64(k) })
}

// sequenceMask marks the places before each length; -1 places are as many as the largest length.
func sequenceMask(c *call) error {
	x, err := c.integers("X")
	if err != nil {
		return err
	}
	n, err := c.int("maxlen")
	if err != nil {
		return err
	}
	if n < 0 && len(x.I) > 0 {
		n = slices.Max(x.I)
	}
	return c.rows(x, max(n, 0), matrix.DType(c.set["out_dtype"].(elem)), func(v int64, k int) bool { return int64(k) < v })
}

// gatherND takes what lies at each index, a row of the last dimension.
func gatherND(c *call) error {
	x := c.t("X")
	index, err := c.integers("Index")
	if err != nil {
		return err
	}
	last := len(index.Dims) - 1
	if last < 0 || index.Dims[last] > len(x.Dims) {
		return fmt.Errorf("index of shape %v for X of shape %v: %w", index.Dims, x.Dims, ErrShape)
	}
	n := index.Dims[last]
	inner, step := span(x.Dims[n:]), strides(x.Dims, x.Dims)
	from := make([]int, span(index.Dims[:last]))
	for i := range from {
		for k := range n {
			v := index.I[i*n+k]
			if err := inRange(v, x.Dims[k]); err != nil {
				return err
			}
			from[i] += int(v) * step[k]
		}
	}
	return c.result(x.pick(slices.Concat(index.Dims[:last], x.Dims[n:]), func(at int, _ []int) int { return from[at/inner] + at%inner }))
}

// along takes places of one dimension by indices: from says which index holds for an element of the result.
func (c *call) along(x, index *Tensor, axis int, dims []int, from func(at int, idx []int) int) error {
	for _, v := range index.I {
		if err := inRange(v, x.Dims[axis]); err != nil {
			return err
		}
	}
	step := strides(x.Dims, x.Dims)
	return c.result(x.pick(dims, func(at int, idx []int) int {
		k := int(index.I[from(at, idx)])
		return offset(idx, step) + (k-idx[axis])*step[axis]
	}))
}

func indexSelect(c *call) error {
	x := c.t("X")
	index, err := c.integers("Index")
	if err != nil {
		return err
	}
	dim, err := c.int("dim")
	if err != nil {
		return err
	}
	at, err := axisOf(dim, len(x.Dims))
	if err != nil {
		return err
	}
	dims := slices.Clone(x.Dims)
	dims[at] = len(index.I)
	return c.along(x, index, at, dims, func(_ int, idx []int) int { return idx[at] })
}

// indexSample takes of each row of X the places that the row of Index names.
func indexSample(c *call) error {
	x := c.t("X")
	index, err := c.integers("Index")
	if err != nil {
		return err
	}
	if len(x.Dims) != 2 || len(index.Dims) != 2 || x.Dims[0] != index.Dims[0] {
		return fmt.Errorf("X of shape %v, index of shape %v, want two dimensions and as many rows: %w", x.Dims, index.Dims, ErrShape)
	}
	return c.along(x, index, 1, index.Dims, func(at int, _ []int) int { return at })
}

func takeAlong(c *call) error {
	x := c.t("Input")
	index, err := c.integers("Index")
	if err != nil {
		return err
	}
	axis, err := c.int("Axis")
	if err != nil {
		return err
	}
	at, err := axisOf(axis, len(x.Dims))
	if err != nil {
		return err
	}
	fits := len(index.Dims) == len(x.Dims)
	for i := 0; fits && i < len(x.Dims); i++ {
		fits = i == at || index.Dims[i] <= x.Dims[i]
	}
	if !fits {
		return fmt.Errorf("X of shape %v, index of shape %v: %w", x.Dims, index.Dims, ErrShape)
	}
	return c.along(x, index, at, index.Dims, func(at int, _ []int) int { return at })
}
