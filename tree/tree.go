package tree

import "math"

// Kind says how an inner node decides: bits of it.
type Kind uint8

// The bits of a Kind. Of the three rules for missing values one is set, or none of the two bits: NaN is read as 0 then.
const (
	Categorical Kind = 1 << iota // levels of the set go left, all others right
	DefaultLeft                  // what is missing goes left, else right
	ZeroMissing                  // zero is missing, and NaN is read as zero
	NaNMissing                   // NaN is missing
)

// Tree is one tree. Inner nodes are 0 to len(Feature)-1, each before its children, with 0 as the root; leaf i is written
// as the child ^i = -(i+1). A tree without inner nodes is its leaf 0. All slices of nodes have one length, all of leaves
// one more.
//
// A node that is not Categorical sends the value v left if v <= Threshold, in float64. One that is sends int(v) left if v is
// not below 0 and int(v) in set number Threshold: set s has the words Bounds[s] to Bounds[s+1] of Words, and level l is in it if
// bit l%32 of word l/32 is set. NaN goes right there, with the levels that are in no set; only if both NaNMissing and DefaultLeft are
// set, as trees of XGBoost may have it, it goes left.
type Tree struct {
	Class int // the score that it adds to

	Feature     []int32
	Threshold   []float64
	Kind        []Kind
	Left, Right []int32

	// What training saw; zero where a file does not say.
	Gain   []float64 // of the loss by the split
	Value  []float64 // the node's, if it were a leaf
	Weight []float64 // sum of second derivatives
	Count  []int64   // rows

	LeafValue  []float64 // the rate is in it
	LeafWeight []float64
	LeafCount  []int64

	Bounds []int32
	Words  []uint32
}

// Leaves is how many there are.
func (t *Tree) Leaves() int { return len(t.LeafValue) }

// Set is the set of levels of an inner node that is Categorical, which belongs to the tree.
func (t *Tree) Set(node int) []uint32 {
	s := int(t.Threshold[node])
	return t.Words[t.Bounds[s]:t.Bounds[s+1]]
}

// Has reports whether level v is in the set.
func Has(set []uint32, v int) bool { return v>>5 < len(set) && set[v>>5]>>(v&31)&1 != 0 }

// ZeroMost is the largest size of a number that counts as zero where zero is missing: LightGBM's kZeroThreshold, in float32 1e-35.
const ZeroMost = 1.0000000180025095e-35

// GoesLeft reports whether a row whose feature of the node has the value v goes left there.
func (t *Tree) GoesLeft(node int, v float64) bool {
	k := t.Kind[node]
	if k&Categorical != 0 {
		if v != v {
			return k&(NaNMissing|DefaultLeft) == NaNMissing|DefaultLeft
		}
		return v >= 0 && v < math.MaxInt32 && Has(t.Set(node), int(v))
	}
	if v != v {
		if k&NaNMissing != 0 {
			return k&DefaultLeft != 0
		}
		v = 0
	}
	if k&ZeroMissing != 0 && math.Abs(v) <= ZeroMost {
		return k&DefaultLeft != 0
	}
	return v <= t.Threshold[node]
}

// Leaf is the number of the leaf that a row comes to; at is the value of a feature.
func (t *Tree) Leaf(at func(feature int32) float64) int {
	if len(t.Feature) == 0 {
		return 0
	}
	node := int32(0)
	for node >= 0 {
		if t.GoesLeft(int(node), at(t.Feature[node])) {
			node = t.Left[node]
		} else {
			node = t.Right[node]
		}
	}
	return int(^node)
}

// Depth is how many splits the longest way to a leaf has.
func (t *Tree) Depth() int {
	deep, most := make([]int, len(t.Feature)), 0
	for i := range t.Feature { // parents first
		most = max(most, deep[i]+1)
		for _, child := range [2]int32{t.Left[i], t.Right[i]} {
			if child >= 0 {
				deep[child] = deep[i] + 1
			}
		}
	}
	return most
}

// Check reports what contradicts itself in the tree, of which rows have so many features. It takes any Class.
func (t *Tree) Check(features int) error {
	var seen []bool
	return t.check(features, t.Class+1, &seen)
}
