package shard

// asideRows is copies of rows that a mark keeps. A copy never moves, so that it can be read while others are made.
type asideRows struct {
	stride int        // bytes from copy to copy
	shift  int        // so many bits of its number say where it is among those that lie together
	val    [][]byte   // that many copies each
	places [][]uint32 // by row, as far as there are copies of some: the number of the copy
	used   uint32     // how many copies there are
	held   int        // bytes of all
}

const (
	copyBytes  = 64 << 10 // about how much memory is taken at once for copies
	placeRows  = 1 << 9   // how many rows have their places together
	stampBytes = 2        // of a step that a copy is as of
)

// newAside is for copies of so many of the rows, each of a size and with some bytes more.
func newAside(many, rows, size, more int) asideRows {
	a := asideRows{stride: (size + more + 7) &^ 7}
	for a.stride<<(a.shift+1) <= copyBytes && 32<<a.shift < many {
		a.shift++
	}
	a.val = make([][]byte, rows>>a.shift+1)
	a.places = make([][]uint32, rows/placeRows+1)
	return a
}

// next is the memory of the next copy.
func (a *asideRows) next() []byte {
	if some := &a.val[a.used>>a.shift]; *some == nil {
		*some = make([]byte, a.stride<<a.shift)
		a.held += len(*some)
	}
	a.used++
	return a.bytes(a.used - 1)
}

// bytes is the memory of a copy.
func (a *asideRows) bytes(at uint32) []byte {
	return a.val[at>>a.shift][int(at&(1<<a.shift-1))*a.stride:][:a.stride]
}

// point says where the copy of a row is.
func (a *asideRows) point(row, at uint32) {
	some := &a.places[row/placeRows]
	if *some == nil {
		*some = make([]uint32, placeRows)
		a.held += 4 * placeRows
	}
	(*some)[row%placeRows] = at
}

// of is where the copy of a row is.
func (a *asideRows) of(row uint32) uint32 { return a.places[row/placeRows][row%placeRows] }

func (a *asideRows) size() int64 {
	return int64(a.held + 24*(len(a.val)+len(a.places)))
}
