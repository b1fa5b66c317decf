package interp

import (
	"fmt"
	"math"
	"slices"
)

// norm is the p-norm along a dimension, or of all values.
func norm(c *call) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	p, err := c.float("porder")
	if err != nil {
		return err
	}
	axis, err := c.int("axis")
	if err != nil {
		return err
	}
	dims := x.Dims
	if c.bool("asvector") {
		dims, axis = []int{len(x.F)}, 0
	}
	at, err := axisOf(axis, len(dims))
	if err != nil {
		return err
	}
	outer, n, inner := around(dims, at)
	out, err := newFloats(slices.Concat(dims[:at], []int{1}, dims[at+1:]))
	if err != nil {
		return err
	}
	line := make([]float32, n)
	for o := range outer {
		for i := range inner {
			for k := range line {
				line[k] = x.F[(o*n+k)*inner+i]
			}
			out.F[o*inner+i] = normOf(line, float64(p))
		}
	}
	switch keep := c.bool("keepdim"); {
	case keep && c.bool("asvector"):
		out.Dims = slices.Repeat([]int{1}, len(x.Dims))
	case !keep:
		out.Dims = slices.Delete(out.Dims, at, at+1)
		if len(out.Dims) == 0 {
			out.Dims = c.single(false)
		}
	}
	c.give(out)
	return nil
}

// normOf is the norm of order p: how many are not 0 for 0, the largest or smallest for infinities.
func normOf(v []float32, p float64) float32 {
	sum, top, low := 0.0, 0.0, math.Inf(1)
	for _, x := range v {
		a := math.Abs(float64(x))
		top, low = max(top, a), min(low, a)
		if p != 0 {
			sum += math.Pow(a, p)
		} else if a != 0 {
			sum++
		}
	}
	switch {
	case math.IsInf(p, 1):
		return float32(top)
	case math.IsInf(p, -1):
		return float32(low)
	case p == 0:
		return float32(sum)
	}
	return float32(math.Pow(sum, 1/p))
}

// dot is the sum of products along the last dimension.
func dot(c *call) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	y, err := c.floats("Y")
	if err != nil {
		return err
	}
	last := len(x.Dims) - 1
	if last < 0 || last > 1 || !slices.Equal(x.Dims, y.Dims) {
		return fmt.Errorf("X of shape %v, Y of shape %v, want one shape of one or two dimensions: %w", x.Dims, y.Dims, ErrShape)
	}
	dims := slices.Clone(x.Dims[:last])
	if len(dims) < c.rank { // releases before 2.5 keep the dimension
		dims = append(dims, 1)
	}
	out, err := newFloats(dims)
	if err != nil {
		return err
	}
	n := x.Dims[last]
	for i := range out.F {
		out.F[i] = inner(x.F[i*n:][:n], y.F[i*n:][:n])
	}
	c.give(out)
	return nil
}

// timesVector is a matrix times a vector.
func timesVector(c *call) error {
	m, err := c.floats("X")
	if err != nil {
		return err
	}
	v, err := c.floats("Vec")
	if err != nil {
		return err
	}
	if len(m.Dims) != 2 || len(v.Dims) != 1 || m.Dims[1] != v.Dims[0] {
		return fmt.Errorf("shapes %v and %v, want a matrix and a vector: %w", m.Dims, v.Dims, ErrShape)
	}
	out, err := newFloats(m.Dims[:1])
	if err != nil {
		return err
	}
	n := m.Dims[1]
	for i := range out.F {
		out.F[i] = inner(m.F[i*n:][:n], v.F)
	}
	c.give(out)
	return nil
}

// inner is the sum of products, in float64.
func inner(a, b []float32) float32 {
	sum := 0.0
	for i, v := range a {
		sum += float64(v) * float64(b[i])
	}
	return float32(sum)
}
