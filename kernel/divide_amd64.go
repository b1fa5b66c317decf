package kernel

// divideRowsOn reports whether it has divided the rows.
func divideRowsOn(on level, rows, rest []uint32, c *Codes, at int, wide bool, left []uint8) (l int, is bool) {
	switch {
	case len(rows) == 0:
		return 0, true
	case on == plain:
		return 0, false
	case wide:
		return divideWide(&rows[0], &rest[0], len(rows), &c.Bytes[at], c.Stride, &left[0]), true
	}
	return divideNarrow(&rows[0], &rest[0], len(rows), &c.Bytes[at], c.Stride, &left[0]), true
}

// divideNarrow is DivideRows of a group of one byte, which begins at bytes in row 0; n is at least 1.
//
//go:noescape
func divideNarrow(rows, rest *uint32, n int, bytes *byte, stride int, left *uint8) int

//go:noescape
func divideWide(rows, rest *uint32, n int, bytes *byte, stride int, left *uint8) int
