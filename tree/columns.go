package tree

import (
	"cmp"
	"math"
	"slices"
)

// rule is how a value of a feature becomes its key: a number of 32 bits such that it goes left at a node if its key is not above
// that of the threshold (cuts). All that nodes do with missing values is in the keys, so that the nodes themselves only compare.
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

// key is the key of a value in column i.
func (s *Scorer) key(i int, v float64) int32 {
	r := s.columns[i].rule
	v = s.e.Numbers.Value(v)
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
	if r >= zeroLeft && math.Abs(v) <= ZeroMost {
		if r == zeroLeft {
			return keyLeft
		}
		return keyRight
	}
	return s.cuts[i].value(v)
}

// plain reports whether of a column the key of a value that is a finite float32 is its order.
func (s *Scorer) plain(i int) bool {
	r := s.columns[i].rule
	return (r == nanLeft || r == nanRight) && !s.cuts[i].ranked && s.e.Numbers != LightGBM
}

// cuts are the thresholds of a column. A key is a number of 32 bits, and values have 64: the key of a float32 is its order, and a
// threshold has that of the largest float32 that is not above it. A value between two float32 has the key of the lower one if the
// threshold between them is not below it, else that of the upper one. Where there are several thresholds between two float32 the keys of
// the column are the numbers of thresholds below.
type cuts struct {
	sorted []float64 // ascending, each once; nil: all are float32
	ranked bool
}

// cutsOf are those of the columns that trees ask for.
func cutsOf(trees []Tree, at map[column]int32) []cuts {
	all := make([]cuts, len(at))
	for pass := range 2 { // which columns have some that are no float32, then all of those columns
		for i := range trees {
			t := &trees[i]
			for n, v := range t.Threshold {
				if t.Kind[n]&Categorical != 0 {
					continue
				}
				c := &all[at[column{t.Feature[n], ruleOf(t.Kind[n])}]]
				if pass == 0 && c.sorted == nil && float64(float32(v)) != v {
					c.sorted = []float64{}
				} else if pass == 1 && c.sorted != nil {
					c.sorted = append(c.sorted, v)
				}
			}
		}
	}
	for i := range all {
		c := &all[i]
		slices.Sort(c.sorted)
		c.sorted = slices.Compact(c.sorted)
		for k := 1; k < len(c.sorted) && !c.ranked; k++ {
			c.ranked = Floor32(c.sorted[k-1]) == Floor32(c.sorted[k])
		}
	}
	return all
}

// below is how many thresholds are below v.
func (c *cuts) below(v float64) int {
	lo, n := 0, len(c.sorted)
	for n > 0 {
		half := n >> 1
		if c.sorted[lo+half] < v {
			lo += half + 1
			n -= half + 1
		} else {
			n = half
		}
	}
	return lo
}

// threshold is the key of a threshold of the column.
func (c *cuts) threshold(t float64) int32 {
	if c.ranked {
		return int32(c.below(t))
	}
	return order(Floor32(t))
}

// value is the key of a value, which is not NaN.
func (c *cuts) value(v float64) int32 {
	if c.ranked {
		return int32(c.below(v))
	}
	f := Floor32(v)
	k := order(f)
	if float64(f) == v {
		return k
	}
	if at := c.below(v); at < len(c.sorted) && Floor32(c.sorted[at]) == f {
		return k
	}
	return k + 1
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
func (s *Scorer) keys(row []float64, keys []int32) {
	keys = keys[:len(s.columns)]
	for i, c := range s.columns {
		v := 0.0
		if int(c.feature) < len(row) {
			v = row[c.feature]
		}
		// What most values are is done here without a call.
		if x := float32(v); float64(x) == v && x-x == 0 && s.plainColumns[i] {
			keys[i] = order(x)
			continue
		}
		keys[i] = s.key(i, v)
	}
}
