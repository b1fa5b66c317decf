package kernel

// addRowOn does the first columns and tells how many.
func addRowOn(on level, dst, row []float32, rows int) int {
	n := len(row) &^ 7
	if on == plain || n == 0 || rows == 0 {
		return 0
	}
	addRowAVX2(&dst[0], &row[0], 4*n, 4*len(row), rows)
	return n
}

// columnSumsOn does the first columns and tells how many.
func columnSumsOn(on level, sum, a []float32, rows int) int {
	n := len(sum) &^ 7
	if on == plain || n == 0 || rows == 0 {
		return 0
	}
	columnSumsAVX2(&sum[0], &a[0], 4*n, 4*len(sum), rows)
	return n
}

// The functions in assembly take n bytes of each of the rows, at least one, which are stride bytes apart: a multiple of 32.

//go:noescape
func addRowAVX2(dst, row *float32, n, stride, rows int)

//go:noescape
func columnSumsAVX2(sum, a *float32, n, stride, rows int)
