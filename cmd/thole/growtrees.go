package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"thole.example/algo"
	"thole.example/boosting"
	"thole.example/data"
	"thole.example/gbdt"
	"thole.example/train"
	"thole.example/tree"
)

// forest is a job that grows trees.
type forest struct {
	gbdt.Config
	view *gbdt.View
	from *tree.Ensemble // trees that go before; nil: none

	raised  bool // the least weight of children is raised, as events are rare
	varying int  // features with two values or more, once the examples were looked at

	read   bool        // the examples are there, in the process that reads them
	opened bool        // the watcher shows the training
	data   *treeData   // what is made of them: attempts share it
	series *treeSeries // of its checkpoints, once it looked for some

	traffic []boosting.Traffic // with servers, of one task, once the trees are there
}

// treesBefore are the trees that --load names; nil if it names a network, or nothing. That a model is of trees says which algorithm it is.
func (j *job) treesBefore(ctx context.Context) (*storedModel, error) {
	if j.load == "" || j.far() && (j.elsewhere || !j.byTrees()) {
		return nil, nil
	}
	m, err := openModel(ctx, j.paths, j.load, "", nil)
	if err != nil || m.trees == nil {
		return nil, err
	}
	defer m.Close()
	if recipe, err := algo.Find(j.algo); j.given("algo") && (err != nil || recipe.Trees == "") {
		return nil, usageError{fmt.Errorf("--load %s is a model of trees, and --algo is %s; want --algo gbdt", j.load, j.algo)}
	}
	j.algo = algo.Trees().Name
	return m, nil
}

// byTrees reports whether the algorithm grows trees.
func (j *job) byTrees() bool {
	recipe, err := algo.Find(j.algo)
	return err == nil && recipe.Trees != ""
}

// settleTrees chooses what depends on the training examples, which are there, and reads those of --validate, unless they are, too.
func (p *plan) settleTrees(ctx context.Context, e *env, o data.Options) (err error) {
	p.sayClasses(e)
	p.countClasses()
	p.conf.Dim = p.train.Dim()
	p.digest, p.rows = p.train.Checksum(), p.train.Len()
	p.forest.Classes = p.conf.Classes
	if err := cmp.Or(p.compare(), p.checkStartsOf("start-scores", p.train)); err != nil {
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
	p.sayChildWeight(e)
	if err := p.readHoldout(ctx, e, o, nil); err != nil {
		return err
	}
	if err := p.checkStartsOf("validate-start-scores", p.valid); err != nil {
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

// sayChildWeight says that trees want more weight on both sides of a split, as events are rare.
func (p *plan) sayChildWeight(e *env) {
	f := p.forest
	if !f.Rare {
		return
	}
	least, most := f.MinWeight, slices.Max(f.RareWeights(&gbdt.Labels{Label: p.train.Label, Weight: p.train.Weight}))
	if f.raised = most > least; !f.raised {
		return
	}
	what := map[algo.Task]string{algo.Classification: "one of the classes is rare",
		algo.Multiclass: "some of the classes are rare"}[p.recipe.Task]
	fmt.Fprintf(e.err, "min-child-weight: %g plus a quarter of the second derivatives of a tree, up to %.3g, as %s "+
		"(--min-child-weight sets another)\n", least, most, cmp.Or(what, "labels count events"))
}

// goOn checks that the trees of --load ask for the features that the examples have.
func (p *plan) goOn() error {
	m := p.before
	if m == nil {
		return nil
	}
	have := p.forest.view.Features().Width
	if n := m.trees.Features.Width; n != have {
		if p.train.Transform != nil || n < have {
			return fmt.Errorf("--load %s asks for %d features, and the examples have %d", p.load, n, have)
		}
		p.forest.view = gbdt.NewColumns(n, 0) // the last columns do not occur
	}
	if c := max(1, m.trees.Classes); p.recipe.Task == algo.Multiclass && c != p.conf.Classes {
		return fmt.Errorf("--load %s has %d classes, and the examples have %d", p.load, c, p.conf.Classes)
	}
	p.forest.from = m.trees
	return nil
}

// treeData is what trees are grown from: the examples of all tasks.
type treeData struct {
	learn, held gbdt.Rows    // held may be nil
	labels      *gbdt.Labels // of all examples, the held-out ones last
	layout      *gbdt.Layout
}

// grow grows the trees, by tasks on the cluster (nil: one of its own) if they are to meet there, saves them at the path, if there is one,
// and tells what came out. w may be nil. It may be called again after an attempt that failed: it goes on from the last checkpoint then.
func (p *plan) grow(ctx context.Context, c *cluster, tasks []int, path string, w *watcher) (_ *train.Report, err error) {
	defer func() { p.forest.series.end(ctx, err) }()
	if p.later != nil {
		return p.growTogether(ctx, c, tasks, path, w)
	}
	if path != "" {
		if err := p.tryTrees(ctx, path); err != nil {
			return nil, err
		}
	}
	f := p.forest
	if f.data == nil {
		if f.data, err = p.treeData(ctx, w); err != nil {
			return nil, err
		}
	}
	of := f.data
	if p.together() {
		if c, err = embed(ctx, p.servers, p.over(), p.bucket()); err != nil {
			return nil, err
		}
		defer c.stop()
		return p.growTogether(ctx, c, tasks, path, w)
	}
	from, err := p.beginSeries(ctx, of, w)
	if err != nil {
		return nil, err
	}
	rows := w.watched(of.learn)
	binned, err := of.layout.Code(ctx, rows, of.held, 0, p.rows, runtime.GOMAXPROCS(0))
	rows.bar.end()
	if err != nil {
		return nil, err
	}
	g := p.newTreeRun(of.labels, p.rows, w)
	g.series, g.orders = f.series, newTreeOrders()
	defer p.farewell.while(g.orders.order)()
	g.goOn(from)
	e, err := gbdt.Train(ctx, binned, of.labels, f.Config, g.options(ctx))
	if err != nil {
		return nil, err
	}
	g.orders.end(p.farewell)
	p.label(e)
	if path != "" {
		if err := p.saveTrees(ctx, e, path); err != nil {
			return nil, p.keptTrees(ctx, err, nil, e, path)
		}
	}
	return g.finish(e, g.last.Scores)
}

// treeData chooses bins by the examples, which are read; w may be nil.
func (p *plan) treeData(ctx context.Context, w *watcher) (*treeData, error) {
	f := p.forest
	of := &treeData{learn: &gbdt.Examples{Set: p.train.Set, View: f.view}, labels: p.treeLabels()}
	if p.valid != nil {
		of.held = &gbdt.Examples{Set: p.valid.Set, View: f.view}
	}
	var err error
	if of.labels.Start, err = p.startScores(); err != nil {
		return nil, err
	}
	rows := w.watched(of.learn)
	of.layout, err = gbdt.Survey(ctx, rows, of.held, f.Bins, runtime.GOMAXPROCS(0))
	if rows.bar.end(); err != nil {
		return nil, err
	}
	f.varying = of.layout.Varying()
	for _, i := range of.layout.Crowded() {
		if w != nil {
			w.bar.line("warning: feature %q has more levels than the %d that trees tell apart; the rarest are as unseen ones",
				featureName(of.layout.Features, i), gbdt.LevelLimit)
		}
	}
	return of, nil
}

// label says in the trees what the labels were, and whether there were start scores.
func (p *plan) label(e *tree.Ensemble) {
	if p.train.Start != nil { // in place of any of trees that went before
		e.NeedsStart, e.Start = true, make([]float64, e.Classes)
	}
	if c := p.train.Classes; p.recipe.Task.Classes() && c != nil {
		e.Labels = c
	}
}

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

// ones are the weights, or as many ones if there are none.
func ones(weights []float32, n int) []float32 {
	if weights == nil {
		return slices.Repeat([]float32{1}, n)
	}
	return weights
}
