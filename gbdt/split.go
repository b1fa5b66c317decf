package gbdt

import (
	"math"
)

// scale turns sums of whole numbers into those of derivatives.
type scale struct{ g, h float64 }

func (s scale) of(t sum) (g, h float64) { return float64(t.G) * s.g, float64(t.H) * s.h }

// limits are between which values those of the leaves below a node may be (monotone constraints).
type limits struct{ lo, hi float64 }

// unlimited is no limits.
var unlimited = limits{math.Inf(-1), math.Inf(1)}

// value is what a leaf adds to the score of its rows, before the rate: the minimum of g w + (h + l2) w^2 / 2 + l1 |w| within the
// limits.
func (c *Config) value(g, h, l2 float64, in limits) float64 {
	w := -soft(g, c.L1) / (h + c.L2 + l2)
	if w != w { // 0/0
		w = 0
	}
	if c.MaxStep > 0 {
		w = min(max(w, -c.MaxStep), c.MaxStep)
	}
	return min(max(w, in.lo), in.hi)
}

// score is twice by how much a leaf of the value makes the loss smaller.
func (c *Config) score(g, h, w, l2 float64) float64 {
	return -(2*g*w + (h+c.L2+l2)*w*w + 2*c.L1*math.Abs(w))
}

// soft is the derivative that is left after l1.
func soft(g, l1 float64) float64 {
	switch {
	case g > l1:
		return g - l1
	case g < -l1:
		return g + l1
	}
	return 0
}

// split is the best way to divide the rows of a node; gain 0: there is none.
type split struct {
	gain        float64
	column      int
	bin         int     // numbers: bins up to it go left
	set         []int32 // of a categorical column: the bins that go left, ascending
	missing     bool    // what is missing goes left; never with a set
	left, right sum     // of the rows that go there
	value       [2]float64
}

// better reports whether s goes before o: columns are looked at in ascending order, and ties go to the first.
func (s *split) better(o *split) bool {
	return s.gain > o.gain || s.gain == o.gain && s.gain > 0 && s.column < o.column
}

// finder looks for the best split of a node.
type finder struct {
	*Config
	layout *Layout
	scale  scale
	child  float64 // second derivatives that both sides of a split have at least
	bins   []sum
	order  []int32
	ratios []float64
	orders []ordering // of each column whose levels the tree puts in order
	noise  float64    // of the tree
}

// least is the gain below which a split is of no use: that of rounding, of a node of that score.
func (c *Config) least(score float64) float64 { return max(c.Gamma, math.Abs(score)*1e-10) }

// column is the best split of one column for a node of the total.
func (f *finder) column(at int, hist histogram, t sum, in limits) split {
	c := &f.layout.columns[at]
	if len(f.bins) < c.all() {
		f.bins = make([]sum, c.all())
	}
	return f.best(at, hist.column(f.layout, c, t, f.bins), t, in)
}

// best is the best split of a column by the sums of its bins.
func (f *finder) best(at int, bins []sum, t sum, in limits) split {
	c := &f.layout.columns[at]
	n := node{finder: f, column: c, total: t, in: in, best: split{column: at}}
	n.g, n.h = f.scale.of(t)
	n.whole = f.score(n.g, n.h, f.value(n.g, n.h, 0, in), 0)
	n.best.gain = f.least(n.whole)
	var missing sum
	if c.missing {
		missing = bins[c.bins]
	}
	found := false
	switch {
	case !c.categorical:
		found = n.numbers(bins[:c.bins], missing)
	case c.bins <= f.OneHot:
		found = n.levels(bins[:c.bins], missing)
	case f.Order == ByTree:
		found = n.sides(bins[:c.bins], missing)
	default:
		found = n.sets(bins[:c.bins], missing)
	}
	if !found {
		return split{}
	}
	return n.best
}

// node is a node while its best split by one column is looked for.
type node struct {
	*finder
	column *column
	total  sum
	g, h   float64
	whole  float64 // score of the node as a leaf
	in     limits
	best   split
}

// try reports whether the split is better than the best so far, which it becomes then.
func (n *node) try(left sum, l2 float64) bool {
	right := n.total.Minus(left)
	gl, hl := n.scale.of(left)
	gr, hr := n.scale.of(right)
	if left.H <= 0 || right.H <= 0 || hl < n.child || hr < n.child {
		return false
	}
	var gain float64
	if n.L1 == 0 && n.MaxStep == 0 && n.in == unlimited && n.monotone() == 0 {
		gain = gl*gl/(hl+n.L2+l2) + gr*gr/(hr+n.L2+l2) - n.whole
		if gain <= n.best.gain {
			return false
		}
		n.best.value = [2]float64{-gl / (hl + n.L2 + l2), -gr / (hr + n.L2 + l2)}
	} else {
		wl, wr := n.value(gl, hl, l2, n.in), n.value(gr, hr, l2, n.in)
		if m := n.monotone(); m > 0 && wl > wr || m < 0 && wl < wr {
			return false
		}
		gain = n.score(gl, hl, wl, l2) + n.score(gr, hr, wr, l2) - n.whole
		if !(gain > n.best.gain) {
			return false
		}
		n.best.value = [2]float64{wl, wr}
	}
	n.best.gain, n.best.left, n.best.right = gain, left, right
	return true
}

func (n *node) monotone() int { return n.monotoneOf(n.column) }

// numbers tries every bin as the last one that goes left.
func (n *node) numbers(bins []sum, missing sum) (found bool) {
	var left sum
	for i, s := range bins {
		left.Add(s)
		if i == len(bins)-1 && missing == (sum{}) {
			break // nothing goes right
		}
		if s == (sum{}) {
			continue // as the bin before
		}
		if n.try(left, 0) {
			n.best.bin, n.best.missing, found = i, false, true
		}
		if missing != (sum{}) && i < len(bins)-1 {
			with := left
			with.Add(missing)
			if n.try(with, 0) {
				n.best.bin, n.best.missing, found = i, true, true
			}
		}
	}
	if found && missing == (sum{}) { // nothing was missing here: rows to come go where most are
		n.best.missing = n.best.left.H > n.best.right.H
	}
	return found
}

func counting(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}
