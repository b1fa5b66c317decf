// Package gbdt grows boosted trees by histograms: each tree is a step of Newton's method on what the trees before it left over
// (J. Friedman, Greedy function approximation, 2001; T. Chen and C. Guestrin, XGBoost, KDD 2016).
//
// Values are sorted into bins once (Bin), of one or two bytes. A tree then grows from its root: for the rows of a leaf the
// derivatives of the loss, as whole numbers, are summed up by bin; the bins of a feature, in order, tell the gain of every split
//
//	gain = GL^2/(HL+l2) + GR^2/(HR+l2) - G^2/(H+l2)        leaf = -G/(H+l2) * rate
//
// with G and H the sums of first and second derivatives of the leaf (l1, limits of steps and monotone constraints: Config.value,
// Config.score). Only the smaller child of a split is summed up, the other one is what is left of the parent. As sums of whole numbers
// have no order, the trees are the same to the bit for any number of goroutines, processes and servers.
package gbdt

import (
	"context"
	"math"
	"runtime"
	"slices"

	"thole.example/kernel"
	"thole.example/tree"
)

// Progress is what Train tells of an iteration.
type Progress struct {
	Iteration int            // from 1 on
	Trees     *tree.Ensemble // so far; the counts of rows in new ones are of this worker
	// Scores of this worker's rows that are learned from and of those held out, all of class 0, then those of class 1, and so on.
	Scores, Held [][]float64

	of *trainer
}

// Options are what Train has beside its settings; the zero value is nothing.
type Options struct {
	// Each is called after every iteration. It returns a measure of held-out rows, of which less is better, for Patience, or NaN.
	Each func(p *Progress) (float64, error)
	// From are trees that go before: their scores are in Labels.Start, the new ones are appended to a copy.
	From *tree.Ensemble
	// Grown is what this training had grown before it was interrupted; nil: nothing. It goes on with the next iteration, to the trees that it
	// would have grown without the interruption.
	Grown *Grown
	// Back, which may be nil, is called once what Grown has is there again.
	Back func(p *Progress)
	// Setup is what the rows of all workers decided; nil: all of them are here, and decide it.
	Setup *Setup
	// Workers are those that train together, each with some of the rows (Layout.Code), and Shape the matrix of their histograms. nil:
	// all rows are here.
	Workers Exchange
	Shape   *Shape
	// Vote, with Workers, has them vote for features; nil: they do not, and Shape has to be there.
	Vote *Vote
	// Division is of workers that all have all rows; nil: there is none. There are Workers or a Division, or neither.
	Division *Division
}

// trainer is a training.
type trainer struct {
	grower
	labels  *Labels
	opt     Options
	out     *tree.Ensemble
	setup   *Setup
	before  int         // iterations of trees that others have
	learn   int         // rows
	scores  [][]float64 // of each class, of all rows
	all     [][]grad    // of each class, of the rows that are learned from: float32 until they are rounded
	scales  []scale     // of each class
	spreads []float64   // of each class
	groups  [][2]int    // of the rows that are learned from
	rest    []residual  // of them, if leaves are quantiles
	rate    float64     // of the trees to come
	dropout dropout

	values  []float64 // what Each returned of the iterations of this training
	best    float64   // the least of them
	bestAt  int       // iteration that has it
	counted int       // trees whose counts of rows are those of all workers

	weightScale float64 // by which weights become whole numbers for quantiles
}

// Train grows trees on the rows of b, of which y has the labels, those of rows that are held out last. It ends early, with what there is,
// if Patience says so.
func Train(ctx context.Context, b *Binned, y *Labels, c Config, opt Options) (*tree.Ensemble, error) {
	if c.Cores == 0 {
		c.Cores = runtime.GOMAXPROCS(0)
	}
	if err := c.Check(); err != nil {
		return nil, err
	}
	t := newTrainer(b, y, &c, opt)
	if err := t.begin(); err != nil {
		return nil, err
	}
	if err := t.scaleWeights(ctx); err != nil {
		return nil, err
	}
	if err := t.restore(ctx); err != nil {
		return nil, err
	}
	for len(t.values) < c.Trees && !t.enough() {
		if err := t.iterate(ctx); err != nil {
			return nil, err
		}
		value := math.NaN()
		if opt.Each != nil {
			var err error
			if value, err = opt.Each(t.progress(len(t.values) + 1)); err != nil {
				return nil, err
			}
		}
		t.judge(value)
	}
	if c.Drop.Rate > 0 && t.out.Best > 0 {
		t.keepBest()
	}
	if t.out.Best == t.out.Iterations() {
		t.out.Best = 0
	}
	if err := t.count(ctx); err != nil {
		return nil, err
	}
	return t.out, nil
}

// judge takes the value of an iteration, and finds which one is the best.
func (t *trainer) judge(value float64) {
	if t.values = append(t.values, value); value < t.best {
		t.best, t.bestAt = value, len(t.values)-1
		t.dropout.best = slices.Clone(t.dropout.weights)
	}
	if t.Patience > 0 && !math.IsInf(t.best, 1) {
		t.out.Best = t.dropout.before + t.bestAt + 1
	}
}

// enough reports whether iterations have not become better for as long as Patience says.
func (t *trainer) enough() bool {
	return t.Patience > 0 && !math.IsInf(t.best, 1) && len(t.values)-1-t.bestAt >= t.Patience
}

// count makes the counts of rows of trees that are not counted yet, which are of those that are here, those of the rows of all workers.
func (t *trainer) count(ctx context.Context) error {
	if t.workers == nil {
		return nil
	}
	some := t.out.Trees[min(t.counted, len(t.out.Trees)):]
	var all []int64
	for i := range some {
		all = append(append(all, some[i].Count...), some[i].LeafCount...)
	}
	err := t.sumAll(ctx, all)
	for i := range some {
		for _, of := range [][]int64{some[i].Count, some[i].LeafCount} {
			all = all[copy(of, all):]
		}
	}
	t.counted = len(t.out.Trees)
	return err
}

func newTrainer(b *Binned, y *Labels, c *Config, opt Options) *trainer {
	g := grower{Config: c, binned: b, weights: y.Weight, workers: opt.Workers, shape: opt.Shape, vote: opt.Vote, division: opt.Division,
		part: b.partOf(opt.Division)}
	return &trainer{labels: y, opt: opt, learn: b.learn, best: math.Inf(1), grower: g}
}

// begin checks what it is given, and makes what the iterations share.
func (t *trainer) begin() (err error) {
	c, b := t.Config, t.binned
	if t.setup = t.opt.Setup; t.setup == nil {
		if t.setup, err = NewSetup(b.Layout, t.labels, *c, t.opt.From); err != nil {
			return err
		}
	}
	if err := t.fit(); err != nil {
		return err
	}
	if t.setup.groups {
		for lo, hi := range runsOfGroups(t.labels.Group[:t.learn]) {
			t.groups = append(t.groups, [2]int{lo, hi})
		}
	}
	classes, rows := c.classes(), b.learn+b.held
	t.scores, t.all = make([][]float64, classes), make([][]grad, classes)
	t.out = t.model()
	t.dropout.before, t.counted = t.out.Iterations(), len(t.out.Trees)
	for k := range t.scores {
		t.scores[k] = make([]float64, rows)
		t.all[k] = make([]grad, t.learn)
		if t.labels.Start != nil {
			copy(t.scores[k], t.labels.Start[k*rows:])
			continue
		}
		for i := range t.scores[k] {
			t.scores[k][i] = t.out.Start[k]
		}
	}
	if t.most = math.MaxFloat64; t.out.Numbers == tree.Float32 {
		t.most = math.MaxFloat32
	}
	t.orders = len(c.orderedColumns(b.Layout)) > 0
	t.own, t.finders = make([]histogram, c.Cores), make([]finder, c.Cores)
	for i := range t.finders {
		t.finders[i] = finder{Config: c, layout: b.Layout}
		if i > 0 {
			t.own[i] = make(histogram, b.cells)
		}
	}
	return nil
}

// model is the ensemble before the first new tree.
func (t *trainer) model() *tree.Ensemble {
	c, classes := t.Config, len(t.scores)
	m := &tree.Ensemble{Classes: classes, Group: classes, Numbers: c.Numbers, Features: t.binned.Features, Start: slices.Clone(t.setup.Start),
		Objective: tree.Objective{Name: c.Objective.Name, Link: c.Objective.Link, Set: c.Objective.Settings}}
	if from := t.opt.From; from != nil {
		*m = *from
		m.Trees, m.Best = slices.Clone(from.Scoring()), 0
	}
	if t.before = t.setup.Before - m.Iterations(); c.Monotone != nil {
		changed := map[int]tree.Feature{}
		for k, sign := range c.Monotone {
			if f := m.Features.At(k); f.Monotone != int(sign) {
				f.Monotone = int(sign)
				changed[k] = f
			}
		}
		m.Features.Change(changed) // a copy: others have them, too
	}
	return m
}

// iterate grows a tree for each class.
func (t *trainer) iterate(ctx context.Context) error {
	at := t.before + t.out.Iterations()
	if err := t.dropTrees(ctx); err != nil {
		return err
	}
	if err := t.derive(ctx); err != nil {
		return err
	}
	for k := range t.scores {
		if err := t.draw(ctx, at*len(t.scores)+k); err != nil {
			return err
		}
		t.grads, t.scale, t.spread, t.rare = t.all[k], t.scales[k], t.spreads[k], t.setup.rareOf(k)
		for i := range t.finders {
			t.finders[i].scale = t.scale
		}
		if err := t.grow(ctx); err != nil {
			return err
		}
		if q := t.Objective.Quantile; q != nil {
			if err := t.leafQuantiles(ctx, t.scores[k], q(&t.Objective)); err != nil {
				return err
			}
		}
		if err := t.settle(ctx, k); err != nil {
			return err
		}
		t.tree.Class = k
		t.out.Trees = append(t.out.Trees, t.tree)
	}
	t.restoreTrees()
	return nil
}

// draw chooses the rows and the features of the tree of the number.
func (t *trainer) draw(ctx context.Context, number int) error {
	seed := kernel.Hash(t.Seed+0x7ee5) + uint64(number)
	if t.rows == nil {
		t.rows, t.others = make([]uint32, 0, t.learn), make([]uint32, 0, len(t.labels.Label)-t.learn)
	}
	t.rows, t.others = t.rows[:0], t.others[:0]
	if byRow := kernel.Hash(seed); t.Rows == 0 || t.Rows >= 1 { // all, which all processors number
		t.rows = t.rows[:t.learn]
		err := each(ctx, t.Cores, spans(t.learn), func(_, at int) error {
			for i := at * blockRows; i < min((at+1)*blockRows, t.learn); i++ {
				t.rows[i] = uint32(i)
			}
			return nil
		})
		if err != nil {
			return err
		}
	} else {
		for i := range t.learn {
			if drawn(byRow, uint64(t.binned.first+i), t.Rows) {
				t.rows = append(t.rows, uint32(i))
			} else {
				t.others = append(t.others, uint32(i))
			}
		}
	}
	for i := t.learn; i < len(t.labels.Label); i++ {
		t.others = append(t.others, uint32(i))
	}
	if t.spare == nil {
		t.spare = make([]uint32, len(t.labels.Label))
	}
	t.columns = t.columns[:0]
	for i := range t.binned.columns {
		c := &t.binned.columns[i]
		if c.group >= t.part.from && c.group < t.part.to && drawn(kernel.Hash(seed+1<<32), uint64(c.feature), t.Columns) {
			t.columns = append(t.columns, i)
		}
	}
	return nil
}

// settle gives the leaves their values at the rate, and the rows those of their leaves.
func (t *trainer) settle(ctx context.Context, k int) error {
	scores := t.scores[k]
	for i := range t.tree.Value {
		t.tree.Value[i] *= t.rate
	}
	for i := range t.tree.LeafValue {
		t.tree.LeafValue[i] *= t.rate
	}
	// The rows of a leaf ascend. Each block of scores is written by one goroutine, as no two of them should write to one line of the cache.
	return each(ctx, t.Cores, (len(scores)+settled-1)/settled, func(_, at int) error {
		lo, hi := uint32(at*settled), uint32(min((at+1)*settled, len(scores)))
		for i, v := range t.tree.LeafValue {
			l := &t.leaves[i]
			for _, r := range between(t.rows[l.lo:l.hi], lo, hi) {
				scores[r] += v
			}
			for _, r := range between(t.others[l.from:l.to], lo, hi) {
				scores[r] += v
			}
		}
		return nil
	})
}

// settled is how many scores are written at a time: they stay in the second cache.
const settled = 1 << 16

// between are those of ascending rows that are at least lo and below hi.
func between(rows []uint32, lo, hi uint32) []uint32 {
	from, _ := slices.BinarySearch(rows, lo)
	to, _ := slices.BinarySearch(rows[from:], hi)
	return rows[from:][:to]
}

func (t *trainer) progress(iteration int) *Progress {
	p := &Progress{Iteration: iteration, Trees: t.out, of: t}
	for _, s := range t.scores {
		p.Scores, p.Held = append(p.Scores, s[:t.learn]), append(p.Held, s[t.learn:])
	}
	return p
}
