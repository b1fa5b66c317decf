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
	"thole.example/blob"
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
	asJSON  bool
}

func predictCommand(e *env) *cobra.Command {
	var p prediction
	c := &cobra.Command{
		Use:   "predict",
		Short: "Score examples with a stored model, and measure where there are labels",
		Long: `Scores examples with a stored model in any format. With --out each example gives a line "row,margin,prediction", where
the prediction is a probability, or a value in regression. The metrics go to standard output.`,
		Example: `  thole predict --model out/lr --data a9a_123d_test.dummy --format dummy
  thole predict --model lr.params --algo lr --data new.libsvm --no-label --out scores.csv`,
		RunE: func(c *cobra.Command, _ []string) error { return p.run(c.Context(), e) },
	}
	f := c.Flags()
	f.StringVar(&p.job.model, "model", "", "stored model")
	f.StringVar(&p.job.data, "data", "", "examples to score")
	f.StringVar(&p.algo, "algo", "", "algorithm (default: what the model's graph.json says, else lr)")
	f.StringVar(&p.outFile, "out", "", `file for the predictions, "-" for standard output`)
	f.BoolVar(&p.noLabel, "no-label", false, "the examples have no labels")
	f.BoolVar(&p.asJSON, "json", false, "print the metrics as JSON")
	f.StringVar(&p.from, "from", "", "format of the model (default: found out)")
	f.StringToStringVar(&p.source.set, "set", nil, "options of the model's format, NAME=VALUE")
	p.dataFlags(c)
	return c
}

func (p *prediction) run(ctx context.Context, e *env) error {
	switch {
	case p.job.model == "":
		return usageError{fmt.Errorf("no --model")}
	case p.job.data == "":
		return usageError{fmt.Errorf("no --data")}
	}
	if p.algo != "" {
		if _, err := algo.Find(p.algo); err != nil {
			return usageError{err}
		}
	}
	if _, err := p.dataOptions(p.job.data, ""); err != nil {
		return err
	}
	n, m, err := p.measure(ctx, e)
	switch {
	case err != nil:
		return err
	case m == nil:
		fmt.Fprintf(e.err, "%d examples scored\n", n)
		return nil
	case p.asJSON:
		return json.NewEncoder(e.out).Encode(map[string]any{"examples": n, "metrics": m})
	}
	out := e.out
	if p.outFile == "-" {
		out = e.err
	}
	_, err = fmt.Fprintf(out, "%d examples  %v\n", n, m)
	return err
}

// measure scores the examples, writes the predictions where asked, and answers with the number of examples and their
// metrics, nil if there are no labels.
func (p *prediction) measure(ctx context.Context, e *env) (int, train.Metrics, error) {
	model, task, err := p.build(ctx)
	if err != nil {
		return 0, nil, err
	}
	examples, err := p.read(ctx, e, model, task)
	if err != nil {
		return 0, nil, err
	}
	score, err := p.scores(ctx, model, examples)
	if err != nil {
		return 0, nil, err
	}
	if err := p.write(ctx, e, model, score); err != nil || p.noLabel || examples.Len() == 0 {
		return examples.Len(), nil, err
	}
	m, err := train.Measure(model.Loss, task == algo.Classification, score, examples.Label)
	return examples.Len(), m, err
}

// build makes the network that the stored model says it is, or that --algo names, with the sizes of its matrices.
func (p *prediction) build(ctx context.Context) (*graph.Model, algo.Task, error) {
	r, _, err := open(ctx, p.job.model, p.from, p.source.set)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	file, task, err := p.network(r.Files()[graph.FileName])
	if err != nil {
		return nil, "", err
	}
	conf := algo.Conf{}
	for _, m := range r.Matrices() {
		conf.Dim, conf.ColLo = max(conf.Dim, m.Cols), min(conf.ColLo, m.ColLo)
		conf.Sparse = conf.Sparse || m.Layout != 0
	}
	model, err := algo.Compose(file, conf)
	return model, task, err
}

func (p *prediction) network(stored []byte) (*graph.File, algo.Task, error) {
	if p.algo == "" && stored != nil {
		f, err := graph.ParseJSON(stored)
		if err != nil {
			return nil, "", err
		}
		return f, algo.TaskOf(f), nil
	}
	name := p.algo
	if name == "" {
		name = "lr"
	}
	recipe, err := algo.Find(name)
	if err != nil {
		return nil, "", usageError{err}
	}
	return recipe.File(), recipe.Task, nil
}

func (p *prediction) read(ctx context.Context, e *env, model *graph.Model, task algo.Task) (*data.Batch, error) {
	dim := p.dim
	if dim == 0 {
		for _, m := range model.Params() {
			dim = max(dim, m.ColLo+m.Cols)
		}
	}
	return p.examples(ctx, e, p.job.data, dim, task)
}

// scores loads the model into an embedded server and scores the examples.
func (p *prediction) scores(ctx context.Context, model *graph.Model, examples *data.Batch) ([]float64, error) {
	c, err := embed(ctx, 1, false)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	client, err := ps.Dial(ctx, ps.Options{Network: c.net, Servers: c.addrs, Job: "predict", Tasks: 1})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ms := model.Params()
	for i := range ms {
		ms[i].Rule = "" // nothing is trained: no state beside the weights
		ms[i].Hyper = nil
	}
	if err := client.Create(ctx, "", ms...); err != nil {
		return nil, err
	}
	if err := client.Load(ctx, ps.LoadOptions{Path: inBucket(p.job.model), Codec: p.from, Set: p.source.set}); err != nil {
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
func (p *prediction) write(ctx context.Context, e *env, model *graph.Model, score []float64) error {
	switch p.outFile {
	case "":
		return nil
	case "-":
		return writePredictions(e.out, model, score)
	}
	b, name, err := blob.Local(p.outFile)
	if err != nil {
		return err
	}
	w, err := b.Create(ctx, name)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := writePredictions(w, model, score); err != nil {
		return err
	}
	return w.Commit()
}

func writePredictions(w io.Writer, model *graph.Model, score []float64) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "row,margin,prediction")
	var line []byte
	for i, s := range score {
		line = strconv.AppendInt(line[:0], int64(i), 10)
		line = strconv.AppendFloat(append(line, ','), s, 'g', -1, 32)
		line = strconv.AppendFloat(append(line, ','), model.Loss.Predict([]float32{float32(s)}), 'g', -1, 32)
		if _, err := out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return out.Flush()
}
