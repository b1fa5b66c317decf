package gbdt

import (
	"cmp"
	"math"
	"slices"

	"thole.example/tree"
)

// oracle grows nothing: it follows a tree that was grown, with the rows as they are and derivatives in float64, and looks at each node for
// the best split in the slow way, by all thresholds and sets. Splits that are as good as each other may come in any order, and so gains
// are compared, and not which split it is.
type oracle struct {
	*Config
	rows   *grid
	levels []int               // of each categorical feature in all rows
	noise  float64             // of first derivatives, for each unit of the second ones
	roots  []map[float32][]int // the rows of the tree by level
	orders [][]float32         // of the levels of each categorical feature by the rows of the tree
	g, h   []float64           // with the weights
	weight []float32           // nil: all are 1
}

// place is a node as the oracle has it.
type place struct {
	rows  []int
	depth int
	in    limits
	l2    float64 // more than L2, of its value
	best  float64 // gain of the best split
}

func newOracle(c *Config, rows *grid) *oracle {
	o := &oracle{Config: c, rows: rows, levels: make([]int, len(rows.features))}
	for f := range rows.features {
		seen := map[float32]bool{}
		for _, row := range rows.rows {
			if v := row[f]; v >= 0 {
				seen[v] = true
			}
		}
		o.levels[f] = len(seen)
	}
	return o
}

func (o *oracle) sum(rows []int) (g, h float64) {
	for _, i := range rows {
		g, h = g+o.g[i], h+o.h[i]
	}
	return g, h
}

// leafValue minimises g w + (h+l2) w^2/2 + l1 |w| by its three cases.
func (o *oracle) leafValue(g, h, more float64, in limits) float64 {
	w := 0.0
	if a := math.Abs(g) - o.L1; a > 0 && h+o.L2+more > 0 {
		w = -math.Copysign(a, g) / (h + o.L2 + more)
	}
	if o.MaxStep > 0 && math.Abs(w) > o.MaxStep {
		w = math.Copysign(o.MaxStep, w)
	}
	return math.Max(in.lo, math.Min(in.hi, w))
}

// lost is by how much a leaf of the value makes the loss smaller, twice.
func (o *oracle) lost(g, h, w, more float64) float64 {
	return -2 * (g*w + (h+o.L2+more)*w*w/2 + o.L1*math.Abs(w))
}

// gain is what dividing the rows wins; -1 if it may not be.
func (o *oracle) gain(p *place, feature int, left, right []int) float64 {
	gl, hl := o.sum(left)
	gr, hr := o.sum(right)
	if hl < o.MinWeight || hr < o.MinWeight || hl <= 0 || hr <= 0 {
		return -1
	}
	more := o.more(feature)
	wl, wr := o.leafValue(gl, hl, more, p.in), o.leafValue(gr, hr, more, p.in)
	if m := o.monotone(feature); float64(m)*(wl-wr) > 0 {
		return -1
	}
	g, h := gl+gr, hl+hr
	return o.lost(gl, hl, wl, more) + o.lost(gr, hr, wr, more) - o.lost(g, h, o.leafValue(g, h, 0, p.in), 0) - o.chance(p, feature)
}

// chance is what the tree's order of levels is expected to win of noise: for each level 2/pi of it, as far as its rows are here.
func (o *oracle) chance(p *place, feature int) (all float64) {
	if o.Order != ByTree || o.levels[feature] <= o.OneHot || !o.rows.features[feature].Categorical {
		return 0
	}
	for v, rows := range o.byValue(p, feature) {
		_, here := o.sum(rows)
		_, whole := o.sum(o.roots[feature][v])
		all += here / whole
	}
	return all * o.noise * 2 / math.Pi
}

// more is what splits by the feature add to l2.
func (o *oracle) more(feature int) float64 {
	if o.rows.features[feature].Categorical && o.levels[feature] > o.OneHot {
		return o.Level2
	}
	return 0
}

func (o *oracle) monotone(feature int) int {
	if o.Monotone == nil {
		return 0
	}
	return int(o.Monotone[feature])
}

// look finds the best gain of all splits of the place.
func (o *oracle) look(p *place) {
	p.best = 0
	for f := range o.rows.features {
		try := func(left func(v float32) bool) {
			var l, r []int
			for _, i := range p.rows {
				if left(o.rows.rows[i][f]) {
					l = append(l, i)
				} else {
					r = append(r, i)
				}
			}
			p.best = max(p.best, o.gain(p, f, l, r))
		}
		switch of := o.byValue(p, f); {
		case !o.rows.features[f].Categorical:
			for v := range of {
				try(func(x float32) bool { return x <= v })
				try(func(x float32) bool { return x <= v || x != x })
			}
		case o.levels[f] <= o.OneHot:
			try(func(x float32) bool { return x >= 0 })
			for v := range of {
				try(func(x float32) bool { return x == v })
			}
		default:
			sets := o.sets
			if o.Order == ByTree {
				sets = func(map[float32][]int) [][]float32 { return o.sides(f) }
			}
			for _, set := range sets(of) {
				try(func(x float32) bool { return slices.Contains(set, x) })
			}
		}
	}
	g, h := o.sum(p.rows)
	if p.best <= max(o.Gamma, 1e-10*math.Abs(o.lost(g, h, o.leafValue(g, h, 0, p.in), 0))) {
		p.best = 0
	}
}

// byValue are the rows that have each value; those that have none are left out.
func (o *oracle) byValue(p *place, f int) map[float32][]int {
	of := map[float32][]int{}
	for _, i := range p.rows {
		if v := o.rows.rows[i][f]; v == v && (v >= 0 || !o.rows.features[f].Categorical) {
			of[v] = append(of[v], i)
		}
	}
	return of
}

// sets are LightGBM's: levels that have rows enough, by their shrunk ratio of derivatives, from both ends.
func (o *oracle) sets(of map[float32][]int) (sets [][]float32) {
	ratio := map[float32]float64{}
	var order []float32
	for v, rows := range of {
		if g, h := o.sum(rows); h >= o.LevelWeight && h > 0 {
			ratio[v], order = g/(h+o.Smooth), append(order, v)
		}
	}
	slices.SortFunc(order, func(a, b float32) int { return cmp.Compare(ratio[a], ratio[b]) })
	for range 2 {
		for k := 1; k <= min(o.MaxLevels, (len(order)+1)/2); k++ {
			sets = append(sets, slices.Clone(order[:k]))
		}
		slices.Reverse(order)
	}
	return sets
}

// arrange puts the levels of features in order by the rows of the tree.
func (o *oracle) arrange(root *place) {
	o.orders, o.roots = make([][]float32, len(o.rows.features)), make([]map[float32][]int, len(o.rows.features))
	_, h := o.sum(root.rows)
	most := 0.0
	for _, i := range root.rows {
		most = max(most, math.Abs(o.g[i]))
	}
	unit := math.Ldexp(1, exponent(most)-15)
	o.noise = 0
	for _, i := range root.rows {
		if o.weight != nil {
			o.noise += o.g[i] * o.g[i] / float64(o.weight[i]) / h
			continue
		}
		o.noise += math.Pow(unit*math.Floor(o.g[i]/unit+0.5), 2) / h
	}
	for f := range o.orders {
		if !o.rows.features[f].Categorical {
			continue
		}
		ratio := map[float32]float64{}
		o.roots[f] = o.byValue(root, f)
		for v, rows := range o.roots[f] {
			g, h := o.sum(rows)
			ratio[v] = g / (h + o.Smooth)
			o.orders[f] = append(o.orders[f], v)
		}
		slices.SortFunc(o.orders[f], func(a, b float32) int { return cmp.Compare(ratio[a], ratio[b]) })
	}
}

// sides are the beginnings and the ends of the tree's order of levels.
func (o *oracle) sides(f int) (sets [][]float32) {
	for k := 1; k <= len(o.orders[f]); k++ {
		sets = append(sets, o.orders[f][:k], o.orders[f][len(o.orders[f])-k:])
	}
	return sets
}

// follow holds a tree of the derivatives to be grown as the settings say.
func (o *oracle) follow(t failer, m *tree.Tree) {
	t.Helper()
	root := &place{in: unlimited}
	for i := range o.rows.rows {
		root.rows = append(root.rows, i)
	}
	o.arrange(root)
	o.look(root)
	open := map[int32]*place{^0: root} // by what the tree calls them in the end: nodes and leaves
	if len(m.Feature) > 0 {
		open = map[int32]*place{0: root}
	}
	const within = 1e-5
	for n := range m.Feature {
		p := open[int32(n)]
		first := o.first(open)
		best := near(m.Gain[n], first.best, within) || !o.bounded() && near(m.Gain[n], p.best, within)
		if p.depth != first.depth && o.Growth == ByDepth || !best {
			t.Fatalf("node %d (depth %d) has the gain %v; best of it %v, of all leaves %v (depth %d)", n, p.depth, m.Gain[n], p.best,
				first.best, first.depth)
		}
		l, r := o.divide(t, m, n, p)
		if g := o.gain(p, int(m.Feature[n]), l.rows, r.rows); !near(g, m.Gain[n], within) {
			t.Fatalf("node %d says that its gain is %v; it is %v", n, m.Gain[n], g)
		}
		o.hold(t, p, m.Value[n], m.Weight[n], m.Count[n])
		delete(open, int32(n))
		open[m.Left[n]], open[m.Right[n]] = l, r
	}
	for at, p := range open {
		o.hold(t, p, m.LeafValue[^at], m.LeafWeight[^at], m.LeafCount[^at])
		if p.best > 0 && m.Leaves() < o.Config.leaves() && p.depth < cmp.Or(o.Depth, 1000) && p.best > max(o.Gamma, 1e-6)*(1+within) {
			t.Fatalf("leaf %d of %d rows was not split, which would have won %v", ^at, len(p.rows), p.best)
		}
	}
}

// bounded says that the order of splits matters.
func (o *oracle) bounded() bool { return o.Leaves > 0 && (o.Depth == 0 || o.Leaves < 1<<o.Depth) }

// first is the leaf that is split next.
func (o *oracle) first(open map[int32]*place) *place {
	var first *place
	for _, p := range open {
		if p.best == 0 || o.Depth > 0 && p.depth >= o.Depth {
			continue
		}
		switch {
		case first == nil, o.Growth == ByDepth && p.depth < first.depth:
			first = p
		case (o.Growth == ByLeaf || p.depth == first.depth) && p.best > first.best:
			first = p
		}
	}
	if first == nil {
		first = &place{}
	}
	return first
}

// divide makes the places of the children of node n.
func (o *oracle) divide(t failer, m *tree.Tree, n int, p *place) (l, r *place) {
	t.Helper()
	f := int(m.Feature[n])
	l, r = &place{depth: p.depth + 1, in: p.in, l2: o.more(f)}, &place{depth: p.depth + 1, in: p.in, l2: o.more(f)}
	missing := 0
	for _, i := range p.rows {
		v := o.rows.rows[i][f]
		if v != v || v < 0 && o.rows.features[f].Categorical {
			missing++
		}
		if m.GoesLeft(n, float64(v)) {
			l.rows = append(l.rows, i)
		} else {
			r.rows = append(r.rows, i)
		}
	}
	gl, hl := o.sum(l.rows)
	gr, hr := o.sum(r.rows)
	if is := m.GoesLeft(n, math.NaN()); missing == 0 && !o.rows.features[f].Categorical && is != (hl > hr) && !near(hl, hr, 1e-6) {
		t.Fatalf("node %d, of which no row lacks the feature, sends those that do left: %v, with %v and %v of its weight", n, is, hl, hr)
	}
	if o.rows.features[f].Categorical && o.levels[f] > o.OneHot && o.Order == ByTree && missing == 0 && hl > hr && !near(hl, hr, 1e-6) {
		t.Fatalf("node %d sends levels that it has not seen right, with %v of its weight, and not left, with %v", n, hr, hl)
	}
	mid := (o.leafValue(gl, hl, l.l2, p.in) + o.leafValue(gr, hr, r.l2, p.in)) / 2
	switch {
	case o.rows.features[f].Categorical:
	case o.monotone(f) > 0:
		l.in.hi, r.in.lo = mid, mid
	case o.monotone(f) < 0:
		l.in.lo, r.in.hi = mid, mid
	}
	o.look(l)
	o.look(r)
	return l, r
}

// hold compares what is said of a node with its rows.
func (o *oracle) hold(t failer, p *place, value, weight float64, count int64) {
	t.Helper()
	g, h := o.sum(p.rows)
	want := o.leafValue(g, h, p.l2, p.in) * o.Rate
	if !near(weight, h, 1e-6) || count != int64(len(p.rows)) || o.Objective.Quantile == nil && !near(value, want, 1e-5) {
		t.Fatalf("a node of %d rows, weight %v and value %v: count %d, weight %v, value %v", len(p.rows), h, want, count, weight, value)
	}
}
