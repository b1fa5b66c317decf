package main

import (
	"context"
	"fmt"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/graph"
)

// scoring is how examples are read for a stored model, and scored.
type scoring struct {
	options data.Options
	loss    graph.Loss
	width   int         // scores of an example
	exact   bool        // they are float64, else float32
	texts   []string    // of the labels 0, 1 and so on; nil: they are numbers
	outputs []string    // names of outputs that are not classes; nil: there is one, or classes
	more    []string    // names of further numbers of an example
	trees   *treeScorer // nil: it is a network
	named   bool        // columns are found by the names of features, and levels that are none of theirs are missing
	// score scores a batch; what it answers is good until the next one. The error names the row that does not fit the model.
	score func(b *data.Batch) (*rated, error)
}

// rated is what a model says of the examples of a batch, one after the other: the scores, and further numbers.
type rated struct{ score, more []float64 }

// scoring readies the model.
func (p *prediction) scoring(ctx context.Context, e *env, m *storedModel) (*scoring, error) {
	if m.trees != nil {
		return p.treeScoring(ctx, e, m)
	}
	if len(p.starts) > 0 {
		return nil, usageError{fmt.Errorf("%s is no model of trees, which --start-scores is for", m.path)}
	}
	if p.permute != nil {
		return nil, usageError{fmt.Errorf("%s is no model of trees, which --importance is for", m.path)}
	}
	if p.byTrees.asked() {
		return nil, usageError{fmt.Errorf("%s is no model of trees, which --trees, --contrib and --leaves are for", m.path)}
	}
	file, _, err := m.network(p.algo)
	if err != nil {
		return nil, err
	}
	model, err := m.build(file)
	if err != nil {
		return nil, err
	}
	g := &scoring{loss: model.Loss, width: model.Width}
	if g.options, err = p.scoringOptions(ctx, e, m, g, algo.TaskOf(file)); err != nil {
		return nil, err
	}
	o := &g.options
	if p.fields == "" {
		o.Fields = fieldsOf(file)
		if known := len(o.Fields.First); known > 0 && namesFields(ctx, e.paths, p.format, p.job.data) { // whose lines say where they begin
			o.Fields = data.Fields{Number: known}
		}
	}
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", m.path, graph.FileName, err)
	}
	if o.Columns, err = m.columns(ctx, file); err != nil {
		return nil, err
	}
	if text := m.rounded(model); text != "" {
		fmt.Fprintln(e.err, escaped(text))
	}
	table, err := m.table(ctx, model, o.Columns)
	if err != nil {
		return nil, err
	}
	scorer, err := graph.NewScorer(model, table)
	if err != nil {
		return nil, err
	}
	r := &rated{}
	g.score = func(b *data.Batch) (*rated, error) {
		scores, err := scorer.Score(b)
		if err != nil {
			return nil, err
		}
		r.score = r.score[:0]
		for _, v := range scores.Val {
			r.score = append(r.score, float64(v))
		}
		return r, nil
	}
	return g, nil
}

// scoringOptions are the options of reading examples for the model: what it says of them counts where no flag does.
func (p *prediction) scoringOptions(ctx context.Context, e *env, m *storedModel, g *scoring, task algo.Task) (data.Options, error) {
	if err := p.hashAs(m); err != nil {
		return data.Options{}, err
	}
	o, err := p.dataOptions(task)
	if err != nil {
		return o, err
	}
	if c, err := m.classes(g.width, task); err != nil {
		return o, err
	} else if c != nil {
		o.Classes = c
	}
	if o.Classes == nil { // one file of examples must not decide what labels mean
		if o.Classes = data.Standard(); task == algo.Multiclass {
			o.Classes = data.Numbered(g.width)
		}
	}
	if task == algo.Multiclass && len(o.Classes) != g.width {
		return o, usageError{fmt.Errorf("--classes: %d classes, and %s has %d", len(o.Classes), m.path, g.width)}
	}
	o.Takes, o.Ranked = taking(g.loss, g.width), task == algo.Ranking
	if m.file != nil {
		o.Scale = m.file.Data.Scaling
	}
	if m.transform != nil {
		spec, err := p.spec(ctx, nil)
		if err != nil {
			return o, err
		}
		if err := m.transform.Agrees(spec); err != nil {
			return o, usageError{fmt.Errorf("%s: %w", m.path, err)}
		}
		g.texts = m.transform.LabelTexts()
		o.Table = &data.Table{Spec: *spec, Transform: m.transform}
		if p.noLabel {
			o.Table.Transform = m.transform.WithoutLabel()
		}
	}
	if o.Weight, err = readWeights(ctx, e, p.weights); err != nil {
		return o, err
	}
	o.Start, err = readStarts(ctx, e, p.starts)
	return o, err
}
