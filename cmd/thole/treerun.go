package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"thole.example/boosting"
	"thole.example/data"
	"thole.example/gbdt"
	"thole.example/ps"
	"thole.example/train"
	"thole.example/tree"
)

// shownRows is about how many examples the loss that is shown while trees are grown is of.
const shownRows = 1 << 15

// treeRun is the training of trees by one task: what is shown of it and measured while it goes on, and the report at its end.
type treeRun struct {
	p       *plan
	w       *watcher          // may be nil
	own     *data.Examples    // whose scores are here: their labels, weights and groups
	shown   []int             // those whose loss is shown; nil: all
	workers *boosting.Workers // nil: there are no others
	task    int
	report  train.Report
	race    float64 // best value of held-out examples
	last    *gbdt.Progress
	start   time.Time
	series  *treeSeries // checkpoints that the task writes; nil: none
	grown   *gbdt.Grown // to go on from; nil: nothing
	orders  *treeOrders // of checkpoints, which task 0 hears; nil: it is another
	client  *ps.Client  // whose clock says how many trees there are, for those who order checkpoints; nil: nobody does by servers
}

// newTreeRun is the training by a task that has so many examples to learn from, of which the first labels are.
func (p *plan) newTreeRun(y *gbdt.Labels, n int, w *watcher) *treeRun {
	if w != nil {
		w.bar.restart() // it is there since the bins were found
	}
	own := marksOf(y, n)
	return &treeRun{p: p, w: w, own: own, shown: p.shownOf(own), race: math.Inf(1), start: time.Now()}
}

// options are those of the training.
func (g *treeRun) options(ctx context.Context) gbdt.Options {
	return gbdt.Options{From: g.p.forest.from, Grown: g.grown, Back: g.back,
		Each: func(now *gbdt.Progress) (float64, error) { return g.each(ctx, now) }}
}

// goOn has the training go on from a checkpoint; nil: from nothing.
func (g *treeRun) goOn(from *treeCheckpoint) {
	if from != nil {
		g.grown, g.report.Losses = from.grown, gbdt.FromNumbers(from.Losses)
	}
}

// back tells of the iterations that were made before, which are there again.
func (g *treeRun) back(now *gbdt.Progress) {
	g.report.Epochs, g.last = now.Iteration, now
	for i, value := range g.grown.Values {
		if value < g.race {
			g.race, g.report.Best = value, i+1
		}
	}
	if g.w != nil {
		if g.w.best = g.race; g.p.largest() {
			g.w.best = -g.race
		}
	}
	g.start = time.Now()
}

// before is how many iterations were made before.
func (g *treeRun) before() int {
	if g.grown == nil {
		return 0
	}
	return len(g.grown.Values)
}

// each tells of an iteration.
func (g *treeRun) each(ctx context.Context, now *gbdt.Progress) (float64, error) {
	p, value, loss, weight := g.p, math.NaN(), 0.0, 0.0
	g.report.Epochs, g.last = now.Iteration, now
	var held train.Metrics
	var err error
	if p.valid != nil && g.task == 0 && (p.patience > 0 || len(p.metrics) > 0) {
		if held, value, err = g.measure(now); err != nil {
			return value, err
		}
	}
	if g.task == 0 || p.shared != byFeatures { // where all have the same examples
		if shown := p.some(now.Scores, g.own, g.shown); len(shown.Label) > 0 {
			if loss, weight, err = shown.WeighedLoss(); err != nil {
				return value, err
			}
		}
	}
	if g.client != nil {
		if err = g.client.OwnClock(ctx); err != nil {
			return value, err
		}
	}
	asked, err := g.orders.hear(ctx)
	if err != nil {
		return value, err
	}
	keep := g.series.due(now.Iteration, g.isLast(now.Iteration, value)) || asked
	if g.workers != nil {
		if loss, value, keep, err = g.agree(ctx, loss, weight, value, keep); err != nil {
			return value, err
		}
	}
	if value < g.race {
		g.race, g.report.Best = value, now.Iteration
	}
	g.report.Losses = append(g.report.Losses, loss)
	if keep {
		grown, err := now.Grown(ctx, value)
		if err != nil {
			return value, err
		}
		if g.series != nil {
			g.series.write(ctx, grown, g.report.Losses)
		}
		if asked {
			g.series.say("%s was asked for, as somebody ends", g.series.last)
			if err := g.orders.answer(ctx, g.series.last, g.series.wait()); err != nil {
				return value, err
			}
		}
	}
	g.tell(now, loss, held)
	return value, nil
}

// isLast reports whether no iteration comes after the one of the value.
func (g *treeRun) isLast(iteration int, value float64) bool {
	best := g.report.Best
	if value < g.race {
		best = iteration
	}
	return iteration == g.p.forest.Trees || g.p.patience > 0 && best > 0 && iteration-best >= g.p.patience
}

// tell tells who watches of an iteration; of held-out examples it has the metrics.
func (g *treeRun) tell(now *gbdt.Progress, loss float64, held train.Metrics) {
	if g.w == nil {
		return
	}
	n, made, rows := g.p.forest.Trees, now.Iteration-g.before(), int64(g.p.rows)
	passed := time.Since(g.start)
	g.w.event(train.Event{Epoch: now.Iteration, Epochs: n, Rows: int64(now.Iteration) * rows,
		Total: int64(n) * rows, Loss: loss, Done: true, Last: now.Iteration == n,
		RowsPerSecond: float64(made) * float64(rows) / passed.Seconds(),
		Left:          passed / time.Duration(made) * time.Duration(n-now.Iteration), Valid: held, Best: g.report.Best})
}

// measure measures the held-out examples, of several sets the first one, and gives the value of which less is better.
func (g *treeRun) measure(now *gbdt.Progress) (m train.Metrics, value float64, err error) {
	p := g.p
	s := p.scored(now.Held, p.valid, 0, p.heldSets()[0].Rows)
	if p.by == "" && len(p.metrics) == 0 { // others cost more than a tree
		loss, err := s.MeanLoss()
		if err != nil {
			return nil, 0, err
		}
		m = train.Metrics{{Name: p.compares.Name(), Value: loss}}
	} else if m, err = train.Measure(s, p.more()...); err != nil {
		return nil, 0, err
	}
	if p.patience == 0 {
		return m, math.NaN(), nil
	}
	if value = m[0].Value; p.by != "" {
		value = m.Get(p.by)
	}
	if math.IsNaN(value) {
		return nil, 0, fmt.Errorf("%s of the held-out examples is not a number, want another --early-stop-metric", cmp.Or(p.by, m[0].Name))
	}
	if p.largest() {
		value = -value
	}
	return m, value, nil
}

// largest reports whether the largest value of held-out examples is the best.
func (p *plan) largest() bool { return p.mode == "max" || p.mode == "" && train.Larger(p.by) }

// more are the metrics that the user asks for beside the usual ones.
func (p *plan) more() []string {
	if p.by == "" || p.by == p.compares.Name() {
		return p.metrics
	}
	return append(slices.Clone(p.metrics), p.by)
}

// heldSets are the sets of held-out examples.
func (p *plan) heldSets() []train.HeldOut {
	if len(p.sets) > 0 {
		return p.sets
	}
	return []train.HeldOut{{Rows: p.valid.Len()}}
}

// count counts what was done.
func (g *treeRun) count() {
	p, r := g.p, &g.report
	r.Rows, r.Stopped = int64(p.rows), r.Epochs < p.forest.Trees
	if f := p.forest; f.from != nil {
		r.Before = f.from.Iterations()
	}
}

// lastScore reports whether the trees score as they did after the last iteration: all of them score, and with the weights that they had.
func (g *treeRun) lastScore(e *tree.Ensemble) bool { return e.Best == 0 && g.p.forest.Drop.Rate == 0 }

// finish measures the trees that were kept, of which all training examples have the scores learned, if the last ones are theirs.
func (g *treeRun) finish(e *tree.Ensemble, learned [][]float64) (_ *train.Report, err error) {
	p, r := g.p, &g.report
	g.count()
	held := g.last.Held
	if !g.lastScore(e) {
		if learned, err = p.scoresOf(e, p.train); err != nil {
			return nil, err
		}
		if p.valid != nil {
			if held, err = p.scoresOf(e, p.valid); err != nil {
				return nil, err
			}
		}
	}
	if r.Train, err = train.Measure(p.scored(learned, p.train, 0, p.rows), p.more()...); err != nil {
		return nil, err
	}
	r.Ratio = p.scored(learned, p.train, 0, p.rows).Ratio()
	null := p.scored(nil, p.train, 0, p.rows)
	if null.Score = p.train.Start; null.Score == nil {
		null.Score = slices.Repeat(e.Start, p.rows)
	}
	if r.Null, err = null.MeanLoss(); err != nil || p.valid == nil {
		return r, err
	}
	from := 0
	for i, set := range p.heldSets() {
		m, err := train.Measure(p.scored(held, p.valid, from, from+set.Rows), p.more()...)
		if err != nil {
			return nil, err
		}
		if from += set.Rows; i == 0 {
			r.Valid = m
		} else {
			r.Others = append(r.Others, train.Other{Name: set.Name, Metrics: m})
		}
	}
	return r, nil
}

// scored are scores of class after class, of the examples lo to hi, as metrics have them: example after example.
func (p *plan) scored(scores [][]float64, of *data.Examples, lo, hi int) *train.Scored {
	s := &train.Scored{Loss: p.compares, Label: of.Label[lo:hi]}
	if of.Weight != nil {
		s.Weight = of.Weight[lo:hi]
	}
	if of.Group != nil {
		s.Group = of.Group[lo:hi]
	}
	if len(scores) == 1 {
		s.Score = scores[0][lo:hi]
		return s
	}
	for i := lo; i < hi; i++ {
		for _, class := range scores {
			s.Score = append(s.Score, class[i])
		}
	}
	return s
}

// some are those of some examples; nil: of all.
func (p *plan) some(scores [][]float64, of *data.Examples, rows []int) *train.Scored {
	if rows == nil {
		return p.scored(scores, of, 0, of.Len())
	}
	s := &train.Scored{Loss: p.compares}
	for _, i := range rows {
		for _, class := range scores {
			s.Score = append(s.Score, class[i])
		}
		if s.Label = append(s.Label, of.Label[i]); of.Weight != nil {
			s.Weight = append(s.Weight, of.Weight[i])
		}
		if of.Group != nil {
			s.Group = append(s.Group, of.Group[i])
		}
	}
	return s
}

// scoredRows is how many examples are scored at a time.
const scoredRows = 1 << 14

// scoresOf are the scores of examples by trees, as a prediction has them, class after class, onto their start scores if they have some.
func (p *plan) scoresOf(e *tree.Ensemble, of *data.Examples) ([][]float64, error) {
	s, err := newTreeScorer(p.forest.view, e, byTrees{})
	if err != nil {
		return nil, err
	}
	if of.Start != nil {
		s.onto()
	}
	out := make([][]float64, e.Classes)
	for lo := 0; lo < of.Len(); lo += scoredRows {
		some, err := s.score(of.Slice(lo, min(of.Len(), lo+scoredRows)))
		if err != nil {
			return nil, err
		}
		for k, class := range byClass(some.score, e.Classes) {
			out[k] = append(out[k], class...)
		}
	}
	return out, nil
}

// byClass are scores class after class, of those example after example.
func byClass(scores []float64, classes int) [][]float64 {
	out := make([][]float64, classes)
	for k := range out {
		out[k] = make([]float64, len(scores)/classes)
		for i := range out[k] {
			out[k][i] = scores[i*classes+k]
		}
	}
	return out
}
