package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/graph"
	"thole.example/ps"
	"thole.example/train"
)

// prediction is the flags of predict.
type prediction struct {
	job
	source
	outFile string
	results *sink // of outFile; nil: none
	asJSON  bool
}

func predictCommand(e *env) *cobra.Command {
	var p prediction
	c := &cobra.Command{
		Use:   "predict",
		Short: "Score examples with a stored model, and measure where there are labels",
		Long: `Scores examples with a stored model in any format. With --out each example gives a line "row,margin,prediction", where
the prediction is a probability, or a value in regression. With several classes it is a label, and there are a margin and a
probability for each class. The metrics go to standard output. Features that were not in training
count as zero, and it is said how many there were; --strict refuses them.`,
		Example: `  thole predict --model out/lr --data test.libsvm --out -
  thole predict --model lr.params --algo lr --data new.libsvm --no-label --out scores.csv`,
		RunE: func(c *cobra.Command, _ []string) error { return p.run(c.Context(), e) },
	}
	f := c.Flags()
	p.flags(c)
	f.StringVar(&p.outFile, "out", "", `file for the predictions, "-" for standard output`)
	f.BoolVar(&p.force, "force", false, "replace the file of --out if it exists")
	f.BoolVar(&p.noLabel, "no-label", false, "the examples have no labels")
	return c
}

// flags are those of commands that score examples.
func (p *prediction) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&p.job.model, "model", "", "stored model")
	f.StringArrayVar(&p.job.data, "data", nil, "examples to score: "+pathsHelp)
	f.StringVar(&p.algo, "algo", "", "algorithm, for a model that does not say what it is (see thole algos)")
	f.BoolVar(&p.asJSON, "json", false, "print the metrics as JSON")
	f.StringVar(&p.from, "from", "", "format of the model (default: found out)")
	f.StringToStringVar(&p.source.set, "set", nil, "options of the model's format, NAME=VALUE")
	p.dataFlags(c)
}

func (p *prediction) run(ctx context.Context, e *env) error {
	if err := p.checkFlags("predict"); err != nil {
		return err
	}
	out := e.out
	if p.outFile != "" {
		var err error
		if p.results, err = e.sink(p.outFile, p.force); err != nil {
			return err
		}
		out = p.results.reports()
	}
	s, err := p.measure(ctx, e)
	if err != nil {
		return err
	}
	switch {
	case p.asJSON:
		return json.NewEncoder(out).Encode(s)
	case s.Metrics == nil:
		_, err = fmt.Fprintf(e.err, "%d examples scored\n", s.Examples)
	default:
		_, err = fmt.Fprintf(out, "%d examples  %v\n", s.Examples, s.Metrics)
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
	_, err := p.dataOptions("")
	return err
}

// scored is what came out of scoring examples.
type scored struct {
	Examples int           `json:"examples"`
	Metrics  train.Metrics `json:"metrics"` // nil without labels
	Unseen   data.Unseen   `json:"unseen"`
}

// measure scores the examples, writes the predictions where asked, and measures where there are labels.
func (p *prediction) measure(ctx context.Context, e *env) (*scored, error) {
	var err error
	if p.job.model, err = e.readable(ctx, p.job.model); err != nil {
		return nil, err
	}
	stored, err := openModel(ctx, p.job.model, p.from, p.source.set)
	if err != nil {
		return nil, err
	}
	defer stored.Close()
	file, task, err := stored.network(p.algo)
	if err != nil {
		return nil, err
	}
	model, err := stored.build(file)
	if err != nil {
		return nil, err
	}
	o, err := p.dataOptions(task)
	if err != nil {
		return nil, err
	}
	if c, err := stored.classes(model.Width); err != nil {
		return nil, err
	} else if c != nil {
		o.Classes = c
	}
	if o.Classes == nil { // one file of examples must not decide what labels mean
		if o.Classes = data.Standard(); task == algo.Multiclass {
			o.Classes = data.Numbered(model.Width)
		}
	}
	if o.Columns, err = stored.columns(ctx, file); err != nil {
		return nil, err
	}
	if text := stored.rounded(model); text != "" {
		fmt.Fprintln(e.err, escaped(text))
	}
	examples, err := p.examples(ctx, e, p.job.data, o)
	if err != nil {
		return nil, err
	}
	score, err := p.scores(ctx, model, examples.Batch)
	if err != nil {
		return nil, err
	}
	s := &scored{Examples: examples.Len(), Unseen: examples.Unseen}
	if err := p.write(ctx, e, model, score, o.Classes); err != nil || p.noLabel || examples.Len() == 0 {
		return s, err
	}
	s.Metrics, err = train.Measure(model.Loss, score, examples.Label)
	return s, err
}

// scores loads the model into an embedded server and scores the examples.
func (p *prediction) scores(ctx context.Context, model *graph.Model, examples *data.Batch) ([]float64, error) {
	c, err := embed(ctx, 1, nil)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	client, err := ps.Dial(ctx, ps.Options{Network: c.net, Servers: c.addrs, Job: "predict", Tasks: 1})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ms := model.Metas()
	for i := range ms {
		ms[i].Rule = "" // nothing is trained: no state beside the weights
		ms[i].Hyper = nil
	}
	if err := client.Create(ctx, "", ms...); err != nil {
		return nil, err
	}
	if err := client.Load(ctx, ps.LoadOptions{Path: inBucket(p.job.model), Codec: p.from, Set: p.source.set, Round: true}); err != nil {
		return nil, err
	}
	run, err := graph.NewRun(model)
	if err != nil {
		return nil, err
	}
	score, err := train.Scores(ctx, client, run, examples, nil)
	if err != nil {
		return nil, err
	}
	return score, client.Leave(ctx)
}

// write puts a line for each example into the file of predictions, which appears whole or not at all.
func (p *prediction) write(ctx context.Context, e *env, model *graph.Model, score []float64, classes data.Classes) error {
	if p.results == nil {
		return nil
	}
	w, err := p.results.create(ctx)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := writePredictions(w, model, score, classes); err != nil {
		return err
	}
	return w.Commit()
}

// writePredictions writes the row, the margins and the prediction of each example. Where there are several classes, there is a
// margin and a probability for each of them, and the prediction is the label of one.
func writePredictions(w io.Writer, model *graph.Model, score []float64, classes data.Classes) error {
	out := bufio.NewWriter(w)
	of := func(what string) {
		if model.Width == 1 {
			fmt.Fprintf(out, ",%s", what)
			return
		}
		for _, label := range classes {
			fmt.Fprintf(out, ",%s_%v", what, label)
		}
	}
	out.WriteString("row")
	of("margin")
	out.WriteString(",prediction")
	if model.Width > 1 {
		of("probability")
	}
	out.WriteByte('\n')
	var line []byte
	margins, said := make([]float32, model.Width), []float64(nil)
	for i := range len(score) / model.Width {
		line = strconv.AppendInt(line[:0], int64(i), 10)
		for k := range margins {
			margins[k] = float32(score[i*model.Width+k])
			line = strconv.AppendFloat(append(line, ','), float64(margins[k]), 'g', -1, 32)
		}
		if said = model.Loss.Predict(said[:0], margins); model.Width > 1 {
			said[0] = float64(classes[int(said[0])])
		}
		for _, v := range said {
			line = strconv.AppendFloat(append(line, ','), v, 'g', -1, 32)
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}
