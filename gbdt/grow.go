package gbdt

import (
	"cmp"
	"context"
	"slices"

	"thole.example/kernel"
	"thole.example/tree"
)

// leaf is a node that is not split (yet).
type leaf struct {
	parent     int // inner node, -1 of the root
	depth      int
	lo, hi     int // its rows, in grower.rows
	from, to   int // others that come to it, in grower.others
	sum        sum
	count      int
	value      float64
	in         limits
	hist       histogram // nil: it is not needed, or the servers have it
	slot       int       // counted from 1, where they do
	best       split
	splittable bool
}

// grower grows trees of binned rows. One goroutine uses it.
type grower struct {
	*Config
	binned  *Binned
	grads   []grad
	scale   scale
	weights []float32   // of the rows; nil: all are 1
	rare    float64     // most that a side of a split has to have, of the class (Setup.Rare)
	child   float64     // second derivatives that both sides of a split have at least, in the tree
	spread  float64     // unit of first derivatives times the roots of weights, for sums of squares
	rows    []uint32    // that a tree learns from, those of a leaf together
	others  []uint32    // that it does not learn from: not drawn, or held out
	spare   []uint32    // as long as both
	columns []int       // that the tree may ask for, ascending
	most    float64     // threshold that all numbers are up to
	free    []histogram // that no leaf has, to be used again
	holding int         // leaves with histograms
	own     []histogram // of each goroutine
	finders []finder
	lookup  [][]uint8

	division *Division // of the features; nil: there is none
	part     part
	workers  Exchange // nil: all rows are here
	vote     *Vote    // nil: all histograms are added up
	shape    *Shape
	sums     histogram // of this worker, on their way; used again when the answers are there
	slots    []int     // that are free
	slotted  int       // the last one that was ever used
	orders   bool      // levels of some columns are put in order
	root     root

	tree   tree.Tree
	leaves []leaf
}

// grow grows one tree of the rows whose derivatives grads has. The leaves have values without the rate.
func (g *grower) grow(ctx context.Context) error {
	g.tree, g.leaves, g.holding = tree.Tree{}, g.leaves[:0], 0
	root := leaf{parent: -1, hi: len(g.rows), to: len(g.others), in: unlimited}
	var spread int64
	root.sum, spread = g.total(ctx)
	all := []int64{root.sum.G, root.sum.H, spread}
	if err := g.sumAll(ctx, all); err != nil {
		return err
	}
	root.sum, root.count, g.root.Noise = sum{G: all[0], H: all[1]}, len(g.rows), g.noiseOf(all[2], all[1])
	gs, hs := g.scale.of(root.sum)
	root.value = g.value(gs, hs, 0, unlimited)
	g.child = g.childWeight(g.rare, hs)
	for i := range g.finders {
		g.finders[i].child = g.child
	}
	g.leaves = append(g.leaves, root)
	if err := g.measure(ctx, []int{0}, nil); err != nil {
		return err
	}
	for most := g.Config.leaves(); len(g.leaves) < most; {
		next := g.next(most)
		if len(next) == 0 {
			break
		}
		if err := g.expand(ctx, next, len(g.leaves)+len(next) < most); err != nil {
			return err
		}
	}
	for i := range g.leaves {
		l := &g.leaves[i]
		g.release(l)
		_, h := g.scale.of(l.sum)
		g.tree.LeafValue = append(g.tree.LeafValue, l.value)
		g.tree.LeafWeight = append(g.tree.LeafWeight, h)
		g.tree.LeafCount = append(g.tree.LeafCount, int64(l.count))
	}
	return nil
}

// next are the leaves to be split next: all that may be, where their children stay below the limit and the order does not matter; else
// those that the order has first.
func (g *grower) next(most int) (all []int) {
	for i := range g.leaves {
		if g.leaves[i].splittable {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return nil
	}
	bounded := g.Leaves > 0 && g.Leaves < g.full()
	if !bounded && len(all) <= most-len(g.leaves) {
		return all
	}
	if g.Growth == ByLeaf {
		first := all[0]
		for _, i := range all {
			if g.leaves[i].best.gain > g.leaves[first].best.gain {
				first = i
			}
		}
		return []int{first}
	}
	slices.SortStableFunc(all, func(i, j int) int {
		a, b := &g.leaves[i], &g.leaves[j]
		return cmp.Or(a.depth-b.depth, cmp.Compare(b.best.gain, a.best.gain))
	})
	first := g.leaves[all[0]].depth
	if n := slices.IndexFunc(all, func(i int) bool { return g.leaves[i].depth != first }); n > 0 {
		all = all[:n]
	}
	return all[:min(len(all), most-len(g.leaves))]
}

// expand splits leaves, and looks for the splits of their children if more is to come.
func (g *grower) expand(ctx context.Context, all []int, more bool) error {
	pairs := make([][2]int, len(all))
	for i, at := range all {
		pairs[i] = [2]int{at, g.split(at)}
	}
	if err := g.divide(ctx, pairs); err != nil {
		return err
	}
	var build, both []int
	siblings := make([]int, 0, len(pairs))
	for _, p := range pairs {
		small, large := p[0], p[1]
		if g.larger(small, large) {
			small, large = large, small
		}
		parent := &g.leaves[p[0]]
		hist, slot := parent.hist, parent.slot
		if hist != nil {
			g.holding--
		}
		switch {
		case !more || g.Depth > 0 && g.leaves[small].depth >= g.Depth:
			g.release(parent)
		case hist == nil && slot == 0: // there were too many
			both = append(both, small, large)
		default:
			parent.hist, parent.slot = nil, 0
			g.leaves[large].hist, g.leaves[large].slot = hist, slot
			build, siblings = append(build, small), append(siblings, large)
		}
	}
	return g.measure(ctx, append(build, both...), siblings)
}

// split makes an inner node of a leaf, which becomes its left child, and appends the right one.
func (g *grower) split(at int) (right int) {
	t, l := &g.tree, &g.leaves[at]
	s, c := &l.best, &g.binned.columns[l.best.column]
	node := int32(len(t.Feature))
	if l.parent >= 0 {
		if t.Left[l.parent] == ^int32(at) {
			t.Left[l.parent] = node
		} else {
			t.Right[l.parent] = node
		}
	}
	right = len(g.leaves)
	t.Feature = append(t.Feature, int32(c.feature))
	t.Left, t.Right = append(t.Left, ^int32(at)), append(t.Right, ^int32(right))
	_, h := g.scale.of(l.sum)
	t.Gain, t.Value, t.Weight = append(t.Gain, s.gain), append(t.Value, l.value), append(t.Weight, h)
	t.Count = append(t.Count, int64(l.count))
	kind := tree.NaNMissing
	if c.categorical {
		t.Kind = append(t.Kind, kind|tree.Categorical)
		t.Threshold = append(t.Threshold, float64(addSet(t, c, s.set)))
	} else {
		if s.missing {
			kind |= tree.DefaultLeft
		}
		upper := g.most
		if s.bin < len(c.uppers) {
			upper = c.uppers[s.bin]
		}
		t.Kind, t.Threshold = append(t.Kind, kind), append(t.Threshold, upper)
	}
	r := leaf{parent: int(node), depth: l.depth + 1, sum: s.right, value: s.value[1], in: l.in}
	in := l.in
	if m := g.monotoneOf(c); m != 0 { // below, values of the two sides must not meet
		mid := (s.value[0] + s.value[1]) / 2
		if m > 0 {
			in.hi, r.in.lo = mid, mid
		} else {
			in.lo, r.in.hi = mid, mid
		}
	}
	l.parent, l.depth, l.sum, l.value, l.in, l.splittable = int(node), l.depth+1, s.left, s.value[0], in, false
	g.leaves = append(g.leaves, r)
	return right
}

// monotoneOf is whether scores only rise (1) or fall (-1) with the column.
func (c *Config) monotoneOf(of *column) int {
	if c.Monotone == nil || of.categorical {
		return 0
	}
	return int(c.Monotone[of.feature])
}

// larger reports whether leaf i has more rows than leaf j; with other workers, of whose rows only the sums of second derivatives are known,
// whether it has more of these: histograms are the same whichever of two children is summed up.
func (g *grower) larger(i, j int) bool {
	a, b := &g.leaves[i], &g.leaves[j]
	if g.workers != nil {
		return a.sum.H > b.sum.H
	}
	return a.count > b.count
}

// addSet appends the levels of the bins as a set of the tree, and returns its number.
func addSet(t *tree.Tree, c *column, bins []int32) int {
	if t.Bounds == nil {
		t.Bounds = []int32{0}
	}
	first := len(t.Words)
	for _, bin := range bins {
		level := int(c.levels[bin])
		for first+level>>5 >= len(t.Words) {
			t.Words = append(t.Words, 0)
		}
		t.Words[first+level>>5] |= 1 << (level & 31)
	}
	t.Bounds = append(t.Bounds, int32(len(t.Words)))
	return len(t.Bounds) - 2
}

// searchColumns is how many columns of a leaf are looked at in one go.
const searchColumns = 16

// search finds the best splits of leaves.
func (g *grower) search(ctx context.Context, leaves []int) error {
	spans := (len(g.columns) + searchColumns - 1) / searchColumns
	found := make([]split, len(leaves)*spans)
	err := each(ctx, worth(g.Cores, 2*len(leaves)*(g.part.hi-g.part.lo)), len(found), func(worker, i int) error {
		l := &g.leaves[leaves[i/spans]]
		lo := i % spans * searchColumns
		for _, at := range g.columns[lo:min(lo+searchColumns, len(g.columns))] {
			if s := g.finders[worker].column(at, l.hist, l.sum, l.in); s.better(&found[i]) {
				found[i] = s
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	best := make([]split, len(leaves))
	for i := range best {
		for j := range spans {
			if s := &found[i*spans+j]; s.better(&best[i]) {
				best[i] = *s
			}
		}
	}
	if err := g.agree(ctx, leaves, best); err != nil {
		return err
	}
	g.decide(leaves, best)
	return nil
}

// decide gives leaves their best splits. Those that have none need no histograms any more, and others do without if there are too many.
func (g *grower) decide(leaves []int, best []split) {
	for i, at := range leaves {
		l := &g.leaves[at]
		l.best, l.splittable = best[i], best[i].gain > 0
		switch {
		case !l.splittable, g.holding >= g.binned.histogramLimit:
			g.release(l)
		case l.hist != nil:
			g.holding++
		}
	}
}

// drawn reports whether the share of things has the one of the number, by the seed alone.
func drawn(seed, number uint64, share float64) bool {
	return share == 0 || share >= 1 || float64(kernel.Hash(seed+kernel.Hash(number+1))>>11)*0x1p-53 < share
}
