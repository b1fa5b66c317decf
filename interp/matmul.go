package interp

import (
	"fmt"

	"thole.example/kernel"
)

// product is a x b: both flat, of m x k and k x n.
func product(m, k, n int, a, b []float32, dims []int) (*Tensor, error) {
	out, err := newFloats(dims)
	if err != nil {
		return nil, err
	}
	gemm(m, n, k, a, b, out.F)
	return out, nil
}

// gemm sets c (m x n) to the product of a (m x k) and b (k x n). The sums are float64.
func gemm(m, n, k int, a, b, c []float32) {
	sum := make([]float64, n)
	for i := range m {
		clear(sum)
		for p, v := range a[i*k:][:k] {
			row := b[p*n:][:n]
			for j, w := range row {
				sum[j] += float64(v) * float64(w)
			}
		}
		for j, s := range sum {
			c[i*n+j] = float32(s)
		}
	}
}

// span is the product of dimensions; elems has checked them before.
func span(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// mul flattens X and Y to matrices at the dimensions that the settings name.
func mul(c *call) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	y, err := c.floats("Y")
	if err != nil {
		return err
	}
	xn, _ := c.int("x_num_col_dims")
	yn, _ := c.int("y_num_col_dims")
	if xn < 1 || yn < 1 || xn >= int64(len(x.Dims)) || yn >= int64(len(y.Dims)) {
		return fmt.Errorf("x_num_col_dims %d of %v and y_num_col_dims %d of %v: %w", xn, x.Dims, yn, y.Dims, ErrShape)
	}
	m, k, k2, n := span(x.Dims[:xn]), span(x.Dims[xn:]), span(y.Dims[:yn]), span(y.Dims[yn:])
	if k != k2 {
		return fmt.Errorf("X %v and Y %v: rows of %d and columns of %d: %w", x.Dims, y.Dims, k, k2, ErrShape)
	}
	return c.result(product(m, k, n, x.F, y.F, join(x.Dims[:xn], y.Dims[yn:])))
}

// join is a new slice of both.
func join(a, b []int) []int { return append(append(make([]int, 0, len(a)+len(b)), a...), b...) }

func matmulNew(c *call) error { return matmul(c, c.bool("trans_x"), c.bool("trans_y"), 1) }

func matmulOld(c *call) error {
	alpha, err := c.float("alpha")
	if err != nil {
		return err
	}
	return matmul(c, c.bool("transpose_X"), c.bool("transpose_Y"), alpha)
}

// matmul multiplies the matrices in the last two dimensions; those before are batches, and broadcast. A vector is a row
// on the left and a column on the right, and leaves no dimension.
func matmul(c *call, transX, transY bool, alpha float32) error {
	x, err := c.floats("X")
	if err != nil {
		return err
	}
	y, err := c.floats("Y")
	if err != nil {
		return err
	}
	if len(x.Dims) == 0 || len(y.Dims) == 0 {
		return fmt.Errorf("X %v and Y %v, want at least one dimension: %w", x.Dims, y.Dims, ErrShape)
	}
	xd, yd := x.Dims, y.Dims
	if len(xd) == 1 {
		xd, transX = []int{1, xd[0]}, false
	}
	if len(yd) == 1 {
		yd, transY = []int{yd[0], 1}, false
	}
	m, k := ends(xd, transX)
	k2, n := ends(yd, transY)
	batch, err := broadcast(xd[:len(xd)-2], yd[:len(yd)-2])
	if err != nil || k != k2 {
		return fmt.Errorf("X %v and Y %v: rows of %d and columns of %d: %w", x.Dims, y.Dims, k, k2, ErrShape)
	}
	dims := batch
	if len(x.Dims) > 1 {
		dims = join(dims, []int{m})
	}
	if len(y.Dims) > 1 {
		dims = join(dims, []int{n})
	}
	out, err := newFloats(dims)
	if err != nil {
		return err
	}
	xs, ys := strides(xd[:len(xd)-2], batch), strides(yd[:len(yd)-2], batch)
	xBuf, yBuf := flipped(transX, m*k), flipped(transY, k*n)
	walk(batch, func(at int, idx []int) {
		a := x.F[offset(idx, xs)*m*k:][:m*k]
		b := y.F[offset(idx, ys)*k*n:][:k*n]
		gemm(m, n, k, flip(a, xBuf, k, m), flip(b, yBuf, n, k), out.F[at*m*n:][:m*n])
	})
	if alpha != 1 {
		kernel.Scale(alpha, out.F)
	}
	c.give(out)
	return nil
}

// ends are the last two dimensions, turned if trans.
func ends(dims []int, trans bool) (rows, cols int) {
	rows, cols = dims[len(dims)-2], dims[len(dims)-1]
	if trans {
		return cols, rows
	}
	return rows, cols
}

// flipped is room for a transposed matrix, nil if there is none.
func flipped(trans bool, n int) []float32 {
	if !trans {
		return nil
	}
	return make([]float32, n)
}

// flip is the matrix of rows x cols turned into buf, or as it is if there is no buf.
func flip(a, buf []float32, rows, cols int) []float32 {
	if buf == nil {
		return a
	}
	for r := range rows {
		for c := range cols {
			buf[c*rows+r] = a[r*cols+c]
		}
	}
	return buf
}
