package ps

import (
	"iter"
	"math/bits"

	"thole.example/matrix"
)

// denseRow is the sum of what was added to a row, cell by cell, and which cells were touched: what is added first to a cell is
// its value, bit by bit. Cells that were not touched are zero.
type denseRow[T matrix.Elem] struct {
	val []T
	has []uint64 // a bit for each cell
	n   int      // how many were touched
}

func newDenseRow[T matrix.Elem](cols int64) *denseRow[T] {
	return &denseRow[T]{val: make([]T, cols), has: make([]uint64, (cols+63)/64)}
}

// add adds to one cell.
func (r *denseRow[T]) add(i int64, v T) {
	word, bit := i>>6, uint64(1)<<(i&63)
	if r.has[word]&bit != 0 {
		r.val[i] += v
		return
	}
	r.has[word] |= bit
	r.val[i] = v
	r.n++
}

// addRun adds to the cells from lo on.
func (r *denseRow[T]) addRun(lo int64, vals []T) {
	for i := 0; i < len(vals); {
		at := lo + int64(i)
		n := min(len(vals)-i, int(64-at&63))
		mask := ^uint64(0) >> (64 - n) << (at & 63)
		dst, src := r.val[at:][:n], vals[i:][:n]
		switch word := &r.has[at>>6]; *word & mask {
		case mask:
			for k, v := range src {
				dst[k] += v
			}
		case 0:
			copy(dst, src)
			*word |= mask
			r.n += n
		default:
			for k, v := range src {
				r.add(at+int64(k), v)
			}
		}
		i += n
	}
}

// touched are the cells that were touched, ascending.
func (r *denseRow[T]) touched() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for w, word := range r.has {
			for ; word != 0; word &= word - 1 {
				if !yield(int64(w)<<6 + int64(bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// split takes the cells out that are to be sent; what stays is what has a value.
func (r *denseRow[T]) split(send func(T) bool) (sent *denseRow[T]) {
	sent = &denseRow[T]{val: make([]T, len(r.val)), has: make([]uint64, len(r.has))}
	for i := range r.touched() {
		v := r.val[i]
		switch {
		case send(v):
			sent.add(i, v)
			r.val[i] = 0
		case v != 0:
			continue
		}
		r.has[i>>6] &^= 1 << (i & 63)
		r.n--
	}
	return sent
}
