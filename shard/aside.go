package shard

import "thole.example/kernel"

// asideRows is copies of rows that a mark keeps, by whoever has the turn of the mark.
type asideRows struct {
	stride int           // bytes from copy to copy
	val    kernel.Memory // of the copies, in the order in which they were made
	used   uint32        // how many copies there are
	places [][]uint32    // by row, as far as there are copies of some: the number of the copy
	placed int           // how many of those there are
}

const (
	placeRows  = 1 << 9 // how many rows have their places together
	stampBytes = 2      // of a step that a copy is as of
)

// newAside is for copies of some of the rows, each of a size and with some bytes more.
func newAside(rows, size, more int) asideRows {
	return asideRows{stride: (size + more + 7) &^ 7, places: make([][]uint32, rows/placeRows+1)}
}

// reserve has room for so many copies more.
func (a *asideRows) reserve(n int) error {
	to := (int(a.used) + n) * a.stride
	if to <= len(a.val.Data()) {
		return nil
	}
	if a.used == 0 {
		a.val.Plain() // a huge page takes the system milliseconds, and all partitions need theirs at once
	}
	return a.val.Grow(to)
}

// next is the memory of the next copy, which there is room for.
func (a *asideRows) next() []byte {
	a.used++
	return a.bytes(a.used - 1)
}

// bytes is the memory of a copy.
func (a *asideRows) bytes(at uint32) []byte { return a.val.Data()[int(at)*a.stride:][:a.stride] }

// point says where the copy of a row is.
func (a *asideRows) point(row, at uint32) {
	some := &a.places[row/placeRows]
	if *some == nil {
		*some = make([]uint32, placeRows)
		a.placed++
	}
	(*some)[row%placeRows] = at
}

// of is where the copy of a row is.
func (a *asideRows) of(row uint32) uint32 { return a.places[row/placeRows][row%placeRows] }

// size is about how many bytes the copies take.
func (a *asideRows) size() int64 {
	return int64(a.val.Resident(int(a.used)*a.stride) + 4*placeRows*a.placed + 24*len(a.places))
}

func (a *asideRows) free() { a.val.Free() }
