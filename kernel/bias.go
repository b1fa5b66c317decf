package kernel

// AddRow adds a row to every row of dst, [rows x len(row)], row-major.
func AddRow(dst, row []float32) { addRow(machine, dst, row) }

// ColumnSums adds to each sum[j] column j of a, [rows x len(sum)], row-major: one row after the other.
func ColumnSums(sum, a []float32) { columnSums(machine, sum, a) }

func addRow(on level, dst, row []float32) {
	n := len(row)
	rows := rowsOf(len(dst), n)
	done := addRowOn(on, dst, row, rows)
	if done == n {
		return
	}
	for ; len(dst) > 0; dst = dst[n:] {
		to := dst[done:n]
		for j, v := range row[done:] {
			to[j] += v
		}
	}
}

func columnSums(on level, sum, a []float32) {
	n := len(sum)
	rows := rowsOf(len(a), n)
	done := columnSumsOn(on, sum, a, rows)
	if done == n {
		return
	}
	for ; len(a) > 0; a = a[n:] {
		to := sum[done:]
		for j, v := range a[done:n] {
			to[j] += v
		}
	}
}

// rowsOf is how many rows of n numbers there are in size numbers.
func rowsOf(size, n int) int {
	if n == 0 {
		checkLen(size, 0, "a matrix without columns")
		return 0
	}
	checkLen(size%n, 0, "a matrix, beyond its last whole row,")
	return size / n
}
