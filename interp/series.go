package interp

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"thole.example/matrix"
)

// seriesOps are the operators that make series of numbers, and take and put values at places that other tensors name.
func seriesOps() []op {
	x, out := unary, []string{"Out"}
	return []op{
		{"arange", []string{"Start", "End", "Step"}, out, nil, arange}, // of PIR only
		{"linspace", []string{"Start", "Stop", "Num"}, out, []setting{{"dtype", elem(matrix.F32), ""}}, linspace},
		{"eye", nil, out, []setting{{"num_rows", int64(0), ""}, {"num_columns", int64(-1), ""}, {"dtype", elem(matrix.F32), ""}}, eye},
		{"unbind", x, []string{"Out*"}, []setting{{"axis", int64(0), ""}}, func(c *call) error { return unstackTo(c, "Out") }},
		{"logsumexp", x, out, []setting{{"axis", []int64{0}, ""}, {"keepdim", false, ""}, {"reduce_all", false, ""}},
			renamed(reduction(logSumExp, nil), map[string]string{"axis": "dim", "keepdim": "keep_dim"})},
		{"strided_slice", []string{"Input"}, out, []setting{{"axes", []int64{}, ""}, {"starts", []int64{}, "StartsTensor StartsTensorList"},
			{"ends", []int64{}, "EndsTensor EndsTensorList"}, {"strides", []int64{}, "StridesTensor StridesTensorList"},
			{"infer_flags", []int64{}, ""}, {"decrease_axis", []int64{}, ""}}, stridedSlice},
		{"roll", x, out, []setting{{"shifts", []int64{}, "ShiftsTensor"}, {"axis", []int64{}, ""}}, roll},
		{"where_index", []string{"Condition"}, out, nil, nonzero},
		{"masked_select", []string{"X", "Mask"}, []string{"Y"}, nil, maskedSelect},
		{"scatter", []string{"X", "Ids", "Updates"}, out, []setting{{"overwrite", true, ""}}, scatter},
		{"scatter_nd_add", []string{"X", "Index", "Updates"}, out, nil, scatterAdd},
	}
}

// seriesPIR is how PIR calls them.
func seriesPIR() []pirOp {
	x, out := unary, []string{"Out"}
	return []pirOp{
		{"pd_op.arange", "arange", []string{"Start", "End", "Step"}, out, nil},
		{"pd_op.linspace", "linspace", []string{"Start", "Stop", "Num"}, out, nil},
		{"pd_op.eye", "eye", nil, out, nil},
		{"pd_op.unbind", "unbind", x, out, nil},
		{"pd_op.logsumexp", "logsumexp", x, out, nil},
		{"pd_op.strided_slice", "strided_slice", []string{"Input", "@starts", "@ends", "@strides"}, out, nil},
		{"pd_op.roll", "roll", []string{"X", "@shifts"}, out, nil},
		{"pd_op.nonzero", "where_index", []string{"Condition"}, out, nil},
		{"pd_op.masked_select", "masked_select", []string{"X", "Mask"}, []string{"Y"}, nil},
		{"pd_op.scatter", "scatter", []string{"X", "Ids", "Updates"}, out, nil},
		{"pd_op.scatter_", "scatter", []string{"X", "Ids", "Updates"}, out, nil},
		{"pd_op.scatter_nd_add", "scatter_nd_add", []string{"X", "Index", "Updates"}, out, nil},
	}
}

// renamed runs an operator that calls its settings otherwise.
func renamed(run func(c *call) error, names map[string]string) func(c *call) error {
	return func(c *call) error {
		s := *c.step
		s.set = maps.Clone(s.set)
		for from, to := range names {
			s.set[to] = s.set[from]
		}
		return run(&call{&s, c.running})
	}
}

// logSumExp is log of the sum of exp, from differences to the largest value.
func logSumExp(v []float32) float32 {
	top := float64(maxOf(v))
	if math.IsInf(top, 0) {
		return float32(top)
	}
	sum := 0.0
	for _, x := range v {
		sum += math.Exp(float64(x) - top)
	}
	return float32(top + math.Log(sum))
}

// linspace is Num numbers from Start to Stop. As in Paddle those of the second half are counted from Stop.
func linspace(c *call) error {
	start, stop, num := c.t("Start"), c.t("Stop"), c.t("Num")
	if start.Len() != 1 || stop.Len() != 1 || num.Len() != 1 || num.Type == matrix.F32 || start.Type != stop.Type {
		return fmt.Errorf("start %s, stop %s, num %s, want one number each, the first two of one type, the last whole: %w", start.text(),
			stop.text(), num.text(), ErrShape)
	}
	n := num.I[0]
	if n < 1 || n > maxElems {
		return fmt.Errorf("%d numbers: %w", n, ErrShape)
	}
	out, err := (&Tensor{Type: matrix.DType(c.set["dtype"].(elem))}).like([]int{int(n)})
	if err != nil {
		return err
	}
	lo, hi := start.number(0), stop.number(0)
	step := (hi - lo) / float64(max(1, n-1))
	for i := range int(n) {
		v := lo + step*float64(i)
		if i >= int(n)/2 && n > 1 {
			v = hi - step*float64(int(n)-i-1)
		}
		if err := out.set(i, v); err != nil {
			return err
		}
	}
	c.give(out)
	return nil
}

// number is an element as a float64.
func (t *Tensor) number(i int) float64 {
	if t.Type == matrix.F32 {
		return float64(t.F[i])
	}
	return float64(t.I[i])
}

// eye has ones on the diagonal.
func eye(c *call) error {
	rows, err := c.int("num_rows")
	if err != nil {
		return err
	}
	cols, err := c.int("num_columns")
	if err != nil {
		return err
	}
	if cols == -1 {
		cols = rows
	}
	if rows < 0 || cols < 0 || rows > maxElems || cols > maxElems {
		return fmt.Errorf("%d rows, %d columns: %w", rows, cols, ErrShape)
	}
	out, err := (&Tensor{Type: matrix.DType(c.set["dtype"].(elem))}).like([]int{int(rows), int(cols)})
	if err != nil {
		return err
	}
	for i := range int(min(rows, cols)) {
		if err := out.set(i*int(cols)+i, 1); err != nil {
			return err
		}
	}
	c.give(out)
	return nil
}

// stridedSlice takes every so manyth place of a range of each named dimension, backwards where the stride is below 0.
func stridedSlice(c *call) error {
	x := c.t("Input")
	var lists [4][]int64
	for i, name := range []string{"axes", "starts", "ends", "strides"} {
		list, err := c.ints(name)
		if err != nil {
			return err
		}
		if lists[i] = list; len(list) != len(lists[0]) {
			return fmt.Errorf("axes %v, %s %v, want as many of each: %w", lists[0], name, list, ErrShape)
		}
	}
	dims, step, base := slices.Clone(x.Dims), strides(x.Dims, x.Dims), 0
	named := make([]bool, len(x.Dims))
	for i, a := range lists[0] {
		at, err := axisOf(a, len(x.Dims))
		if err != nil {
			return err
		}
		if named[at] {
			return fmt.Errorf("axes %v, want each dimension once: %w", lists[0], ErrShape)
		}
		named[at] = true
		by, n := lists[3][i], int64(x.Dims[at])
		if by == 0 || by < -maxElems || by > maxElems {
			return fmt.Errorf("stride %d of dimension %d: %w", by, a, ErrShape)
		}
		lo, hi := lists[1][i], lists[2][i]
		if lo < 0 {
			lo += n
		}
		if hi < 0 {
			hi += n
		}
		if by > 0 {
			lo, hi = min(max(lo, 0), n), min(max(hi, 0), n)
		} else {
			lo, hi = min(max(lo, -1), n-1), min(max(hi, -1), n-1)
		}
		size := max(0, (hi-lo+by-direction(by))/by)
		dims[at] = int(size)
		base += int(lo) * step[at]
		step[at] *= int(by)
	}
	out, err := x.pick(dims, func(_ int, idx []int) int { return base + offset(idx, step) })
	if err != nil {
		return err
	}
	return dropped(c, out)
}

func direction(v int64) int64 {
	if v < 0 {
		return -1
	}
	return 1
}

// roll moves the places of dimensions on; those behind the end come to the begin. Without dimensions it is that of all values in order.
func roll(c *call) error {
	x := c.t("X")
	shifts, err := c.ints("shifts")
	if err != nil {
		return err
	}
	axes, err := c.ints("axis")
	if err != nil {
		return err
	}
	dims := x.Dims
	if len(axes) == 0 {
		dims, axes = []int{x.Len()}, []int64{0}
	}
	if len(axes) != len(shifts) {
		return fmt.Errorf("shifts %v of dimensions %v, want as many of each: %w", shifts, axes, ErrShape)
	}
	by := make([]int, len(dims))
	for i, a := range axes {
		at, err := axisOf(a, len(dims))
		if err != nil {
			return err
		}
		if n := int64(dims[at]); n > 0 {
			by[at] = int(((int64(by[at])+shifts[i]%n)%n + n) % n)
		}
	}
	place := make([]int, len(dims))
	flat := &Tensor{Type: x.Type, Dims: dims, F: x.F, I: x.I}
	step := strides(dims, dims)
	out, err := flat.pick(dims, func(_ int, idx []int) int {
		for i, k := range idx {
			place[i] = (k - by[i] + dims[i]) % dims[i]
		}
		return offset(place, step)
	})
	if err != nil {
		return err
	}
	out.Dims = slices.Clone(x.Dims)
	c.give(out)
	return nil
}

// nonzero is the places that are not 0, a row of indices for each.
func nonzero(c *call) error {
	x := c.t("Condition")
	truths, n := truthsOf(x), 0
	for _, is := range truths {
		if is {
			n++
		}
	}
	out, err := (&Tensor{Type: matrix.I64}).like([]int{n, len(x.Dims)})
	if err != nil {
		return err
	}
	to := out.I[:0]
	walk(x.Dims, func(at int, idx []int) {
		if !truths[at] {
			return
		}
		for _, k := range idx {
			to = append(to, int64(k))
		}
	})
	c.give(out)
	return nil
}

// maskedSelect is the values of X where Mask is true, in order.
func maskedSelect(c *call) error {
	x, mask := c.t("X"), c.t("Mask")
	if mask == nil || mask.Type != matrix.Bool {
		return fmt.Errorf("Mask is %s, want truth values: %w", mask.text(), ErrOp)
	}
	dims, err := broadcast(x.Dims, mask.Dims)
	if err != nil {
		return err
	}
	if x, err = spread(x, dims); err != nil {
		return err
	}
	if mask, err = spread(mask, dims); err != nil {
		return err
	}
	var from []int
	for i, v := range mask.I {
		if v != 0 {
			from = append(from, i)
		}
	}
	return c.result(x.pick([]int{len(from)}, func(at int, _ []int) int { return from[at] }))
}

// scatter puts rows of Updates to the rows of X that Ids name. The last one of a row counts; without overwrite the sum of all does.
func scatter(c *call) error {
	x, updates := c.t("X"), c.t("Updates")
	ids, err := c.integers("Ids")
	if err != nil {
		return err
	}
	if len(x.Dims) == 0 || updates.Type != x.Type || len(ids.Dims) > 2 || len(ids.Dims) == 2 && ids.Dims[1] != 1 ||
		!slices.Equal(updates.Dims, slices.Concat([]int{ids.Len()}, x.Dims[1:])) {
		return fmt.Errorf("X %s, Ids %s, Updates %s: %w", x.text(), ids.text(), updates.text(), ErrShape)
	}
	for _, k := range ids.I {
		if err := inRange(k, x.Dims[0]); err != nil {
			return err
		}
	}
	out, width := x.clone(), span(x.Dims[1:])
	if !c.bool("overwrite") {
		for _, k := range ids.I {
			out.zero(int(k)*width, width)
		}
	}
	for i, k := range ids.I {
		if c.bool("overwrite") {
			out.zero(int(k)*width, width)
		}
		out.add(int(k)*width, updates, i*width, width)
	}
	c.give(out)
	return nil
}

// scatterAdd adds parts of Updates to the parts of X at the places in the last dimension of Index.
func scatterAdd(c *call) error {
	x, updates := c.t("X"), c.t("Updates")
	index, err := c.integers("Index")
	if err != nil {
		return err
	}
	rank := len(index.Dims)
	deep := 0
	if rank > 0 {
		deep = index.Dims[rank-1]
	}
	if rank == 0 || deep > len(x.Dims) || updates.Type != x.Type ||
		!slices.Equal(updates.Dims, slices.Concat(index.Dims[:rank-1], x.Dims[deep:])) {
		return fmt.Errorf("X %s, Index %s, Updates %s: %w", x.text(), index.text(), updates.text(), ErrShape)
	}
	out, width := x.clone(), span(x.Dims[deep:])
	for i := range span(index.Dims[:rank-1]) {
		to := 0
		for d, k := range index.I[i*deep:][:deep] {
			if k < 0 {
				k += int64(x.Dims[d])
			}
			if err := inRange(k, x.Dims[d]); err != nil {
				return err
			}
			to = to*x.Dims[d] + int(k)
		}
		out.add(to*width, updates, i*width, width)
	}
	c.give(out)
	return nil
}

// clone is a tensor of the same values.
func (t *Tensor) clone() *Tensor {
	return &Tensor{Type: t.Type, Dims: slices.Clone(t.Dims), F: slices.Clone(t.F), I: slices.Clone(t.I)}
}

// zero makes some values 0.
func (t *Tensor) zero(at, n int) {
	if t.Type == matrix.F32 {
		clear(t.F[at:][:n])
		return
	}
	clear(t.I[at:][:n])
}

// add adds values of another tensor of the type.
func (t *Tensor) add(at int, from *Tensor, first, n int) {
	if t.Type == matrix.F32 {
		for i, v := range from.F[first:][:n] {
			t.F[at+i] += v
		}
		return
	}
	for i, v := range from.I[first:][:n] {
		t.I[at+i] += v
	}
}
