package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/boosting"
	"thole.example/data"
	"thole.example/feature"
	"thole.example/format"
	"thole.example/gbdt"
	"thole.example/train"
	"thole.example/tree"
)

// settleTrees chooses what depends on the training examples, which are there, and reads those of --validate, unless they are, too.
func (p *plan) settleTrees(ctx context.Context, e *env, o data.Options) (err error) {
	p.sayClasses(e)
	p.countClasses()
	p.conf.Dim = p.train.Dim()
	p.digest, p.rows = p.train.Checksum(), p.train.Len()
	p.forest.Classes = p.conf.Classes
	if err := p.compare(max(2, p.conf.Classes)); err != nil {
		return err
	}
	if p.train.Transform != nil {
		if p.forest.view, err = gbdt.NewView(p.train.Transform); err != nil {
			return err
		}
	} else {
		if p.conf.Dim > tree.FeatureLimit {
			return fmt.Errorf("%s: columns up to %d, want at most %d with trees", strings.Join(p.data, ", "), p.conf.Dim-1, tree.FeatureLimit)
		}
		p.forest.view = gbdt.NewColumns(int(p.conf.Dim), 0)
	}
	if err := p.constrain(p.forest.view.Features()); err != nil {
		return err
	}
	if err := p.goOn(); err != nil {
		return err
	}
	if err := p.readHoldout(ctx, e, o, nil); err != nil {
		return err
	}
	if p.recipe.Task == algo.Ranking && p.valid != nil {
		if err := p.grouped(p.valid, p.job.valid); err != nil {
			return err
		}
	}
	if p.settings == nil {
		return nil
	}
	p.settings, err = p.resolved()
	return err
}

// goOn checks that the trees of --load ask for the features that the examples have.
func (p *plan) goOn() error {
	m := p.before
	if m == nil {
		return nil
	}
	have := p.forest.view.Features()
	if n := len(m.trees.Features); n != len(have) {
		if p.train.Transform != nil || n < len(have) {
			return fmt.Errorf("--load %s asks for %d features, and the examples have %d", p.load, n, len(have))
		}
		p.forest.view = gbdt.NewColumns(n, 0) // the last columns do not occur
	}
	if c := max(1, m.trees.Classes); p.recipe.Task == algo.Multiclass && c != p.conf.Classes {
		return fmt.Errorf("--load %s has %d classes, and the examples have %d", p.load, c, p.conf.Classes)
	}
	p.forest.from = m.trees
	return nil
}

// shownRows is about how many examples the loss that is shown while trees are grown is of: every k-th one.
const shownRows = 1 << 15

// planted is what trees grow on: the same for all tasks.
type planted struct {
	learn, held gbdt.Rows    // held may be nil
	labels      *gbdt.Labels // of all examples, the held-out ones last
	layout      *gbdt.Layout
}

// grown is trees in the making, as those see them who watch.
type grown struct {
	*planted
	p       *plan
	w       *watcher          // may be nil
	own     *data.Examples    // whose scores are here: all of p.train, or some
	shown   []int             // those whose loss is shown; nil: all
	workers *boosting.Workers // nil: there are no others
	report  train.Report
	race    float64 // best value of held-out examples
	last    *gbdt.Progress
	start   time.Time
}

func (p *plan) newGrown(of *planted, w *watcher) *grown {
	return &grown{planted: of, p: p, w: w, own: p.train, shown: p.shownOf(), race: math.Inf(1), start: time.Now()}
}

// options are those of the training; workers may be nil.
func (g *grown) options(ctx context.Context) gbdt.Options {
	return gbdt.Options{From: g.p.forest.from, Each: func(now *gbdt.Progress) (float64, error) { return g.each(ctx, now) }}
}

// grow grows the trees, by tasks on the cluster (nil: one of its own) if they are to meet there, saves them at the path, if there is one,
// and tells what came out. w may be nil.
func (p *plan) grow(ctx context.Context, c *cluster, tasks []int, path string, w *watcher) (*train.Report, error) {
	f := p.forest
	of := &planted{learn: &gbdt.Examples{Set: p.train.Set, View: f.view}, labels: p.treeLabels()}
	if p.valid != nil {
		of.held = &gbdt.Examples{Set: p.valid.Set, View: f.view}
	}
	if f.from != nil {
		of.labels.Start = p.startScores(f.from)
	}
	var err error
	if of.layout, err = gbdt.Survey(ctx, of.learn, of.held, f.Bins, f.cores()); err != nil {
		return nil, err
	}
	f.varying = of.layout.Varying()
	if p.together() && c == nil {
		if c, err = embed(ctx, p.servers, p.over()); err != nil {
			return nil, err
		}
		defer c.stop()
	}
	if p.together() {
		return p.growTogether(ctx, c, tasks, path, w, of)
	}
	binned, err := of.layout.Code(ctx, of.learn, of.held, 0, p.rows, f.cores())
	if err != nil {
		return nil, err
	}
	g := p.newGrown(of, w)
	e, err := gbdt.Train(ctx, binned, of.labels, f.Config, g.options(ctx))
	if err != nil {
		return nil, err
	}
	p.label(e)
	if path != "" {
		if err := p.saveTrees(ctx, e, path); err != nil {
			return nil, err
		}
	}
	return g.finish(e)
}

// label says in the trees what the labels were.
func (p *plan) label(e *tree.Ensemble) {
	if c := p.train.Classes; p.recipe.Task.Classes() && c != nil {
		e.Labels = c
	}
}

// cores is how many goroutines grow trees.
func (f *forest) cores() int { return cmp.Or(f.Cores, runtime.GOMAXPROCS(0)) }

// treeLabels are those of the training examples and of those held out.
func (p *plan) treeLabels() *gbdt.Labels {
	y := &gbdt.Labels{Label: slices.Clone(p.train.Label), Weight: slices.Clone(p.train.Weight), Group: slices.Clone(p.train.Group)}
	if v := p.valid; v != nil {
		y.Label = append(y.Label, v.Label...)
		if w := v.Weight; y.Weight != nil || w != nil {
			y.Weight = append(ones(y.Weight, p.train.Len()), ones(w, v.Len())...)
		}
		if y.Group != nil {
			y.Group = append(y.Group, v.Group...)
			y.Group = append(y.Group, make([]int64, len(y.Label)-len(y.Group))...)
		}
	}
	return y
}

// startScores are those of all examples by the trees that go before.
func (p *plan) startScores(from *tree.Ensemble) (all []float64) {
	learned, held := p.scoresOf(from, p.train), make([][]float64, from.Classes)
	if p.valid != nil {
		held = p.scoresOf(from, p.valid)
	}
	for k := range learned {
		all = append(append(all, learned[k]...), held[k]...)
	}
	return all
}

// ones are the weights, or as many ones if there are none.
func ones(weights []float32, n int) []float32 {
	if weights == nil {
		return slices.Repeat([]float32{1}, n)
	}
	return weights
}

// each tells of an iteration.
func (g *grown) each(ctx context.Context, now *gbdt.Progress) (float64, error) {
	p, value := g.p, math.NaN()
	g.report.Epochs, g.last = now.Iteration, now
	shown := p.some(now.Scores, g.own, g.shown)
	loss, err := 0.0, error(nil)
	if len(shown.Label) > 0 {
		loss, err = shown.MeanLoss()
	}
	if err == nil && g.own != p.train {
		loss, err = g.meanOf(ctx, shown, loss)
	}
	if err != nil {
		return value, err
	}
	g.report.Losses = append(g.report.Losses, loss)
	passed := time.Since(g.start)
	ev := train.Event{Epoch: now.Iteration, Epochs: p.forest.Trees, Rows: int64(now.Iteration) * int64(p.rows),
		Total: int64(p.forest.Trees) * int64(p.rows), Loss: loss, Done: true, Last: now.Iteration == p.forest.Trees,
		RowsPerSecond: float64(now.Iteration) * float64(p.rows) / passed.Seconds(),
		Left:          passed / time.Duration(now.Iteration) * time.Duration(p.forest.Trees-now.Iteration)}
	if p.valid != nil && (p.patience > 0 || len(p.metrics) > 0) {
		if ev.Valid, value, err = g.measure(now); err != nil {
			return value, err
		}
		ev.Best = g.report.Best
	}
	if g.w != nil {
		g.w.event(ev)
	}
	return value, nil
}

// measure measures the held-out examples, of several sets the first one, and notes whether they are predicted better than ever.
func (g *grown) measure(now *gbdt.Progress) (m train.Metrics, value float64, err error) {
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
		return nil, 0, fmt.Errorf("%s of the held-out examples is no number, want one to stop by", p.by)
	}
	if p.mode == "max" || p.mode == "" && train.Larger(p.by) {
		value = -value
	}
	if value < g.race {
		g.race, g.report.Best = value, now.Iteration
	}
	return m, value, nil
}

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
func (g *grown) count() {
	p, r := g.p, &g.report
	r.Rows, r.Stopped = int64(p.rows), r.Epochs < p.forest.Trees
	if f := p.forest; f.from != nil {
		r.Before = f.from.Iterations()
	}
}

// finish measures the trees that were kept.
func (g *grown) finish(e *tree.Ensemble) (*train.Report, error) {
	p, r := g.p, &g.report
	g.count()
	learned, held := g.last.Scores, g.last.Held
	if e.Best > 0 || g.own != p.train { // some trees do not score, or the examples are with others
		learned = p.scoresOf(e, p.train)
		if p.valid != nil {
			held = p.scoresOf(e, p.valid)
		}
	}
	var err error
	if r.Train, err = train.Measure(p.scored(learned, p.train, 0, p.rows), p.more()...); err != nil {
		return nil, err
	}
	null := make([][]float64, len(e.Start))
	for k, s := range e.Start {
		null[k] = slices.Repeat([]float64{s}, p.rows)
	}
	if r.Null, err = p.scored(null, p.train, 0, p.rows).MeanLoss(); err != nil || p.valid == nil {
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

// scoresOf are the scores of examples by trees, class after class.
func (p *plan) scoresOf(e *tree.Ensemble, of *data.Examples) [][]float64 {
	fast, width := tree.Compile(e), p.forest.view.Width()
	out := make([][]float64, e.Classes)
	for k := range out {
		out[k] = make([]float64, of.Len())
	}
	rows := max(1, min(256, 1<<20/max(1, width)))
	block, scores := make([]float32, rows*width), make([]float64, rows*e.Classes)
	for lo := 0; lo < of.Len(); lo += rows {
		n := min(rows, of.Len()-lo)
		p.forest.view.Fill(of.Slice(lo, lo+n), 0, n, block)
		fast.Batch(block[:n*width], width, scores[:n*e.Classes])
		for i := range n {
			for k := range out {
				out[k][lo+i] = scores[i*e.Classes+k]
			}
		}
	}
	return out
}

// treeFiles are the files beside the matrices of trees.
func (p *plan) treeFiles(e *tree.Ensemble) (map[string][]byte, error) {
	text, err := e.JSON()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{tree.FileName: text}
	if p.settings != nil {
		files[jobFileName] = p.settings
	}
	if t := p.train.Transform; t != nil {
		if files[feature.FileName], err = t.JSON(); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// saveTrees saves them.
func (p *plan) saveTrees(ctx context.Context, e *tree.Ensemble, path string) error {
	codec, err := codecs().Lookup(p.to)
	if err != nil {
		return err
	}
	o := format.Options{Set: p.set, Lossy: p.lossy}
	if o.Files, err = p.treeFiles(e); err != nil {
		return err
	}
	b := blob.Files{}
	if p.force {
		if o.Over, err = b.State(ctx, path); err != nil {
			return err
		}
	}
	metas, blocks := e.Matrices()
	w, err := format.Create(ctx, codec, b, path, metas, o)
	if err != nil {
		return format.Wrap(p.to, path, err)
	}
	defer w.Abort(context.WithoutCancel(ctx))
	var parts []format.Part
	for i, m := range metas {
		part, err := w.Put(ctx, m.Name, blocks[i])
		if err != nil {
			return format.Wrap(p.to, path, err)
		}
		parts = append(parts, part)
	}
	return w.Commit(ctx, parts)
}
