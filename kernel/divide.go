package kernel

import "encoding/binary"

// DivideRows puts the rows that go left before the others, each in their order, and returns how many those are; the others are the first
// of rest, which has room for all rows and no cell in common with them. A row goes left if left is 1 at its code of one group, which is
// one byte at the place at of the row or, of a wide group, two; else it is 0 there. There is no branch in it, as which way a row goes
// cannot be foreseen. That rows are no larger than there is room for is up to the caller: the assembly does not look.
func DivideRows(rows, rest []uint32, c *Codes, at int, wide bool, left []uint8) int {
	rest = rest[:len(rows)]
	end, codes := at+1, 1<<8
	if wide {
		end, codes = at+2, 1<<16
	}
	checkLen(min(c.Stride, end), end, "rows of codes")
	checkLen(min(len(left), codes), codes, "sides of codes")
	if l, is := divideRowsOn(machine, rows, rest, c, at, wide, left); is {
		return l
	}
	return divideRows(rows, rest, c, at, wide, left)
}

func divideRows(rows, rest []uint32, c *Codes, at int, wide bool, left []uint8) (l int) {
	codes, stride := c.Bytes[at:], c.Stride
	if wide {
		for i, row := range rows {
			code := binary.LittleEndian.Uint16(codes[int(row)*stride:])
			rows[l], rest[i-l] = row, row
			l += int(left[code])
		}
		return l
	}
	for i, row := range rows {
		rows[l], rest[i-l] = row, row
		l += int(left[codes[int(row)*stride]])
	}
	return l
}
