package gbdt

import (
	"context"
	"slices"

	"thole.example/kernel"
)

// Sums are of whole numbers: a derivative times a power of two, rounded. They have no order, so that any number of goroutines,
// processes and servers comes to the same one, and the histogram of a node less that of one child is exactly that of the other.

type (
	grad = kernel.Gradient
	sum  = kernel.GradientSum
)

// histogram is a sum for each cell of the groups.
type histogram []sum

// total is the sum over the rows.
func total(rows []uint32, grads []grad) (s sum) {
	for _, r := range rows {
		s.G += int64(grads[r].G)
		s.H += int64(grads[r].H)
	}
	return s
}

// subtract takes child from parent, cell by cell: what is left is of the other child.
func (parent histogram) subtract(child histogram) {
	for i, c := range child[:len(parent)] {
		parent[i].G -= c.G
		parent[i].H -= c.H
	}
}

// join adds the cells of another histogram.
func (h histogram) join(other histogram) {
	for i, c := range other[:len(h)] {
		h[i].G += c.G
		h[i].H += c.H
	}
}

// column writes the sums of the bins of a column, in their order, into to: what is missing comes last, if it has a bin.
func (h histogram) column(b *Layout, c *column, total sum, to []sum) []sum {
	to = to[:c.all()]
	at := b.groups[c.group].cell
	if c.alone {
		copy(to, h[at:])
		return to
	}
	cells, rest := h[at+c.first:][:len(to)-1], total
	for _, s := range cells {
		rest = rest.Minus(s)
	}
	copy(to, cells[:c.usual])
	to[c.usual] = rest
	copy(to[c.usual+1:], cells[c.usual:])
	return to
}

// measure makes the histograms of some leaves of their rows, those of the siblings of the first of them by subtraction from that of their
// parent, which the siblings hold, and finds the best splits of all: of no more at a time than leaves hold.
func (g *grower) measure(ctx context.Context, build, siblings []int) error {
	if g.workers != nil && g.vote == nil {
		return g.measureAll(ctx, build, siblings)
	}
	for len(build) > 0 {
		some := build[:min(len(build), g.binned.histogramLimit)]
		others := siblings[:min(len(siblings), len(some))]
		if err := g.measureHere(ctx, some, others); err != nil {
			return err
		}
		build, siblings = build[len(some):], siblings[len(others):]
	}
	return nil
}

// measureHere is measure of the rows that are here.
func (g *grower) measureHere(ctx context.Context, build, siblings []int) error {
	for _, at := range build {
		g.leaves[at].hist = g.histogram()
	}
	here := sums{of: func(i int) histogram { return g.leaves[build[i]].hist }, part: &g.part, join: histogram.join}
	if err := g.sumUp(ctx, build, here); err != nil {
		return err
	}
	err := each(ctx, worth(g.Cores, len(siblings)*(g.part.hi-g.part.lo)), len(siblings), func(_, i int) error {
		lo, hi := g.part.lo, g.part.hi
		g.leaves[siblings[i]].hist[lo:hi].subtract(g.leaves[build[i]].hist[lo:hi])
		return nil
	})
	if err != nil {
		return err
	}
	if root := &g.leaves[build[0]]; root.parent < 0 {
		if err := g.arrange(ctx, root); err != nil {
			return err
		}
	}
	if g.vote != nil {
		return g.elect(ctx, slices.Concat(build, siblings))
	}
	return g.search(ctx, slices.Concat(build, siblings))
}

// histogram is an empty one.
func (g *grower) histogram() histogram {
	if n := len(g.free); n > 0 {
		h := g.free[n-1]
		g.free = g.free[:n-1]
		clear(h[g.part.lo:g.part.hi])
		return h
	}
	return make(histogram, g.binned.cells)
}

// A goroutine is worth chunk rows of a leaf, and takes batch of them at a time to be summed up, so that none waits long for the others.
const (
	chunk = 1 << 14
	batch = 1 << 12
)

// sums is where the histograms of some leaves are summed up.
type sums struct {
	of   func(i int) histogram // that of leaf i, which is empty
	part *part                 // whose cells are as they are there
	join func(to, own histogram)
}

// shared reports whether goroutines share so many rows of a leaf.
func (g *grower) shared(rows int) bool { return g.Cores > 1 && rows >= 2*chunk }

// sumUp makes the histograms of leaves of their rows.
func (g *grower) sumUp(ctx context.Context, build []int, to sums) error {
	for i, at := range build {
		h, rows := to.of(i), g.rows[g.leaves[at].lo:g.leaves[at].hi]
		if !g.shared(len(rows)) {
			continue
		}
		batches, used := len(rows)/batch, make([]bool, g.Cores)
		err := each(ctx, g.Cores, batches, func(worker, k int) error {
			some := rows[len(rows)*k/batches : len(rows)*(k+1)/batches]
			if worker == 0 {
				to.part.add(h, some, g.grads)
				return nil
			}
			own := g.own[worker]
			if !used[worker] {
				clear(own)
				used[worker] = true
			}
			g.part.add(own, some, g.grads)
			return nil
		})
		if err != nil {
			return err
		}
		for worker, is := range used {
			if is {
				to.join(h, g.own[worker])
			}
		}
	}
	return each(ctx, g.Cores, len(build), func(_, i int) error {
		if l := &g.leaves[build[i]]; !g.shared(l.hi - l.lo) {
			to.part.add(to.of(i), g.rows[l.lo:l.hi], g.grads)
		}
		return nil
	})
}

// total is the sum over all rows, and that of the squares of first derivatives where levels are put in order.
func (g *grower) total(ctx context.Context) (all sum, spread int64) {
	sums, spreads := make([]sum, g.Cores), make([]int64, g.Cores)
	each(ctx, g.Cores, len(sums), func(_, i int) error {
		rows := g.rows[len(g.rows)*i/len(sums) : len(g.rows)*(i+1)/len(sums)]
		if sums[i] = total(rows, g.grads); g.orders {
			spreads[i] = g.squares(rows)
		}
		return nil
	})
	for i, s := range sums {
		all.Add(s)
		spread += spreads[i]
	}
	return all, spread
}
