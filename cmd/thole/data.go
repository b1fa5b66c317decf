package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"thole.example/data"
	"thole.example/internal/number"
	"thole.example/metric"
)

func dataCommand(e *env) *cobra.Command {
	c := &cobra.Command{
		Use:     "data",
		Short:   "Make, describe, split and convert examples to learn from",
		Example: "  thole data loans --rows 2000 --out loans.csv\n  thole data describe loans.csv\n  thole data split loans.csv --out parts",
	}
	c.AddCommand(clicksCommand(e), loansCommand(e), describeCommand(e), splitCommand(e), convertDataCommand(e))
	return c
}

// clicking is the flags of data clicks.
type clicking struct {
	rows, skip          int64
	seed                uint64
	rate                float64
	preset, format, out string
	force               bool
}

func clicksCommand(e *env) *cobra.Command {
	var k clicking
	c := &cobra.Command{
		Use:   "clicks",
		Short: "Make click-through examples from a model that is known",
		Long: `Writes examples of clicks and no clicks as text, and says how well somebody could predict them who knows the model that
they were drawn from. Each has one feature of each of twelve fields, some frequent, most rare, and what counts is the sum of their
weights. With --preset criteo each has 13 numbers, some missing, and one feature of each of 26 fields, and weights, pairs of features
and hidden units count (docs/data.md): models with factors and networks learn more of it than linear ones.
An example is a function of the seed and of its number: --skip goes on where another file ended.
As csv and tsv the same examples are tables with the names of the columns: a text for each feature, and with --preset criteo the counts
n1 to n13, nothing where one is missing, and the texts c1 to c26.`,
		Example: `  thole data clicks --rows 20000 --out train.libsvm
  thole data clicks --rows 5000 --skip 20000 --out test.libsvm
  thole data clicks --rows 3 --format dummy
  thole data clicks --preset criteo --rows 20000 --rate 0.01 --out rare.ffm
  thole data clicks --preset criteo --rows 20000 --out train.ffm
  thole data clicks --preset criteo --rows 20000 --out train.csv
  thole data clicks --preset criteo --rows 5000 --skip 1099511627776 --out test.ffm`,
		RunE: func(c *cobra.Command, _ []string) error { return k.run(c.Context(), e) },
	}
	f := c.Flags()
	f.Int64Var(&k.rows, "rows", 20_000, "examples")
	f.Int64Var(&k.skip, "skip", 0, "examples to leave out before the first")
	f.Uint64Var(&k.seed, "seed", 1, "seed of the model and of the examples")
	f.Float64Var(&k.rate, "rate", 0, "share of clicks, such as 0.01 (default: about 0.4 of linear, 0.23 of criteo)")
	f.StringVar(&k.preset, "preset", "linear", "linear or criteo: what the examples are like")
	f.StringVar(&k.format, "format", "", "libsvm, libffm, csv, tsv, or dummy, in which numbers are buckets (default: by the ending, else "+
		"libsvm)")
	f.StringVar(&k.out, "out", "-", `file for the examples, "-" for standard output`)
	f.BoolVar(&k.force, "force", false, "replace the file if it exists")
	return c
}

// clicksLimit is how many examples are made at most: as many as a day of a large site.
const clicksLimit = 1 << 40

func (k *clicking) run(ctx context.Context, e *env) error {
	if k.rows < 1 || k.skip < 0 || k.rows > clicksLimit || k.skip > clicksLimit {
		return usageError{fmt.Errorf("--rows %d --skip %d, want 1 and 0, or more, up to %d", k.rows, k.skip, int64(clicksLimit))}
	}
	if k.rate != 0 && !(k.rate >= rateLeast && k.rate <= 1-rateLeast) {
		return usageError{fmt.Errorf("--rate %v, want a share from %g to %g", k.rate, rateLeast, 1-rateLeast)}
	}
	source, err := data.FindSource(k.format, k.out)
	if err != nil {
		return usageError{err}
	}
	if k.format == "" {
		known := append([]string{".csv", ".tsv"}, lineEndings...)
		if err := wantEnding(data.Unpacked(k.out), ", or a format named with --format", known...); err != nil {
			return err
		}
	}
	model, err := k.model(source.Name)
	if err != nil {
		return err
	}
	write := rowsWriter(&source, model, k.skip)
	if err := write(io.Discard, 0, 1); err != nil {
		return usageError{err}
	}
	s, err := e.sink(k.out, k.force)
	if err != nil {
		return err
	}
	if err := writeExamples(ctx, s, k.skip, k.skip+k.rows, write); err != nil {
		return err
	}
	sample := min(k.rows, truthRows)
	auc, loss, err := best(model, k.skip, k.skip+sample)
	what := fmt.Sprintf("%d features in %d fields", model.Dim(), model.Batch(0, 0).Fields)
	if _, table := source.Cells(); table {
		what = number.Of(len(model.Header()), "column")
	}
	fmt.Fprintf(e.err, "%s: %s of %s", s.path, number.Of(k.rows, "example"), what)
	if err == nil { // else there are labels of one kind only
		fmt.Fprintf(e.err, "; best possible (true model): auc %.5f, logloss %.5f", auc, loss)
	}
	fmt.Fprintln(e.err)
	return nil
}

// clickModel is a model that examples are drawn from.
type clickModel interface {
	Dim() int64
	Batch(lo, hi int64) *data.Batch
	Truth(*data.Batch) []float64
	Header() []string
	AppendCells(line []byte, sep byte, r int64) []byte
}

// rowsWriter is what writes the examples [lo, hi) of a model as text of the source. Tables begin with the names before example first.
func rowsWriter(source *data.Source, model clickModel, first int64) func(w io.Writer, lo, hi int64) error {
	sep, table := source.Cells()
	if !table {
		return func(w io.Writer, lo, hi int64) error { return data.Write(w, source.Name, model.Batch(lo, hi)) }
	}
	var text []byte
	return func(w io.Writer, lo, hi int64) error {
		if text = text[:0]; lo == first {
			text = data.AppendRow(text, sep, model.Header())
		}
		for r := lo; r < hi; r++ {
			text = model.AppendCells(text, sep, r)
		}
		_, err := w.Write(text)
		return err
	}
}

// rateLeast is the smallest share of a class: of some million examples a few are of it.
const rateLeast = 1e-6

// model is the one that examples of the source are drawn from.
func (k *clicking) model(source string) (clickModel, error) {
	switch k.preset {
	case "linear":
		m, err := clicks(k.seed, k.skip+k.rows)
		if err == nil && k.rate > 0 {
			m.WithRate(k.rate)
		}
		return m, err
	case "criteo":
		m := data.NewDeepClicks(data.DeepClicks{Seed: k.seed, Buckets: source == "dummy"})
		if k.rate > 0 {
			m.WithRate(k.rate)
		}
		return m, nil
	}
	return nil, usageError{fmt.Errorf("--preset %q, want linear or criteo", k.preset)}
}

// clickFields are sizes of the one-hot fields of made-up examples: some small like weekday and country, some large like
// site and item.
func clickFields() []int64 { return []int64{2, 7, 24, 50, 12, 300, 1000, 5000, 20, 200, 2000, 100} }

// clickNames are what the fields are called in tables.
func clickNames() []string {
	return []string{"device", "weekday", "hour", "country", "month", "city", "site", "item", "category", "brand", "campaign", "slot"}
}

// clicks is the linear model that examples are drawn from.
func clicks(seed uint64, rows int64) (*data.ClickModel, error) {
	return data.NewClicks(data.Clicks{Seed: seed, Rows: rows, Dims: clickFields(), Names: clickNames(), Skew: 1.1, Spread: 0.6, Bias: -1.2})
}

// Examples are written in portions, between which the context is looked at; of this many the truth is measured.
const (
	writeRows = 10_000
	truthRows = 1_000_000
)

// writeExamples writes the examples [lo, hi), portions of which write writes.
func writeExamples(ctx context.Context, s *sink, lo, hi int64, write func(w io.Writer, lo, hi int64) error) error {
	w, err := s.create(ctx)
	if err != nil {
		return err
	}
	defer w.Abort()
	p := s.progress("write "+s.path, "rows", hi-lo)
	defer p.end()
	for at := lo; at < hi; at += writeRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := write(w, at, min(at+writeRows, hi)); err != nil {
			return err
		}
		if !s.streams() { // which may lead to the terminal
			p.set(min(at+writeRows, hi)-lo, "")
		}
	}
	return w.Commit()
}

// best is how well the true model predicts the examples [lo, hi).
func best(model clickModel, lo, hi int64) (auc, loss float64, err error) {
	var labels, truth []float64
	for ; lo < hi; lo += writeRows {
		part := model.Batch(lo, min(lo+writeRows, hi))
		for _, y := range part.Label {
			labels = append(labels, float64(y))
		}
		truth = append(truth, model.Truth(part)...)
	}
	if auc, err = metric.AUC(truth, labels); err == nil {
		loss, err = metric.LogLoss(truth, labels)
	}
	return auc, loss, err
}
