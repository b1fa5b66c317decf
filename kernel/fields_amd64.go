package kernel

import "unsafe"

// begin finds the vectors of a row's values for the assembly, and has what the next row needs fetched. It reports false where the
// assembly does not take the row.
func (c *fieldCall) begin(on level, r int) (x *float32, n int, ok bool) {
	lo, hi := c.span(r)
	n = hi - lo
	if on == plain || c.X == nil || c.At == nil || n > fieldRowValues || n < 2 || c.k != 4 && c.k != 8 {
		return nil, 0, false
	}
	for i := range n {
		at, field, _ := c.value(r, lo+i)
		c.row.at[i], c.row.field[i] = uint64(at)*4, uint64(field*c.k)*4
	}
	if r+1 < c.rows() {
		from, to := c.span(r + 1)
		for _, a := range [][]float32{c.src, c.dst} {
			if to > from && len(a) == len(c.src) {
				fetchRows((*byte)(unsafe.Pointer(unsafe.SliceData(a))), 4*c.n, (4*c.n+cacheLine-1)/cacheLine, &c.At[from], to-from)
			}
		}
	}
	return &c.X[lo], n, true
}

// fieldPairsOn answers with the eight sums of a row, or false.
func fieldPairsOn(on level, c *fieldCall, r int) (sums [8]float32, ok bool) {
	x, n, ok := c.begin(on, r)
	switch {
	case !ok:
	case c.k == 4:
		fieldPairs4(&sums, &c.src[0], &c.row, x, n)
	default:
		fieldPairs8(&sums, &c.src[0], &c.row, x, n)
	}
	return sums, ok
}

// fieldPairsGradOn does a row, or answers false.
func fieldPairsGradOn(on level, c *fieldCall, r int) bool {
	x, n, ok := c.begin(on, r)
	switch {
	case !ok:
	case c.k == 4:
		fieldPairsGrad4(&c.dst[0], &c.src[0], &c.row, x, n, c.grad[r])
	default:
		fieldPairsGrad8(&c.dst[0], &c.src[0], &c.row, x, n, c.grad[r])
	}
	return ok
}

// The functions in assembly take a row of n values, at least two, with vectors of 4 or 8 numbers.

//go:noescape
func fieldPairs4(sums *[8]float32, src *float32, row *fieldRow, x *float32, n int)

//go:noescape
func fieldPairs8(sums *[8]float32, src *float32, row *fieldRow, x *float32, n int)

//go:noescape
func fieldPairsGrad4(dst, src *float32, row *fieldRow, x *float32, n int, d float32)

//go:noescape
func fieldPairsGrad8(dst, src *float32, row *fieldRow, x *float32, n int, d float32)
