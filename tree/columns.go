package tree

import (
	"cmp"
	"math"
	"slices"
)

// rule is how a value of a feature becomes its key: a number of 32 bits such that it goes left at a node if its key is not above
// that of the threshold. All that nodes do with missing values is in the keys, so that the nodes themselves only compare.
type rule uint8

const (
	level     rule = iota // the number of the level, or -1 where none can be in a set
	levelLeft             // the same, but NaN goes left
	nanZero               // NaN is 0
	nanLeft               // NaN goes left
	nanRight              // NaN goes right
	zeroLeft              // NaN and 0 go left
	zeroRight             // NaN and 0 go right
)

// Keys of what goes left, and right, at every node.
const (
	keyLeft  = math.MinInt32
	keyRight = math.MaxInt32
)

// levelMissing is the key of a level that is missing and goes left.
const levelMissing = -2

// inSet reports whether the key of a level goes left.
func inSet(words []uint32, key int32) bool {
	return key >= 0 && Has(words, int(key)) || key == levelMissing
}

// ruleOf is the rule of a node of a kind.
func ruleOf(k Kind) rule {
	left := rule(0)
	if k&DefaultLeft == 0 {
		left = 1
	}
	switch {
	case k&(Categorical|NaNMissing|DefaultLeft) == Categorical|NaNMissing|DefaultLeft:
		return levelLeft
	case k&Categorical != 0:
		return level
	case k&ZeroMissing != 0:
		return zeroLeft + left
	case k&NaNMissing != 0:
		return nanLeft + left
	}
	return nanZero
}

// ZeroMost32 is ZeroMost for numbers of 32 bits.
var ZeroMost32 = Floor32(ZeroMost)

// key is the key of a value.
func (r rule) key(v float32) int32 {
	if r <= levelLeft {
		switch {
		case v >= 0 && v < math.MaxInt32:
			return int32(v)
		case v != v && r == levelLeft:
			return levelMissing
		}
		return -1
	}
	if v != v {
		switch r {
		case nanLeft, zeroLeft:
			return keyLeft
		case nanRight, zeroRight:
			return keyRight
		}
		v = 0
	}
	if r >= zeroLeft && v <= ZeroMost32 && v >= -ZeroMost32 {
		if r == zeroLeft {
			return keyLeft
		}
		return keyRight
	}
	return order(v)
}

// order is a number that is as much above those of others as v is, which is not NaN; those of 0 and -0 are one.
func order(v float32) int32 {
	b := int32(math.Float32bits(v + 0)) // -0 + 0 is 0
	return b ^ b>>31&math.MaxInt32
}

// Floor32 is the largest number of 32 bits that is not above t: one of 32 bits is at most t exactly if it is at most that.
func Floor32(t float64) float32 {
	v := float32(t)
	if float64(v) > t {
		v = math.Nextafter32(v, float32(math.Inf(-1)))
	}
	return v
}

// column is a feature with a rule: nodes that ask for the same have one key of a row.
type column struct {
	feature int32
	rule    rule
}

func (c column) compare(o column) int {
	return cmp.Or(cmp.Compare(c.feature, o.feature), cmp.Compare(c.rule, o.rule))
}

// columnsOf are those that the trees ask for, in order.
func columnsOf(trees []Tree) []column {
	seen := map[column]bool{}
	var all []column
	for i := range trees {
		t := &trees[i]
		for n, f := range t.Feature {
			if c := (column{f, ruleOf(t.Kind[n])}); !seen[c] {
				seen[c] = true
				all = append(all, c)
			}
		}
	}
	slices.SortFunc(all, column.compare)
	return all
}

// keys writes those of a row. Features beyond it are 0.
func (s *Scorer) keys(row []float32, keys []int32) {
	keys = keys[:len(s.columns)]
	for i, c := range s.columns {
		v := float32(0)
		if int(c.feature) < len(row) {
			v = row[c.feature]
		}
		// What most columns are is done here without a call.
		if c.rule == nanLeft || c.rule == nanRight {
			k := order(v)
			if v != v {
				k = math.MinInt32 - int32(c.rule-nanLeft) // which goes round to keyRight
			}
			keys[i] = k
			continue
		}
		keys[i] = c.rule.key(v)
	}
}
