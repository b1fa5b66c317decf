package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/graph"
	"thole.example/internal/number"
	"thole.example/train"
)

// prediction is the flags of predict.
type prediction struct {
	job
	source
	results results
	asJSON  bool
	all     bool       // measure by all metrics that fit, not only the usual ones
	permute *permuting // of a model of trees, whose rows are kept for it; nil: not asked for
	byTrees            // what else is said of examples by trees
}

func predictCommand(e *env) *cobra.Command {
	var p prediction
	c := &cobra.Command{
		Use:   "predict",
		Short: "Score examples with a stored model, and measure where there are labels",
		Long: `Scores examples with a stored model in any format. With --out each example gives a row of a table: its number, the margin, the
prediction (a probability, a value, or with several classes a label and a margin and a probability for each class), and the label
where there is one; of trees also what each feature contributes (--contrib) and the leaves (--leaves). Models with several targets or
quantiles have a margin and a prediction for each (prediction_0, prediction_0.9). --keep copies columns of the table, such as ids, to
the end of the row; rankings always copy the group. It is written as CSV, TSV or JSON lines while examples are read, or in any format
of one file. The metrics go to standard output. Features that were not in training
count as zero, and are reported; --strict refuses them. Examples are read a batch at a time, however many there are;
for the metrics 12 bytes stay in memory for each that has a label, and 80 more while they are computed.`,
		Example: `  thole predict --model out/lr --data test.libsvm --out -
  thole predict --model out/deepfm --data new.ffm --out scores.parquet
  thole predict --model lr.params --algo lr --data new.libsvm --no-label --out scores.csv
  thole predict --model out/trees --data people.csv --contrib --out why.csv
  thole predict --model out/trees --data people.csv --keep town --out kept.csv`,
		RunE: func(c *cobra.Command, _ []string) error { return p.run(c.Context(), e) },
	}
	f := c.Flags()
	p.flags(e, c)
	p.results.flags(c)
	f.BoolVar(&p.noLabel, "no-label", false, "the examples have no labels")
	p.byTrees.flags(c)
	return c
}

// flags are those of commands that score examples.
func (p *prediction) flags(e *env, c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&p.job.model, "model", "", "stored model")
	f.StringArrayVar(&p.job.data, "data", nil, "examples to score: "+pathsHelp)
	f.StringVar(&p.algo, "algo", "", "algorithm, for a model that does not say what it is (see thole algos)")
	f.BoolVar(&p.asJSON, "json", false, "print the metrics as JSON")
	f.StringVar(&p.from, "from", "", "format of the model (default: found out)")
	pairsVar(f, &p.source.set, "set", "options of the model's format, NAME=VALUE")
	p.startFlag(c)
	p.dataFlags(e, c)
	p.columnFlags.markFlags(c)
}

func (p *prediction) run(ctx context.Context, e *env) error {
	if err := p.checkFlags("predict"); err != nil {
		return err
	}
	if err := p.results.check(ctx, e); err != nil {
		return err
	}
	if err := cmp.Or(p.job.apart(ctx, "out", p.results.path), p.results.apart(p.job.model)); err != nil {
		return err
	}
	out := p.results.reports(e)
	s, err := p.measure(ctx, e)
	if err != nil {
		return err
	}
	if s.Examples == 0 {
		return fmt.Errorf("%s: no examples", strings.Join(p.job.data, ", "))
	}
	if s.groupless {
		fmt.Fprintf(e.err, "%s: examples without groups, whose order is not measured (%s)\n", strings.Join(p.job.data, ", "), groupsWanted)
	}
	if s.outputs != nil {
		fmt.Fprintf(e.err, "%s: %s\n", p.job.model, s.notMeasured())
	}
	switch {
	case p.asJSON:
		return json.NewEncoder(out).Encode(s)
	case s.Metrics == nil:
		_, err = fmt.Fprintf(e.err, "%s scored\n", number.Of(s.Examples, "example"))
	default:
		_, err = fmt.Fprintf(out, "%s  %v\n", number.Of(s.Examples, "example"), s.Metrics)
	}
	return err
}

// checkFlags checks what can be checked before anything is read.
func (p *prediction) checkFlags(command string) error {
	example := "thole " + command + " --model out/lr --data test.libsvm"
	if p.job.model == "" {
		return usageError{fmt.Errorf("no --model, which names a stored model: %s", example)}
	}
	if err := p.checkPaths(example); err != nil {
		return err
	}
	if p.algo != "" {
		if _, err := algo.Find(p.algo); err != nil {
			return usageError{err}
		}
	}
	if err := p.byTrees.check(p.results.path); err != nil {
		return err
	}
	_, err := p.dataOptions("")
	return err
}

// scored is what came out of scoring examples.
type scored struct {
	Examples int           `json:"examples"`
	Metrics  train.Metrics `json:"metrics"` // nil without labels
	Unseen   data.Unseen   `json:"unseen"`
	Skipped  data.Skipped  `json:"skipped"`

	Importance *permuted `json:"importance,omitempty"` // of features, if it was asked for

	score     []float64 // of examples with labels
	label     []float32
	weight    []float32     // nil: all 1
	group     []int64       // nil: none
	groupless bool          // a ranking cannot be measured for want of groups
	outputs   []string      // of the model, where one label of a row does not measure them
	of        *train.Scored // what was measured; nil without labels
	classes   data.Classes  // what labels were before they were -1 and +1, or numbers of classes
	trees     *treeScorer   // that scored; nil: it is a network
	texts     []string      // what these labels stand for in tables; nil: themselves
}

// notMeasured is why the labels do not measure the model.
func (s *scored) notMeasured() string {
	return fmt.Sprintf("%d outputs (targets), and the rows have one label: predictions are not compared with it", len(s.outputs))
}

// measure scores the examples a batch at a time, writes the predictions where asked, and measures where there are labels.
func (p *prediction) measure(ctx context.Context, e *env) (*scored, error) {
	var err error
	if p.job.model, err = e.readable(ctx, p.job.model); err != nil {
		return nil, err
	}
	stored, err := openModel(ctx, e.paths, p.job.model, p.from, p.source.set)
	if err != nil {
		return nil, err
	}
	defer stored.Close()
	g, err := p.scoring(ctx, e, stored)
	if err != nil {
		return nil, err
	}
	o := &g.options
	h := head{loss: g.loss, width: g.width, labelled: !p.noLabel, classes: o.Classes, texts: g.texts, exact: g.exact, more: g.more,
		outputs: g.outputs}
	if o.Labels != data.AutoTrans && (g.width == 1 || g.outputs != nil) {
		h.classes = nil
	}
	if err := h.checkKept(p.results.keep); err != nil {
		return nil, err
	}
	o.Keep, o.KeepGroup = p.results.keep, g.loss.Task() == algo.Ranking && p.results.sink != nil
	o.Unlabelled = func() {
		p.noLabel, h.labelled = true, false
		hint := ""
		if stored.transform == nil {
			hint = " (--label-column names another)"
		}
		fmt.Fprintf(e.err, "%s: no column %s: examples without labels%s\n", strings.Join(p.job.data, ", "), o.Table.Transform.Label(), hint)
	}
	out, err := p.results.begin(ctx, e, &h)
	if err != nil {
		return nil, err
	}
	defer out.abort()
	s, err := p.score(ctx, e, g, out)
	if err == nil {
		s.trees, err = g.trees, out.end(ctx)
	}
	if err != nil || p.noLabel || s.Examples == 0 {
		return s, err
	}
	if g.loss.Task() == algo.Ranking && s.group == nil {
		s.groupless = true
		return s, nil
	}
	if several, ok := g.loss.(graph.Several); ok && !several.Measured() {
		s.outputs = g.outputs
		return s, nil
	}
	s.of, s.classes = &train.Scored{Loss: g.loss, Score: s.score, Label: s.label, Weight: s.weight, Group: s.group}, o.Classes
	s.texts = h.texts
	var more []string
	if p.all {
		more = s.of.Names()
	}
	if s.Metrics, err = train.Measure(s.of, more...); err != nil {
		err = fmt.Errorf("%s: %w", strings.Join(p.job.data, ", "), err)
	}
	return s, err
}

// score scores the examples, and keeps scores and labels if there are labels: 12 bytes for each example and score.
func (p *prediction) score(ctx context.Context, e *env, g *scoring, out predictions) (*scored, error) {
	files, err := data.Files(ctx, e.paths, p.job.data)
	if err != nil {
		return nil, err
	}
	s, paths, o := &scored{}, strings.Join(p.job.data, ", "), g.options
	bar := e.progress("score "+paths, "B", 1)
	defer bar.end()
	o.Progress = bar.read
	o.Note = noting(bar.line)
	o.Left = func(u data.Unseen) {
		s.Unseen = u
		s.Unseen.Missing = g.named
	}
	o.LeftOut = func(left data.Skipped) { s.Skipped = left }
	for b, err := range data.ReadFiles(ctx, files, e.in, o) {
		if err != nil {
			return nil, err
		}
		r, err := g.score(b)
		if err != nil {
			return nil, fmt.Errorf("%s: examples from number %d on: %w", paths, s.Examples+1, err)
		}
		for i, v := range r.score {
			if !finite(v) {
				return nil, fmt.Errorf("%s: example %d has score %v, want a finite number: look for large values in it, or for weights "+
					"of %s that are infinite or no number", paths, s.Examples+1+i/g.width, v, p.job.model)
			}
		}
		if err := out.add(ctx, b, r); err != nil {
			return nil, err
		}
		if s.Examples += b.Len(); !p.noLabel {
			s.weight = data.Extend(s.weight, len(s.label), b.Weight, b.Len(), 1)
			s.group = data.Extend(s.group, len(s.label), b.Group, b.Len(), 0)
			s.label = append(s.label, b.Label...)
			s.score = append(s.score, r.score...)
		}
	}
	saySkipped(bar.line, s.Skipped)
	if s.Unseen.Features > 0 {
		sayUnseen(bar.line, paths, s.Unseen, s.Examples)
	}
	return s, nil
}
