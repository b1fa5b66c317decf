package data

import (
	"math"
	"math/bits"
	"slices"
)

// rowExact marks a row that has values that are no float32.
const rowExact = 1 << 31

// exactFrom makes the values of a row, n from a place on, of which some are lower halves, what they are. words are those of the row.
func (r *rows) exactFrom(from, n int, words []uint32) {
	end := len(words) - (n+31)/32
	bitmap, upper := words[end:], 0
	for _, w := range bitmap {
		upper += bits.OnesCount32(w)
	}
	halves := words[end-upper : end]
	r.widenTo(from)
	if cap(r.exact) < from+n {
		r.exact = slices.Grow(r.exact, cap(r.val)-len(r.exact)) // as much room as for the values
	}
	r.exact = r.exact[:from+n]
	val, exact := r.val[from:from+n], r.exact[from:from+n]
	for i, v := range val {
		exact[i] = float64(v)
		if bitmap[i>>5]>>(i&31)&1 != 0 {
			exact[i] = math.Float64frombits(uint64(halves[0])<<32 | uint64(math.Float32bits(v)))
			val[i], halves = float32(exact[i]), halves[1:]
		}
	}
}

// halves are the values of a row of which some are no float32: the lower halves of those, and what follows the rest.
type halves struct {
	val  []float32
	last []uint32
}

// of splits the values of a row; last is empty where all are float32.
func (h *halves) of(val []float32, exact []float64) (lower []float32, last []uint32) {
	h.val, h.last = append(h.val[:0], val...), h.last[:0]
	for k, v := range exact {
		if b := math.Float64bits(v); float64(val[k]) != v && v == v {
			h.val[k], h.last = math.Float32frombits(uint32(b)), append(h.last, uint32(b>>32))
		}
	}
	if len(h.last) == 0 {
		return val, nil
	}
	bitmap := len(h.last)
	h.last = append(h.last, make([]uint32, (len(val)+31)/32)...)
	for k, v := range exact {
		if float64(val[k]) != v && v == v {
			h.last[bitmap+(k>>5)] |= 1 << (k & 31)
		}
	}
	return h.val, h.last
}
