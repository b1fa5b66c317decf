package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"thole.example/graph"
	"thole.example/metric"
	"thole.example/report"
)

// evaluation is a prediction that is measured by all metrics, and told of in a page.
type evaluation struct {
	prediction
	report     string // path; "": none
	force      bool
	importance permuting
}

func evaluateCommand(e *env) *cobra.Command {
	var v evaluation
	c := &cobra.Command{
		Use:   "evaluate [MODEL] [DATA...]",
		Short: "Measure a stored model on labelled examples",
		Long: `Measures a stored model in any format on labelled examples, which are named as arguments or by --model and --data: the mean
loss, and all metrics that fit what is predicted. Those of thole train --validate and of thole predict are among them, to the last digit.

Metrics of two classes: ` + metricsOf(metric.Classification) + ` (those of calibration and logloss where the loss gives probabilities, gauc
where examples have groups). Of several classes: ` + metricsOf(metric.Multiclass) + `. Of values: ` + metricsOf(metric.Regression) + `. Of
the order in groups (boosted trees by lambdarank): ` + metricsOf(metric.Ranking) + `, and ndcg@K and map@K of any K.

--importance says by how much the loss, or another metric, becomes worse where a feature has the values of other examples: how much a model
of trees depends on it for these examples.

--report writes a page (HTML, one file that needs nothing else): of two classes calibration, ROC, precision and recall, lift, gain and
thresholds; of several the confusion; of values predicted and actual ones and the errors; of rankings NDCG and MAP by places.`,
		Example: `  thole evaluate out/lr test.libsvm
  thole evaluate out/lr test.libsvm --report report.html
  thole evaluate out/trees people.csv --importance --importance-metric auc
  thole evaluate --model lr.params --algo lr --data 'test-*.libsvm' --json`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := v.importance.check(c); err != nil {
				return err
			}
			return v.run(c.Context(), e, args)
		},
	}
	v.flags(e, c)
	v.all = true
	f := c.Flags()
	f.StringVar(&v.report, "report", "", "write a page of HTML with metrics, curves and tables; - is standard output")
	f.BoolVar(&v.force, "force", false, "replace the report if it exists")
	v.importance.flags(c)
	return c
}

// metricsOf are the names of the metrics of a task.
func metricsOf(t metric.Task) string {
	var names []string
	for _, m := range metric.Metrics() {
		if m.For(t) {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, ", ")
}

// named takes the model and the examples from arguments, which are no flags then.
func (v *evaluation) named(args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case v.job.model != "" || len(v.job.data) > 0:
		flags := "--data"
		if v.job.model != "" {
			flags = "--model"
		}
		return usageError{fmt.Errorf("%q beside %s, want either arguments, thole evaluate MODEL DATA..., or --model MODEL --data DATA",
			args[0], flags)}
	case len(args) == 1:
		return usageError{fmt.Errorf("no examples beside the model %q, want thole evaluate MODEL DATA...", args[0])}
	}
	v.job.model, v.job.data = args[0], args[1:]
	return nil
}

func (v *evaluation) run(ctx context.Context, e *env, args []string) error {
	if err := v.named(args); err != nil {
		return err
	}
	if err := v.checkFlags("evaluate"); err != nil {
		return err
	}
	page, err := v.page(ctx, e)
	if err != nil {
		return err
	}
	out, model := e.out, v.job.model // as the user wrote it
	if v.importance.asked {
		v.permute = &v.importance
	}
	s, err := v.measure(ctx, e)
	if err != nil {
		return err
	}
	switch {
	case s.Examples == 0:
		return fmt.Errorf("%s: no examples", strings.Join(v.job.data, ", "))
	case s.groupless:
		return fmt.Errorf("%s: examples without groups, within which %s puts them in order; want %s", strings.Join(v.job.data, ", "), model,
			groupsWanted)
	case s.outputs != nil:
		return fmt.Errorf("%s: %s; thole predict --no-label scores them", model, s.notMeasured())
	case s.of == nil:
		return fmt.Errorf("%s: no labels, want some to compare predictions with (thole predict scores examples without)",
			strings.Join(v.job.data, ", "))
	}
	if v.importance.asked {
		if s.Importance, err = v.importance.measure(ctx, e, model, s); err != nil {
			return err
		}
	}
	if _, several := s.of.Loss.(graph.Several); several && page != nil {
		return usageError{fmt.Errorf("--report: %s predicts several quantiles, and the page is of one prediction; leave out --report", model)}
	}
	if page != nil {
		out = page.reports()
		if err := v.write(ctx, page, model, s); err != nil {
			return err
		}
	}
	if v.asJSON {
		return json.NewEncoder(out).Encode(s)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "examples\t%d\n", s.Examples)
	for _, m := range s.Metrics {
		fmt.Fprintf(w, "%s\t%.6g\n", m.Name, m.Value)
	}
	if page != nil {
		fmt.Fprintf(w, "report\t%s\n", page.path)
	}
	if err := w.Flush(); err != nil || s.Importance == nil {
		return err
	}
	return s.Importance.print(legible{out})
}

// page is where the page goes, which must not be what is read; nil: nowhere.
func (v *evaluation) page(ctx context.Context, e *env) (*sink, error) {
	if v.report == "" {
		if v.force {
			return nil, usageError{errors.New("--force without --report: it replaces the report")}
		}
		return nil, nil
	}
	to, err := e.sink(v.report, v.force)
	if err != nil {
		return nil, fmt.Errorf("--report: %w", err)
	}
	if err := v.job.apart(ctx, "report", v.report); err != nil {
		return nil, err
	}
	if err := wantEnding(v.report, "", ".html", ".htm"); err != nil {
		return nil, fmt.Errorf("--report: %w", err)
	}
	if err := to.apart(v.job.model); err != nil {
		return nil, fmt.Errorf("--report: %w", err)
	}
	return to, nil
}

// write writes the page of the model.
func (v *evaluation) write(ctx context.Context, to *sink, model string, s *scored) error {
	in, err := s.of.Input()
	if err != nil {
		return err
	}
	r := report.Report{
		Title: fmt.Sprintf("Evaluation of %s", model), Task: metric.Task(s.of.Loss.Task()), Input: in, Classes: s.names(),
		Facts: []report.Fact{{Name: "model", Text: model}, {Name: "data", Text: strings.Join(v.job.data, ", ")},
			{Name: "examples", Text: fmt.Sprint(s.Examples)}, {Name: "loss", Text: s.of.Loss.Name()}},
	}
	if s.weight != nil {
		r.Facts = append(r.Facts, report.Fact{Name: "weights", Text: "each example counts as many times as its weight says, below too"})
	}
	for _, m := range s.Metrics {
		help := "mean of the loss that training makes small"
		if known, err := metric.Find(m.Name); err == nil {
			help = known.Help
		} else if m.Name == "ndcgloss" {
			help = "1 less ndcg"
		}
		r.Metrics = append(r.Metrics, report.Value{Name: m.Name, Value: m.Value, Help: help})
	}
	w, err := to.create(ctx)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := r.Write(w); err != nil {
		return err
	}
	return w.Commit()
}

// names are what the classes are called where the examples come from; of -1 and +1, which may be 0 and 1 there, what they mean.
func (s *scored) names() []string {
	switch {
	case len(s.texts) == 2:
		return s.texts
	case s.texts == nil && s.classes.IsStandard():
		return []string{"negative", "positive"}
	}
	var names []string
	for _, c := range s.classes {
		if k := int(c); k >= 0 && k < len(s.texts) {
			names = append(names, s.texts[k])
		} else {
			names = append(names, fmt.Sprint(c))
		}
	}
	return names
}
