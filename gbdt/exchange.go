package gbdt

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"thole.example/kernel"
)

// Exchange is what the workers of a training do together, each of which has some of the rows. All of them call the same methods in the
// same order, and the answers are the same for all, to the bit; so they grow the same trees.
type Exchange interface {
	// Most makes each value the largest one that a worker has there. They are from 0 on, or NaN, which counts as the largest.
	Most(ctx context.Context, v []float32) error
	// Sum makes each value the sum of those of all workers.
	Sum(ctx context.Context, v []int64) error
	// Splits adds up the histograms of the query, has the splits searched for, and gives the answers of all blocks to Query.Take.
	Splits(ctx context.Context, q *Query) error
}

// Query is a search for the best splits of some nodes of a tree, by a matrix of the Shape.
type Query struct {
	Fresh []int64 // rows of the matrix, ascending, that become the sum of Sums over all workers
	Sums  []int64 // of the rows of this worker: one block of Shape after the other, in each Shape.Block cells for each of Fresh
	Nodes int64   // the answers are in that many rows of each block, from row 0 on: in its first Shape.Answer columns
	Depth int     // of the nodes in the tree
	Args  []byte  // of the function that searches, SplitName
	shape *Shape
	sums  []sum // of the nodes
	found []split
}

// asked is a node in the argument of the function.
type asked struct {
	Row  int64    `json:"row"`            // of its histogram
	Less *int64   `json:"less,omitempty"` // that row is to be taken off first
	G    int64    `json:"g"`              // derivatives of its rows
	H    int64    `json:"h"`
	Low  *float64 `json:"low,omitempty"` // limits of the values of its leaves
	High *float64 `json:"high,omitempty"`
}

// root is what the root of a tree tells its nodes, where levels are put in order by it.
type root struct {
	asked
	Noise float64 `json:"noise"`
}

// query is the argument of the function.
type query struct {
	Nodes   []asked    `json:"nodes"`
	Scale   [2]float64 `json:"scale"`             // of first and second derivatives
	Child   float64    `json:"child,omitempty"`   // least weight of a side of a split, if not that of the matrix
	Columns *[]int     `json:"columns,omitempty"` // that may be asked for, ascending; nil: all
	Root    *root      `json:"root,omitempty"`    // of the tree; nil: it puts no levels in order
}

// queryBytes is about how much of histograms goes to the servers at a time, at least that of one leaf.
const queryBytes = 64 << 20

// measureAll is measure with other workers.
func (g *grower) measureAll(ctx context.Context, build, siblings []int) error {
	most := max(1, queryBytes/8/int(g.shape.Cols))
	for lo := 0; lo < len(build); lo += most {
		hi := min(lo+most, len(build))
		if err := g.ask(ctx, build[lo:hi], siblings[min(lo, len(siblings)):min(hi, len(siblings))]); err != nil {
			return err
		}
	}
	return nil
}

// ask finds the best splits of leaves by the sums of all workers: build has those whose histograms were made of the rows, siblings those
// whose are what is left of the parents'.
func (g *grower) ask(ctx context.Context, build, siblings []int) error {
	s, text := g.shape, query{Scale: [2]float64{g.scale.g, g.scale.h}}
	if g.child != g.MinWeight {
		text.Child = g.child
	}
	if len(g.columns) < len(g.binned.columns) {
		text.Columns = &g.columns
	}
	q := &Query{shape: s, Depth: g.leaves[build[0]].depth}
	if err := g.sumUpAll(ctx, build); err != nil {
		return err
	}
	q.Sums = kernel.Flat(g.sums)
	slices.SortFunc(g.slots, func(a, b int) int { return b - a }) // the first that is free is taken first
	all := slices.Concat(build, siblings)
	for i, at := range all {
		l := &g.leaves[at]
		n := asked{G: l.sum.G, H: l.sum.H}
		if i < len(build) {
			l.slot = g.slot()
			q.Fresh = append(q.Fresh, int64(l.slot-1))
		} else {
			less := int64(g.leaves[build[i-len(build)]].slot - 1)
			n.Less = &less
		}
		if n.Row = int64(l.slot - 1); !math.IsInf(l.in.lo, 0) {
			n.Low = &l.in.lo
		}
		if !math.IsInf(l.in.hi, 0) {
			n.High = &l.in.hi
		}
		text.Nodes, q.sums = append(text.Nodes, n), append(q.sums, l.sum)
	}
	if s.ordered {
		if root := &g.leaves[build[0]]; root.parent < 0 { // once more, as its row becomes that of a child
			var twice []int64
			for block := range slices.Chunk(q.Sums, int(s.Block)) {
				twice = append(append(twice, block...), block...)
			}
			q.Fresh, q.Sums = append(q.Fresh, s.Rows-1), twice
			g.root.asked = asked{Row: s.Rows - 1, G: root.sum.G, H: root.sum.H}
		}
		text.Root = &g.root
	}
	q.Nodes, q.found = int64(len(all)), make([]split, len(all))
	var err error
	if q.Args, err = json.Marshal(text); err != nil {
		return err
	}
	if err := g.workers.Splits(ctx, q); err != nil {
		return err
	}
	g.decide(all, q.found)
	return nil
}

// sumUpAll makes the histograms of leaves of the rows that are here as Query.Sums has them.
func (g *grower) sumUpAll(ctx context.Context, build []int) error {
	n, half := len(build), int(g.shape.Block/2)
	g.sums = slices.Grow(g.sums[:0], n*int(g.shape.Cols/2))[:n*int(g.shape.Cols/2)]
	clear(g.sums)
	return g.sumUp(ctx, build, sums{
		of:   func(i int) histogram { return g.sums[i*half:] },
		part: g.shape.part(g.binned, n),
		join: func(to, own histogram) { g.shape.join(to, own, n) },
	})
}

// slot is a row of the matrix that no leaf has, counted from 1.
func (g *grower) slot() int {
	if n := len(g.slots); n > 0 {
		s := g.slots[n-1]
		g.slots = g.slots[:n-1]
		return s
	}
	g.slotted++
	return g.slotted
}

// release gives up the histogram of a leaf, wherever it is.
func (g *grower) release(l *leaf) {
	if l.hist != nil {
		g.free = append(g.free, l.hist)
	}
	if l.slot > 0 {
		g.slots = append(g.slots, l.slot)
	}
	l.hist, l.slot = nil, 0
}

// sumAll makes sums over the rows of this worker those over all rows.
func (g *grower) sumAll(ctx context.Context, v []int64) error {
	if g.workers == nil {
		return nil
	}
	return g.workers.Sum(ctx, v)
}

// Take takes the answers of one block, Shape.Answer cells for each node.
func (q *Query) Take(cells []int64) error {
	n := int(q.shape.Answer)
	if len(cells) != n*len(q.found) {
		return fmt.Errorf("%d cells of answers, want %d for each of %d nodes", len(cells), n, len(q.found))
	}
	for i := range q.found {
		s, err := q.shape.layout.split(cells[i*n:(i+1)*n], q.sums[i])
		if err != nil {
			return fmt.Errorf("the answer for node %d of %d: %w", i, len(q.found), err)
		}
		if s.better(&q.found[i]) {
			q.found[i] = s
		}
	}
	return nil
}

// Shard is which of the rows one of so many tasks has: about as many as any other, and whole groups, whose rows lie together, if there
// are groups.
func Shard(group []int64, rows, tasks, task int) (lo, hi int) {
	at := func(task int) int {
		i := int(int64(rows) * int64(task) / int64(tasks))
		for len(group) > 0 && i > 0 && i < rows && group[i] == group[i-1] {
			i++
		}
		return i
	}
	return at(task), at(task + 1)
}
