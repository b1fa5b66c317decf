package kernel

// sumGradientsOn does all rows, or none, and returns the others.
func sumGradientsOn(on level, sums []GradientSum, c *Codes, rows []uint32, grads []Gradient) (rest []uint32) {
	if on == plain || len(rows) == 0 || len(grads) == 0 || len(c.Bytes) == 0 {
		return rows
	}
	if n := len(c.Narrow); n > 0 {
		gradientsNarrow(&sums[0], &c.Bytes[0], c.Stride, &rows[0], len(rows), &grads[0], &c.Narrow[0], n)
	}
	if n := len(c.Wide); n > 0 {
		gradientsWide(&sums[0], &c.Bytes[c.WideAt()], c.Stride, &rows[0], len(rows), &grads[0], &c.Wide[0], n)
	}
	return nil
}

// gradientsNarrow adds to the cells of so many groups, at least one, whose codes begin at bytes in row 0; n is at least 1.
//
//go:noescape
func gradientsNarrow(sums *GradientSum, bytes *byte, stride int, rows *uint32, n int, grads *Gradient, cells *uint32, groups int)

//go:noescape
func gradientsWide(sums *GradientSum, bytes *byte, stride int, rows *uint32, n int, grads *Gradient, cells *uint32, groups int)
