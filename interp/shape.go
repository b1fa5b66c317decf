package interp

import (
	"fmt"
	"slices"

	"thole.example/matrix"
)

func identity(c *call) error {
	c.give(c.t("X"))
	return nil
}

// reshape takes 0 as the size of the input's dimension of that number, and -1, once, as what remains.
func reshape(c *call) error {
	x := c.t("X")
	want, err := c.ints("shape")
	if err != nil {
		return err
	}
	dims, rest, known := make([]int, len(want)), -1, 1
	for i, d := range want {
		switch {
		case d == -1 && rest < 0:
			rest = i
			continue
		case d == 0 && i < len(x.Dims):
			dims[i] = x.Dims[i]
		case d >= 0 && d <= maxElems:
			dims[i] = int(d)
		default:
			return fmt.Errorf("shape %v of %v: %w", want, x.Dims, ErrShape)
		}
		if known *= dims[i]; known > maxElems {
			return fmt.Errorf("shape %v of %v: %w", want, x.Dims, ErrShape)
		}
	}
	if rest >= 0 {
		if known == 0 || x.Len()%known != 0 {
			return fmt.Errorf("shape %v of %v: %w", want, x.Dims, ErrShape)
		}
		dims[rest] = x.Len() / known
	}
	return giveShaped(c, x, dims)
}

func giveShaped(c *call, x *Tensor, dims []int) error {
	return c.result(x.reshaped(dims))
}

// flattenAt makes a matrix: the dimensions before axis are its rows.
func flattenAt(c *call) error {
	x := c.t("X")
	axis, err := c.int("axis")
	if err != nil {
		return err
	}
	if axis < 0 || axis > int64(len(x.Dims)) {
		return fmt.Errorf("axis %d of %v: %w", axis, x.Dims, ErrShape)
	}
	return giveShaped(c, x, []int{span(x.Dims[:axis]), span(x.Dims[axis:])})
}

// flattenRange makes one dimension of those from start_axis to stop_axis.
func flattenRange(c *call) error {
	x := c.t("X")
	start, err := c.int("start_axis")
	if err != nil {
		return err
	}
	stop, err := c.int("stop_axis")
	if err != nil {
		return err
	}
	if len(x.Dims) == 0 {
		return giveShaped(c, x, []int{1})
	}
	from, err := axisOf(start, len(x.Dims))
	if err != nil {
		return err
	}
	to, err := axisOf(stop, len(x.Dims))
	if err != nil || to < from {
		return fmt.Errorf("dimensions %d to %d of %v: %w", start, stop, x.Dims, ErrShape)
	}
	return giveShaped(c, x, slices.Concat(x.Dims[:from], []int{span(x.Dims[from : to+1])}, x.Dims[to+1:]))
}

// squeeze removes the named dimensions that are 1, all such if none is named.
func squeeze(c *call) error {
	x := c.t("X")
	axes, err := c.ints("axes")
	if err != nil {
		return err
	}
	named := make([]bool, len(x.Dims))
	for _, a := range axes {
		at, err := axisOf(a, len(x.Dims))
		if err != nil {
			return err
		}
		named[at] = true
	}
	var dims []int
	for i, d := range x.Dims {
		if d != 1 || len(axes) > 0 && !named[i] {
			dims = append(dims, d)
		}
	}
	return giveShaped(c, x, dims)
}

// unsqueeze puts dimensions of 1 at the named places, one after the other.
func unsqueeze(c *call) error {
	x := c.t("X")
	axes, err := c.ints("axes")
	if err != nil {
		return err
	}
	if len(axes) > maxRank {
		return fmt.Errorf("%d new dimensions, want at most %d: %w", len(axes), maxRank, ErrShape)
	}
	dims := slices.Clone(x.Dims)
	for _, a := range axes {
		at, err := axisOf(a, len(dims)+1)
		if err != nil {
			return err
		}
		dims = slices.Insert(dims, at, 1)
	}
	return giveShaped(c, x, dims)
}

// maxRank is Paddle's largest number of dimensions.
const maxRank = 9

func transpose(c *call) error {
	x := c.t("X")
	perm, err := c.ints("axis")
	if err != nil {
		return err
	}
	seen := make([]bool, len(x.Dims))
	dims, from := make([]int, len(x.Dims)), make([]int, len(x.Dims))
	whole := make([]int, len(x.Dims))
	for i, step := len(x.Dims)-1, 1; i >= 0; i-- {
		whole[i] = step
		step *= x.Dims[i]
	}
	if len(perm) != len(x.Dims) {
		return fmt.Errorf("order %v of %v: %w", perm, x.Dims, ErrShape)
	}
	for i, p := range perm {
		at, err := axisOf(p, len(x.Dims))
		if err != nil || seen[at] {
			return fmt.Errorf("order %v of %v: %w", perm, x.Dims, ErrShape)
		}
		seen[at], dims[i], from[i] = true, x.Dims[at], whole[at]
	}
	out, err := x.like(dims)
	if err != nil {
		return err
	}
	walk(dims, func(at int, idx []int) {
		if x.Type == matrix.F32 {
			out.F[at] = x.F[offset(idx, from)]
		} else {
			out.I[at] = x.I[offset(idx, from)]
		}
	})
	c.give(out)
	return nil
}

func concat(c *call) error {
	list := c.all("X")
	axis, err := c.int("axis")
	if err != nil {
		return err
	}
	first := list[0]
	at, err := axisOf(axis, len(first.Dims))
	if err != nil {
		return err
	}
	dims := slices.Clone(first.Dims)
	dims[at] = 0
	for _, t := range list {
		same := t.Type == first.Type && len(t.Dims) == len(dims)
		for i := 0; same && i < len(dims); i++ {
			same = i == at || t.Dims[i] == dims[i]
		}
		if !same || dims[at] > maxElems {
			return fmt.Errorf("%s and %s: %w", first.text(), t.text(), ErrShape)
		}
		dims[at] += t.Dims[at]
	}
	out, err := first.like(dims)
	if err != nil {
		return err
	}
	outer, _, inner := around(dims, at)
	to := 0
	for o := range outer {
		for _, t := range list {
			n := t.Dims[at] * inner
			if t.Type == matrix.F32 {
				copy(out.F[to:to+n], t.F[o*n:])
			} else {
				copy(out.I[to:to+n], t.I[o*n:])
			}
			to += n
		}
	}
	c.give(out)
	return nil
}

// cast changes floats to integers towards zero, and anything to a truth value by comparing it with 0.
func cast(c *call) error {
	x, to := c.t("X"), matrix.DType(c.set["out_dtype"].(elem))
	out := x.zeros(to)
	for i := range x.Len() {
		switch {
		case to == matrix.F32 && x.Type == matrix.F32:
			out.F[i] = x.F[i]
		case to == matrix.F32:
			out.F[i] = float32(x.I[i])
		case to == matrix.Bool:
			if x.Type == matrix.F32 && x.F[i] != 0 || x.Type != matrix.F32 && x.I[i] != 0 {
				out.I[i] = 1
			}
		case x.Type == matrix.F32:
			v, err := integer(float64(x.F[i]))
			if err != nil {
				return err
			}
			out.I[i] = v
		default:
			out.I[i] = x.I[i]
		}
	}
	c.give(out)
	return nil
}
