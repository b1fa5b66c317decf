package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/feature"
	"thole.example/gbdt"
	"thole.example/graph"
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
	e.warn(m.path, m)
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
	if several, ok := loss.(graph.Several); ok {
		g.outputs = several.Outputs()
	}
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
	g.trees, g.score, g.more = s, s.score, s.names(&head{width: g.width, classes: g.options.Classes, outputs: g.outputs, texts: g.texts})
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
	files, err := data.Files(ctx, e.paths, p.job.data)
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
		bare.transform, view, err = p.bind(ctx, e, m.trees, files)
	default:
		if err := p.decideBase(ctx, e, m.trees, p.job.data); err != nil {
			return nil, err
		}
		view = gbdt.NewColumns(m.trees.Features.Width, absentIn(m.trees, source.Name))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	if g.options, err = p.scoringOptions(ctx, e, &bare, g, g.loss.Task()); err != nil {
		return nil, err
	}
	g.options.Exact = m.trees.Numbers != tree.Float32
	if bare.transform == nil {
		g.options.Columns = &data.Columns{Hi: int64(m.trees.Features.Width)}
	}
	return view, nil
}

// absentIn is what a column is that a row of the source does not have: 0, which dense rows leave out; to trees of XGBoost missing.
func absentIn(e *tree.Ensemble, source string) float64 {
	if source != "dense" && strings.HasPrefix(strings.ToLower(e.Origin), "xgboost") {
		return math.NaN()
	}
	return 0
}

// bind finds the columns of tables by the names of features.
func (p *prediction) bind(ctx context.Context, e *env, trees *tree.Ensemble, files []string) (*feature.Transform, *gbdt.View, error) {
	spec, err := p.spec(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	var more []feature.Column
	var others []string
	for _, kind := range []feature.Kind{feature.Label, feature.Weight, feature.Group} {
		name := spec.Find(kind)
		if name == "" && kind == feature.Label {
			name = "label"
		}
		if name != "" {
			more = append(more, feature.Column{Name: name, Kind: kind})
			others = append(others, name)
		}
	}
	features, err := p.byPosition(ctx, e, trees, files, others)
	if err != nil {
		return nil, nil, err
	}
	return gbdt.Bind(features, spec.Missing, more...)
}
