package format

import "thole.example/wire"

// Together is how many columns are turned into rows, or rows into columns, at a time.
const Together = 8

// ToRows puts columns of values of size bytes, at most Together, beside each other, into rows that are pitch bytes apart.
// Columns and rows begin where numbers of that size may.
func ToRows(dst []byte, pitch, size int, columns [][]byte) {
	switch size {
	case 8:
		rowsOf(views[uint64](columns), view[uint64](dst), pitch/8)
	case 4:
		rowsOf(views[uint32](columns), view[uint32](dst), pitch/4)
	case 2:
		rowsOf(views[uint16](columns), view[uint16](dst), pitch/2)
	default:
		rowsOf(views[uint8](columns), dst, pitch)
	}
}

// ToColumns takes columns of values of size bytes out of rows that are pitch bytes apart, and puts them to the rows of
// the columns from first on.
func ToColumns(columns [][]byte, first int, src []byte, pitch, size, rows int) {
	switch size {
	case 8:
		columnsOf(views[uint64](columns), first, view[uint64](src), pitch/8, rows)
	case 4:
		columnsOf(views[uint32](columns), first, view[uint32](src), pitch/4, rows)
	case 2:
		columnsOf(views[uint16](columns), first, view[uint16](src), pitch/2, rows)
	default:
		columnsOf(views[uint8](columns), first, src, pitch, rows)
	}
}

// view is the bytes as numbers. They begin where numbers may: blocks, bodies and new columns do.
func view[T wire.Number](b []byte) []T {
	v, _ := wire.Numbers[T](b)
	return v
}

func views[T wire.Number](columns [][]byte) (all [Together][]T) {
	for k, c := range columns {
		all[k] = view[T](c)
	}
	return all
}

// rowsOf puts the columns, as many as there are, into rows of pitch numbers.
func rowsOf[T wire.Number](c [Together][]T, dst []T, pitch int) {
	n := len(c[0])
	if c[Together-1] != nil { // most often
		c0, c1, c2, c3 := c[0][:n], c[1][:n], c[2][:n], c[3][:n]
		c4, c5, c6, c7 := c[4][:n], c[5][:n], c[6][:n], c[7][:n]
		for r := range c0 {
			row := dst[r*pitch:][:8]
			row[0], row[1], row[2], row[3] = c0[r], c1[r], c2[r], c3[r]
			row[4], row[5], row[6], row[7] = c4[r], c5[r], c6[r], c7[r]
		}
		return
	}
	for k := 0; k < Together && c[k] != nil; k++ {
		for r, v := range c[k] {
			dst[r*pitch+k] = v
		}
	}
}

// columnsOf takes n rows of pitch numbers apart into the columns, as many as there are, from their row first on.
func columnsOf[T wire.Number](c [Together][]T, first int, src []T, pitch, n int) {
	if c[Together-1] != nil {
		c0, c1, c2, c3 := c[0][first:][:n], c[1][first:][:n], c[2][first:][:n], c[3][first:][:n]
		c4, c5, c6, c7 := c[4][first:][:n], c[5][first:][:n], c[6][first:][:n], c[7][first:][:n]
		for r := range c0 {
			row := src[r*pitch:][:8]
			c0[r], c1[r], c2[r], c3[r] = row[0], row[1], row[2], row[3]
			c4[r], c5[r], c6[r], c7[r] = row[4], row[5], row[6], row[7]
		}
		return
	}
	for k := 0; k < Together && c[k] != nil; k++ {
		col := c[k][first:][:n]
		for r := range col {
			col[r] = src[r*pitch+k]
		}
	}
}
