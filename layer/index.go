package layer

import "slices"

// index finds the different columns of a batch: which they are, and for each stored value which of them it is. It is a
// hash table that is emptied by a new generation number, so that it costs no allocation once it is large enough.
type index struct {
	cols []int64 // the columns that occur, ascending
	at   []int32 // for each stored value the place of its column in cols

	keys []int64
	gen  []uint32
	rank []int32
	now  uint32
}

// build takes the columns of all stored values, in any order.
func (x *index) build(idx []int64) {
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
		x.at = append(x.at, int32(i))
	}
	slices.Sort(x.cols)
	for r, c := range x.cols {
		i := slot(c, mask)
		for x.keys[i] != c || x.gen[i] != x.now {
			i = (i + 1) & mask
		}
		x.rank[i] = int32(r)
	}
	for k, i := range x.at {
		x.at[k] = x.rank[i]
	}
}

// reset empties the table and makes room for n columns at a load of at most one half.
func (x *index) reset(n int) {
	if size := len(x.keys); size < 2*n || size == 0 {
		size = max(size, 64)
		for size < 2*n {
			size *= 2
		}
		x.keys, x.gen, x.rank = make([]int64, size), make([]uint32, size), make([]int32, size)
		x.now = 0
	}
	if x.now++; x.now == 0 {
		clear(x.gen)
		x.now = 1
	}
}

// fits reports whether the index was built from these columns.
func (x *index) fits(idx []int64) bool {
	if len(x.at) != len(idx) {
		return false
	}
	for k, c := range idx {
		if x.cols[x.at[k]] != c {
			return false
		}
	}
	return true
}

func slot(c int64, mask int) int {
	h := uint64(c) * 0x9e3779b97f4a7c15 // the golden ratio: spreads neighbours over the upper bits
	return int(h>>32) & mask
}
