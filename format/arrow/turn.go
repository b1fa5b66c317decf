package arrow

import (
	"context"

	"thole.example/matrix"
	"thole.example/wire"
)

// together is how many columns are turned into rows, or rows into columns, at a time.
const together = 8

// piece is a part of a column that is a part of a block.
type piece struct {
	at   matrix.Rect
	from *loaded
}

// fill reads the pieces, which lie side by side, into the block.
func fill(ctx context.Context, b matrix.Block, pieces []piece) error {
	dst, size := wire.ViewAny(b.Data.Values())
	if len(pieces) == 1 && pieces[0].at == b.At {
		return pieces[0].from.into(ctx, dst, b.At)
	}
	rows, pitch := int(b.At.Rows.Len()), int(b.At.Cols.Len())*size
	var columns [together][]byte
	for len(pieces) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := 0
		for n < min(together, len(pieces)) && pieces[n].at.Cols.Len() == 1 {
			n++
		}
		wide := max(1, n) // a piece of several columns goes by itself
		start := int(pieces[0].at.Cols.Lo-b.At.Cols.Lo) * size
		for k := range wide {
			width := int(pieces[k].at.Cols.Len()) * size
			if cap(columns[k]) < rows*width {
				columns[k] = make([]byte, rows*width)
			}
			columns[k] = columns[k][:rows*width]
			if err := pieces[k].from.into(ctx, columns[k], pieces[k].at); err != nil {
				return err
			}
		}
		if n == 0 {
			width := len(columns[0]) / max(1, rows)
			for r := range rows {
				copy(dst[r*pitch+start:], columns[0][r*width:(r+1)*width])
			}
		} else {
			toRows(dst[start:], pitch, size, columns[:n])
		}
		pieces = pieces[wide:]
	}
	return nil
}

// toRows puts columns of values of size bytes beside each other, into rows that are pitch bytes apart.
func toRows(dst []byte, pitch, size int, columns [][]byte) {
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

// toColumns takes columns of values of size bytes out of rows that are pitch bytes apart, and puts them to the rows of
// the columns from first on.
func toColumns(columns [][]byte, first int, src []byte, pitch, size, rows int) {
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

func views[T wire.Number](columns [][]byte) (all [together][]T) {
	for k, c := range columns {
		all[k] = view[T](c)
	}
	return all
}

// rowsOf puts the columns, as many as there are, into rows of pitch numbers.
func rowsOf[T wire.Number](c [together][]T, dst []T, pitch int) {
	n := len(c[0])
	if c[together-1] != nil { // most often
		c0, c1, c2, c3 := c[0][:n], c[1][:n], c[2][:n], c[3][:n]
		c4, c5, c6, c7 := c[4][:n], c[5][:n], c[6][:n], c[7][:n]
		for r := range c0 {
			row := dst[r*pitch:][:8]
			row[0], row[1], row[2], row[3] = c0[r], c1[r], c2[r], c3[r]
			row[4], row[5], row[6], row[7] = c4[r], c5[r], c6[r], c7[r]
		}
		return
	}
	for k := 0; k < together && c[k] != nil; k++ {
		for r, v := range c[k] {
			dst[r*pitch+k] = v
		}
	}
}

// columnsOf takes n rows of pitch numbers apart into the columns, as many as there are, from their row first on.
func columnsOf[T wire.Number](c [together][]T, first int, src []T, pitch, n int) {
	if c[together-1] != nil {
		c0, c1, c2, c3 := c[0][first:][:n], c[1][first:][:n], c[2][first:][:n], c[3][first:][:n]
		c4, c5, c6, c7 := c[4][first:][:n], c[5][first:][:n], c[6][first:][:n], c[7][first:][:n]
		for r := range c0 {
			row := src[r*pitch:][:8]
			c0[r], c1[r], c2[r], c3[r] = row[0], row[1], row[2], row[3]
			c4[r], c5[r], c6[r], c7[r] = row[4], row[5], row[6], row[7]
		}
		return
	}
	for k := 0; k < together && c[k] != nil; k++ {
		col := c[k][first:][:n]
		for r := range col {
			col[r] = src[r*pitch+k]
		}
	}
}
