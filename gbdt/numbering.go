package gbdt

import "math/bits"

// numbering numbers some of very many features, in their order from 0 on. It takes 3 bits for each of all: what else is known of a feature
// is kept for those that have a number.
type numbering struct {
	words  []uint64 // a bit for each feature
	before []int32  // numbers given in the words before
	count  int
}

// newNumbering is of so many features, none of which has a number.
func newNumbering(features int) *numbering {
	return &numbering{words: make([]uint64, (features+63)/64)}
}

// add has a feature numbered, once number is called.
func (n *numbering) add(feature int) { n.words[feature>>6] |= 1 << (feature & 63) }

// join adds those of another numbering of as many features.
func (n *numbering) join(o *numbering) {
	for i, w := range o.words {
		n.words[i] |= w
	}
}

// number gives the numbers.
func (n *numbering) number() *numbering {
	n.before, n.count = make([]int32, len(n.words)), 0
	for i, w := range n.words {
		n.before[i] = int32(n.count)
		n.count += bits.OnesCount64(w)
	}
	return n
}

// of is the number of a feature; -1: it has none.
func (n *numbering) of(feature int) int {
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

// features are those that have numbers, in their order.
func (n *numbering) features() []int32 {
	all := make([]int32, 0, n.count)
	for i, w := range n.words {
		for ; w != 0; w &= w - 1 {
			all = append(all, int32(i<<6+bits.TrailingZeros64(w)))
		}
	}
	return all
}
