package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/feature"
	"thole.example/gbdt"
	"thole.example/tree"
)

// byTrees is the flags that ask for what only trees tell of examples.
type byTrees struct {
	trees           int // iterations that score; 0: all
	contrib, leaves bool
}

func (t *byTrees) flags(c *cobra.Command) {
	f := c.Flags()
	f.IntVar(&t.trees, "trees", 0, "of a model of trees: score with the first so many iterations, a tree of each class (default: up to "+
		"the best one)")
	f.BoolVar(&t.contrib, "contrib", false, "of a model of trees: write to --out what each feature contributes to the margin (TreeSHAP), "+
		"and the base, which is the rest of it")
	f.BoolVar(&t.leaves, "leaves", false, "of a model of trees: write to --out the number of the leaf that the example comes to in each tree")
	inGroup(c, treesTitle, "contrib")
}

func (t *byTrees) asked() bool { return t.trees != 0 || t.contrib || t.leaves }

// check refuses what makes no sense together; out is where predictions go.
func (t *byTrees) check(out string) error {
	switch {
	case t.trees < 0:
		return usageError{fmt.Errorf("--trees %d, want 1 or more iterations", t.trees)}
	case (t.contrib || t.leaves) && out == "":
		return usageError{errors.New("--contrib and --leaves are written to --out, want --out FILE")}
	}
	return nil
}

// first are the trees that are asked for.
func (t *byTrees) first(m *storedModel) (*tree.Ensemble, error) {
	e := m.trees
	if t.trees == 0 {
		return e, nil
	}
	if t.trees > e.Iterations() {
		return nil, usageError{fmt.Errorf("--trees %d, and %s has %d iterations", t.trees, m.path, e.Iterations())}
	}
	some := *e
	some.Best, some.Trees = 0, e.Trees[:t.trees*e.Group]
	return &some, nil
}

// treeScoring readies a model of trees.
func (p *prediction) treeScoring(ctx context.Context, e *env, m *storedModel) (*scoring, error) {
	if a, err := algo.Find(p.algo); p.algo != "" && (err != nil || a.Trees == "") {
		return nil, usageError{fmt.Errorf("%s is a model of trees, and --algo is %s; want none", m.path, p.algo)}
	}
	trees, err := p.byTrees.first(m)
	if err != nil {
		return nil, err
	}
	loss, err := algo.TreeLoss(&trees.Objective, trees.Classes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	if p.permute != nil {
		if err := p.permute.checkMetric(loss); err != nil {
			return nil, err
		}
	}
	g := &scoring{loss: loss, width: trees.Classes, exact: true}
	view, err := p.treeOptions(ctx, e, m, g)
	if err != nil {
		return nil, err
	}
	s, err := newTreeScorer(view, trees, p.byTrees)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	if p.permute != nil {
		s.keep()
	}
	if err := p.startFrom(e, m, s, g.options.Start); err != nil {
		return nil, err
	}
	g.trees, g.score, g.more = s, s.score, s.names(&head{width: g.width, classes: g.options.Classes, texts: g.texts})
	return g, nil
}

// startFrom makes the scorer add to start scores, if there are some, and says what may be wrong about that.
func (p *prediction) startFrom(e *env, m *storedModel, s *treeScorer, starts *data.Starts) error {
	switch needed := m.trees.NeedsStart; {
	case starts == nil && needed:
		fmt.Fprintf(e.err, "%s was grown from start scores, which its scores are to be added to: --start-scores names them\n", m.path)
	case starts == nil:
	case m.trees.Mean:
		return usageError{fmt.Errorf("--start-scores, and %s is a random forest, whose score is a mean: nothing can be added to it", m.path)}
	default:
		if !needed && m.trees.Origin == "" {
			fmt.Fprintf(e.err, "%s was not grown from start scores: they take the place of its own\n", m.path)
		}
		s.onto()
		return checkWidth("start-scores", starts.Width, s.trees.Classes)
	}
	return nil
}

// treeOptions are the options of reading examples for the trees, and how they become rows.
func (p *prediction) treeOptions(ctx context.Context, e *env, m *storedModel, g *scoring) (*gbdt.View, error) {
	files, err := data.Files(p.job.data)
	if err != nil {
		return nil, err
	}
	first := "" // whose kind is that of all
	if len(files) > 0 {
		first = files[0]
	}
	source, err := data.FindSource(p.format, first)
	if err != nil {
		return nil, usageError{err}
	}
	var view *gbdt.View
	bare := *m
	switch {
	case m.transform != nil:
		view, err = gbdt.NewView(m.transform)
	case source.Tabular():
		g.named = true
		bare.transform, view, err = p.bind(ctx, m.trees)
	default:
		view = gbdt.NewColumns(m.trees.Features.Width, absentIn(m.trees, source.Name))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	if g.options, err = p.scoringOptions(ctx, e, &bare, g, g.loss.Task()); err != nil {
		return nil, err
	}
	if bare.transform == nil {
		g.options.Columns = &data.Columns{Hi: int64(m.trees.Features.Width)}
	}
	return view, nil
}

// absentIn is what a column is that a row of the source does not have: 0, which dense rows leave out; to trees of XGBoost missing.
func absentIn(e *tree.Ensemble, source string) float32 {
	if source != "dense" && strings.HasPrefix(strings.ToLower(e.Origin), "xgboost") {
		return float32(math.NaN())
	}
	return 0
}

// bind finds the columns of tables by the names of features.
func (p *prediction) bind(ctx context.Context, trees *tree.Ensemble) (*feature.Transform, *gbdt.View, error) {
	spec, err := p.spec(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	var more []feature.Column
	for _, kind := range []feature.Kind{feature.Label, feature.Weight, feature.Group} {
		name := spec.Find(kind)
		if name == "" && kind == feature.Label {
			name = "label"
		}
		if name != "" {
			more = append(more, feature.Column{Name: name, Kind: kind})
		}
	}
	return gbdt.Bind(trees.Features, spec.Missing, more...)
}

// treeScorer scores batches with trees, on all processors. What it says of an example depends on that alone.
type treeScorer struct {
	byTrees
	view   *gbdt.View
	trees  *tree.Ensemble // whose features are the slots of the view
	scored *tree.Ensemble // which fast is of
	fast   *tree.Scorer
	sparse bool     // fast scores examples as they are, columns with numbers and values; else rows of the view
	absent float32  // what sparse examples do not have
	of     []string // names of the features
	from   []int32  // which of the model's they are
	block  int      // examples that a processor takes at once
	out    rated
	more   int // further numbers of an example

	shares *tree.Explainer // nil: nobody asks for contributions
	kept   *keptRows       // nil: nobody asks for them
}

// blockValues is about how many values the rows of a block have.
const blockValues = 1 << 16

func newTreeScorer(view *gbdt.View, trees *tree.Ensemble, also byTrees) (*treeScorer, error) {
	use, narrow, from, err := view.Use(trees)
	if err != nil {
		return nil, err
	}
	s := &treeScorer{byTrees: also, view: use, trees: narrow, scored: narrow, from: from, block: 256}
	if s.absent, s.sparse = view.Columns(); s.sparse {
		s.scored = trees
	}
	s.fast = tree.Compile(s.scored)
	if !s.sparse || also.contrib || also.leaves { // which want rows
		s.block = s.rowsBlock()
	}
	for _, f := range from {
		s.of = append(s.of, featureName(trees.Features, int(f)))
	}
	if s.contrib {
		if s.shares, err = tree.NewExplainer(narrow); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// rowsBlock is how many rows are made at once.
func (s *treeScorer) rowsBlock() int { return min(256, max(1, blockValues/max(1, s.view.Width()))) }

// keep makes the scorer keep the rows that it scores, which it has to make.
func (s *treeScorer) keep() {
	s.kept, s.sparse, s.scored, s.block = &keptRows{}, false, s.trees, s.rowsBlock()
	s.fast = tree.Compile(s.scored)
}

// onto makes the scorer add to the start scores of examples, in place of that of the trees.
func (s *treeScorer) onto() { s.fast = tree.Onto(s.scored) }

// featureName is what people call a feature: its name, or its number.
func featureName(features tree.Features, i int) string {
	if i < features.Width {
		if name := features.At(i).Name; name != "" {
			return name
		}
	}
	return strconv.Itoa(i)
}

// names are those of the further numbers of an example.
func (s *treeScorer) names(h *head) (all []string) {
	if s.contrib {
		for c, base := range h.of("base") {
			for _, name := range s.of {
				all = append(all, h.of("contrib_" + name)[c])
			}
			all = append(all, base)
		}
	}
	if s.leaves {
		for i := range s.trees.Scoring() {
			all = append(all, fmt.Sprintf("leaf_%d", i))
		}
	}
	s.more = len(all)
	return all
}

// score scores a batch.
func (s *treeScorer) score(b *data.Batch) (*rated, error) {
	n, classes := b.Len(), s.trees.Classes
	s.out.score, s.out.more = resized(s.out.score, n*classes), resized(s.out.more, n*s.more)
	copy(s.out.score, b.Start) // which the scorer adds to, if there are some
	width, all := s.view.Width(), []float32(nil)
	if s.kept != nil {
		var err error
		if all, err = s.kept.grow(n, width, b.Start); err != nil {
			return nil, err
		}
	}
	blocks, x := (n+s.block-1)/s.block, b.Rows()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), blocks) {
		wg.Go(func() {
			var rows []float32
			for k := int(next.Add(1)) - 1; k < blocks; k = int(next.Add(1)) - 1 {
				lo := k * s.block
				hi := min(n, lo+s.block)
				score, more := s.out.score[lo*classes:hi*classes], s.out.more[lo*s.more:hi*s.more]
				if s.sparse {
					s.fast.Sparse(x.Ptr[lo:hi+1], x.Idx, x.Val, s.absent, score)
				}
				if s.sparse && s.more == 0 {
					continue
				}
				if all != nil {
					rows = all[lo*width : hi*width]
				} else if rows == nil {
					rows = make([]float32, s.block*width)
				}
				s.view.Fill(b, lo, hi, rows)
				s.rows(rows, score, more)
				if s.contrib && b.Start != nil {
					s.base(b.Start[lo*classes:hi*classes], more)
				}
			}
		})
	}
	wg.Wait()
	return &s.out, nil
}

func resized(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n)
	}
	return s[:n]
}

// rows scores some rows.
func (s *treeScorer) rows(rows []float32, score, more []float64) {
	w, classes := s.view.Width(), s.trees.Classes
	n := len(score) / classes
	if !s.sparse {
		s.fast.Batch(rows[:n*w], w, score)
	}
	if s.more == 0 {
		return
	}
	for i := range n {
		row, to := rows[i*w:(i+1)*w], more[i*s.more:(i+1)*s.more]
		if s.contrib {
			n := classes * (w + 1)
			s.shares.Contributions(row, to[:n])
			to = to[n:]
		}
		if s.leaves {
			s.leavesOf(row, to)
		}
	}
}

// base puts the start scores of rows in the place of the trees' own, in the base of what contributes to each score.
func (s *treeScorer) base(start, more []float64) {
	w, classes := s.view.Width(), s.trees.Classes
	for i, v := range start {
		c := i % classes
		more[i/classes*s.more+c*(w+1)+w] += v - s.trees.Start[c]
	}
}

// leavesOf are the leaves that a row comes to.
func (s *treeScorer) leavesOf(row []float32, to []float64) {
	at := func(f int32) float64 { return float64(row[f]) }
	trees := s.trees.Scoring()
	for k := range trees {
		to[k] = float64(trees[k].Leaf(at))
	}
}
