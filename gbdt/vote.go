package gbdt

import (
	"cmp"
	"context"
	"slices"
)

// Vote is how workers that have some rows each spare most of the histograms: each names the features that split its own rows of a node
// best, and only those with the most votes, twice as many as each names, are summed up over all workers (Q. Meng et al., A
// communication-efficient parallel algorithm for decision tree, NIPS 2016). The best feature may be missed, so trees depend on how the
// rows are shared; they are the same for any number of servers.
type Vote struct {
	Features int // that each names
	Tasks    int
	// Agree is as Division has it. Add makes each value the sum of those of all workers, for nodes of a depth.
	Agree func(ctx context.Context, depth, nodes int, v []int64) ([][]int64, error)
	Add   func(ctx context.Context, depth int, v []int64) error
}

// elect finds the best splits of leaves, whose histograms are of the worker's own rows, by the features that the workers vote for.
func (g *grower) elect(ctx context.Context, leaves []int) error {
	k := g.vote.Features
	named := make([]int64, k*len(leaves)) // columns, counted from 1; 0: none
	err := each(ctx, g.Cores, len(leaves), func(worker, i int) error {
		g.name(worker, &g.leaves[leaves[i]], named[i*k:(i+1)*k])
		return nil
	})
	if err != nil {
		return err
	}
	depth := g.leaves[leaves[0]].depth
	all, err := g.vote.Agree(ctx, depth, len(leaves), named)
	if err != nil {
		return err
	}
	chosen, places, sums := make([][]int, len(leaves)), make([]int, len(leaves)), []int64(nil)
	var bins []sum
	for i, at := range leaves {
		l := &g.leaves[at]
		chosen[i], places[i] = g.elected(all, i*k), len(sums)
		own := g.binned.rowSum(l.hist)
		for _, at := range chosen[i] {
			c := &g.binned.columns[at]
			bins = slices.Grow(bins[:0], c.all())[:c.all()]
			for _, s := range l.hist.column(g.binned.Layout, c, own, bins) {
				sums = append(sums, s.G, s.H)
			}
		}
	}
	if err := g.vote.Add(ctx, depth, sums); err != nil {
		return err
	}
	best := make([]split, len(leaves))
	err = each(ctx, g.Cores, len(leaves), func(worker, i int) error {
		l, rest := &g.leaves[leaves[i]], sums[places[i]:]
		for _, at := range chosen[i] {
			bins := make([]sum, g.binned.columns[at].all())
			for k := range bins {
				bins[k] = sum{G: rest[2*k], H: rest[2*k+1]}
			}
			rest = rest[2*len(bins):]
			if s := g.finders[worker].best(at, bins, l.sum, l.in); s.better(&best[i]) {
				best[i] = s
			}
		}
		return nil
	})
	if err == nil {
		g.decide(leaves, best)
	}
	return err
}

// name names the columns that split the worker's own rows of a leaf best.
func (g *grower) name(worker int, l *leaf, to []int64) {
	own := *g.Config // the worker has a share of the weight that a split wants
	own.LevelWeight, own.Gamma = own.LevelWeight/float64(g.vote.Tasks), 0
	f := g.finders[worker]
	f.Config, f.child = &own, f.child/float64(g.vote.Tasks)
	var found []split
	total := g.binned.rowSum(l.hist)
	for _, at := range g.columns {
		if s := f.column(at, l.hist, total, l.in); s.gain > 0 {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b split) int { return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(a.column, b.column)) })
	for i := range to {
		if i < len(found) {
			to[i] = int64(found[i].column) + 1
		}
	}
}

// elected are the columns with the most votes for a leaf, ascending; of several with as many the first. The votes begin at a place of
// what each worker named.
func (g *grower) elected(all [][]int64, from int) []int {
	votes := map[int]int{}
	for _, of := range all {
		for _, at := range of[from : from+g.vote.Features] {
			if at > 0 && at <= int64(len(g.binned.columns)) {
				votes[int(at)-1]++
			}
		}
	}
	columns := make([]int, 0, len(votes))
	for at := range votes {
		columns = append(columns, at)
	}
	slices.SortFunc(columns, func(a, b int) int { return cmp.Or(votes[b]-votes[a], a-b) })
	columns = columns[:min(len(columns), 2*g.vote.Features)]
	slices.Sort(columns)
	return columns
}

// rowSum is the sum over all rows of a histogram: each has one code in a group.
func (l *Layout) rowSum(h histogram) (t sum) {
	if len(l.groups) == 0 {
		return t
	}
	first := &l.groups[0]
	for _, s := range h[first.cell:][:first.codes] {
		t.Add(s)
	}
	return t
}
