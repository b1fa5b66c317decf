package data

import "math/bits"

// columnIndex finds the numbers of columns, by open addressing: at most three quarters of its places are taken.
type columnIndex struct {
	shift uint
	taken int
	slots []columnSlot
}

type columnSlot struct {
	column int64 // below 0: the slot is free
	number int
}

// newColumnIndex makes an index that n columns fill to a quarter.
func newColumnIndex(n int) *columnIndex {
	size := uint(bits.Len(uint(4 * max(1, n))))
	x := &columnIndex{shift: 64 - size, slots: make([]columnSlot, 1<<size)}
	for i := range x.slots {
		x.slots[i].column = -1
	}
	return x
}

// slot is that of the column, or the free one where it belongs.
func (x *columnIndex) slot(col int64) *columnSlot {
	for at := uint64(col) * 0x9e3779b97f4a7c15 >> x.shift; ; at = (at + 1) & uint64(len(x.slots)-1) {
		if s := &x.slots[at]; s.column == col || s.column < 0 {
			return s
		}
	}
}

// add gives a column that has no number this one.
func (x *columnIndex) add(col int64, number int) {
	if 4*x.taken >= 3*len(x.slots) {
		old := x.slots
		*x = *newColumnIndex(len(old) / 4) // twice as many
		for _, s := range old {
			if s.column >= 0 {
				x.add(s.column, s.number)
			}
		}
	}
	*x.slot(col) = columnSlot{col, number}
	x.taken++
}

// find is the number of the column; -1: it has none.
func (x *columnIndex) find(col int64) int {
	if s := x.slot(col); s.column == col {
		return s.number
	}
	return -1
}
