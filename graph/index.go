package graph

import "slices"

// Index is a plan of columns without anybody who keeps them: the different columns of a batch, ascending. It is a hash table
// that is emptied by a new generation number, so that it costs no allocation once it is large enough. The zero value is ready
// to Build.
type Index struct {
	cols []int64  // the columns that occur, ascending
	at   []uint32 // for each stored value the position of its column in cols
	keys []int64
	gen  []uint32
	rank []uint32
	now  uint32
}

// Build plans the columns, in any order and with duplicates.
func (x *Index) Build(idx []int64) {
	x.reset(len(idx))
	mask := len(x.keys) - 1
	x.cols, x.at = x.cols[:0], x.at[:0]
	for _, c := range idx {
		i := slot(c, mask)
		for x.gen[i] == x.now && x.keys[i] != c {
			i = (i + 1) & mask
		}
		if x.gen[i] != x.now {
			x.gen[i], x.keys[i] = x.now, c
			x.cols = append(x.cols, c)
		}
		x.at = append(x.at, uint32(i))
	}
	slices.Sort(x.cols)
	for r, c := range x.cols {
		i := slot(c, mask)
		for x.keys[i] != c || x.gen[i] != x.now {
			i = (i + 1) & mask
		}
		x.rank[i] = uint32(r)
	}
	for k, i := range x.at {
		x.at[k] = x.rank[i]
	}
}

// Unique implements matrix.Plan.
func (x *Index) Unique() []int64 { return x.cols }

// Positions implements matrix.Plan.
func (x *Index) Positions(dst []uint32) []uint32 { return append(dst, x.at...) }

// reset empties the table and makes room for n columns at a load of at most one half.
func (x *Index) reset(n int) {
	if size := len(x.keys); size < 2*n || size == 0 {
		size = max(size, 64)
		for size < 2*n {
			size *= 2
		}
		x.keys, x.gen, x.rank = make([]int64, size), make([]uint32, size), make([]uint32, size)
		x.now = 0
	}
	if x.now++; x.now == 0 {
		clear(x.gen)
		x.now = 1
	}
}

func slot(c int64, mask int) int {
	h := uint64(c) * 0x9e3779b97f4a7c15 // the golden ratio: spreads neighbours over the upper bits
	return int(h>>32) & mask
}
