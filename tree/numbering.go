package tree

import "math/bits"

// Numbering numbers some of very many features, in their order from 0 on. It takes a bit and a half for each of all: what else is known of
// a feature is kept for those that have a number. Once Number was called any number of goroutines may ask.
type Numbering struct {
	words  []uint64 // a bit for each feature
	before []int32  // numbers given in the words before
	count  int
}

// NewNumbering is of so many features, none of which has a number.
func NewNumbering(features int) *Numbering {
	return &Numbering{words: make([]uint64, (features+63)/64)}
}

// Add has a feature numbered, once Number is called.
func (n *Numbering) Add(feature int) { n.words[feature>>6] |= 1 << (feature & 63) }

// Join adds those of another numbering of as many features.
func (n *Numbering) Join(o *Numbering) {
	for i, w := range o.words {
		n.words[i] |= w
	}
}

// Number gives the numbers.
func (n *Numbering) Number() *Numbering {
	n.before, n.count = make([]int32, len(n.words)), 0
	for i, w := range n.words {
		n.before[i] = int32(n.count)
		n.count += bits.OnesCount64(w)
	}
	return n
}

// Count is how many have a number.
func (n *Numbering) Count() int { return n.count }

// Of is the number of a feature; -1: it has none.
func (n *Numbering) Of(feature int) int {
	at := uint(feature) >> 6
	if at >= uint(len(n.words)) {
		return -1
	}
	w, bit := n.words[at], uint64(1)<<(feature&63)
	if w&bit == 0 {
		return -1
	}
	return int(n.before[at]) + bits.OnesCount64(w&(bit-1))
}

// Features are those that have numbers, in their order.
func (n *Numbering) Features() []int32 {
	all := make([]int32, 0, n.count)
	for i, w := range n.words {
		for ; w != 0; w &= w - 1 {
			all = append(all, int32(i<<6+bits.TrailingZeros64(w)))
		}
	}
	return all
}
