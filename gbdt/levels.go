package gbdt

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// LevelOrder is whose rows put the levels of a categorical feature in the order in which sets of them are tried: that of their ratios of
// derivatives, which has the best sets if each level were a leaf (W. D. Fisher, 1958). Levels that few rows have tell little: their ratio
// is shrunk by Smooth, and the values of such sets by Level2.
type LevelOrder string

// The two orders.
const (
	// ByTree is that of all rows of the tree. Nodes ask where to cut it, and no more, so they cannot pick out those levels of which their
	// few rows came out high or low by chance, and levels that a node has no rows of come to the side of those that are like them. What
	// the order is expected to win by chance does not count (ordering.chance).
	ByTree LevelOrder = "tree"
	// ByNode is that of the rows of the node, LightGBM's. It is bounded by MaxLevels and LevelWeight.
	ByNode LevelOrder = "node"
)

// Level2 is what suits the order, added to L2 for splits by sets.
func (o LevelOrder) Level2() float64 {
	if o == ByNode {
		return 10
	}
	return 1
}

// ordered reports whether trees put the levels of a column in order.
func (c *Config) ordered(of *column) bool {
	return c.Order == ByTree && of.categorical && of.bins > c.OneHot
}

// orderedColumns are those whose levels trees put in order.
func (c *Config) orderedColumns(l *Layout) (all []int) {
	for i := range l.columns {
		if c.ordered(&l.columns[i]) {
			all = append(all, i)
		}
	}
	return all
}

// ordering is the levels of a column, by number of bin, as a tree has put them in order.
type ordering struct {
	bins    []int32
	weights []int64 // of each bin, the second derivatives of all rows of the tree
}

// chance is what cutting the order is expected to win if the feature tells nothing and derivatives differ by the noise alone. Half of the
// levels then look high and half look low, and the gain, the squares of the means of both sides by their weights, is 2/pi of the
// noise for each level: (E|z|)^2 of a normal z. A node has the share of it that it has of the rows of the level.
func (o *ordering) chance(bins []sum, noise float64) float64 {
	shares := 0.0
	for i, s := range bins {
		if s.H > 0 && o.weights[i] > 0 {
			shares += float64(s.H) / float64(o.weights[i])
		}
	}
	return 2 / math.Pi * noise * shares
}

// squareBits is how many of the lowest bits of first derivatives, times the roots of weights, do not count in sums of squares: the sum over
// all rows fits into 64 bits.
const squareBits = 15

// squares is the sum of the squares of first derivatives by the weights of their rows, in squares of the grower's spread. A row of weight
// 2 counts as two rows: its derivative g is in grads as 2 g, and it adds 2 g^2.
func (g *grower) squares(rows []uint32) (s int64) {
	if g.weights == nil {
		for _, r := range rows {
			d := int64(g.grads[r].G+1<<(squareBits-1)) >> squareBits
			s += d * d
		}
		return s
	}
	up := g.scale.g / g.spread
	for _, r := range rows {
		if w := float64(g.weights[r]); w > 0 {
			d := float64(g.grads[r].G) * up
			s += int64(math.RoundToEven(d * d / w))
		}
	}
	return s
}

// noiseOf is how much first derivatives differ: their squares by the second derivatives, which is about 1 of a likelihood and the variance
// of the residuals of l2.
func (g *grower) noiseOf(squares, second int64) float64 {
	if second <= 0 {
		return 0
	}
	return float64(squares) * g.spread * g.spread / (float64(second) * g.scale.h)
}

// arrange gives the finders the order of levels by the histogram of the root, of columns whose levels the tree puts in order.
func (g *grower) arrange(ctx context.Context, root *leaf) error {
	var columns []int
	for _, at := range g.columns {
		if g.ordered(&g.binned.columns[at]) {
			columns = append(columns, at)
		}
	}
	if len(columns) == 0 {
		return nil
	}
	total := root.sum
	if g.vote != nil { // the histogram is of the rows that are here
		total = g.binned.rowSum(root.hist)
	}
	bins, sums := make([][]sum, len(columns)), []int64(nil)
	for i, at := range columns {
		c := &g.binned.columns[at]
		bins[i] = root.hist.column(g.binned.Layout, c, total, make([]sum, c.all()))
		for _, s := range bins[i] {
			sums = append(sums, s.G, s.H)
		}
	}
	if g.vote != nil {
		if err := g.vote.Add(ctx, root.depth, sums); err != nil {
			return err
		}
		for _, of := range bins {
			for k := range of {
				of[k], sums = sum{G: sums[0], H: sums[1]}, sums[2:]
			}
		}
	}
	orders := make([]ordering, len(g.binned.columns))
	for i, at := range columns {
		orders[at] = g.orderOf(g.scale, bins[i][:g.binned.columns[at].bins])
	}
	for i := range g.finders {
		g.finders[i].orders, g.finders[i].noise = orders, g.root.Noise
	}
	return nil
}

// orderOf is the bins in the order of their ratios.
func (c *Config) orderOf(by scale, bins []sum) ordering {
	ratios, weights := make([]float64, len(bins)), make([]int64, len(bins))
	for i, s := range bins {
		ratios[i], weights[i] = c.ratio(by, s), s.H
	}
	return ordering{sorted(counting(len(bins)), ratios), weights}
}

// ratio is that by which a level is put in order.
func (c *Config) ratio(by scale, s sum) float64 {
	g, h := by.of(s)
	if h += c.Smooth; h <= 0 {
		return 0 // no row has it
	}
	return g / h
}

// sorted sorts levels by their ratios.
func sorted(levels []int32, ratios []float64) []int32 {
	slices.SortFunc(levels, func(a, b int32) int { return cmp.Or(cmp.Compare(ratios[a], ratios[b]), cmp.Compare(a, b)) })
	return levels
}

// levels tries every level against all others.
func (n *node) levels(bins []sum, missing sum) (found bool) {
	for i, s := range bins {
		if n.try(s, 0) {
			n.best.set, found = []int32{int32(i)}, true
		}
	}
	if missing != (sum{}) && n.try(n.total.Minus(missing), 0) { // whatever is known against what is missing
		n.best.set, found = counting(len(bins)), true
	}
	return found
}

// sides tries every place to cut the order that the tree has put the levels in. Rows that lack the feature go right, whichever end that is;
// if there are none here, the levels that go left are those of the lighter side, so that rows to come go where most are.
func (n *node) sides(bins []sum, missing sum) (found bool) {
	of := &n.orders[n.best.column]
	n.whole += of.chance(bins, n.noise)
	order, cut := of.bins, 0 // so many of the levels go left, counted from the end if it is below 0
	var left sum
	for k, at := range order {
		if bins[at] == (sum{}) {
			continue // as the cut before
		}
		if left.Add(bins[at]); n.try(left, n.Level2) {
			cut, found = k+1, true
		}
		if rest := n.total.Minus(missing).Minus(left); missing != (sum{}) && n.try(rest, n.Level2) {
			cut, found = k+1-len(order), true
		}
	}
	if !found {
		return false
	}
	if s := &n.best; missing == (sum{}) && s.left.H > s.right.H {
		s.left, s.right, s.value[0], s.value[1] = s.right, s.left, s.value[1], s.value[0]
		cut -= len(order)
	}
	if cut > 0 {
		n.best.set = slices.Clone(order[:cut])
	} else {
		n.best.set = slices.Clone(order[len(order)+cut:])
	}
	slices.Sort(n.best.set)
	return true
}

// sets tries levels in the order of their ratios in the node, from both ends, up to MaxLevels of them; those that weigh little there are
// never in a set.
func (n *node) sets(bins []sum, missing sum) (found bool) {
	n.order, n.ratios = n.order[:0], slices.Grow(n.ratios[:0], len(bins))[:len(bins)]
	for i, s := range bins {
		if _, h := n.scale.of(s); h < n.LevelWeight || s == (sum{}) {
			continue
		}
		n.order = append(n.order, int32(i))
		n.ratios[i] = n.ratio(n.scale, s)
	}
	sorted(n.order, n.ratios)
	most := min(n.MaxLevels, (len(n.order)+1)/2)
	for _, down := range []bool{false, true} {
		var left sum
		for k := range most {
			at := n.order[k]
			if down {
				at = n.order[len(n.order)-1-k]
			}
			left.Add(bins[at])
			if !n.try(left, n.Level2) {
				continue
			}
			found = true
			set := n.order[:k+1]
			if down {
				set = n.order[len(n.order)-1-k:]
			}
			n.best.set = append(n.best.set[:0:0], set...)
		}
	}
	if found {
		slices.Sort(n.best.set)
	}
	return found
}
