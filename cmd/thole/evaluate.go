package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func evaluateCommand(e *env) *cobra.Command {
	var p prediction
	c := &cobra.Command{
		Use:   "evaluate",
		Short: "Measure a stored model on labelled examples",
		Long: `Measures a stored model in any format on labelled examples: the mean loss, and AUC and accuracy of classes, or RMSE, MAE and
R2 of values. They are those of thole train --validate and of thole predict, to the last digit.`,
		Example: `  thole evaluate --model out/lr --data test.libsvm
  thole evaluate --model lr.params --algo lr --data 'test-*.libsvm' --json`,
		RunE: func(c *cobra.Command, _ []string) error { return p.evaluate(c.Context(), e) },
	}
	p.flags(c)
	return c
}

func (p *prediction) evaluate(ctx context.Context, e *env) error {
	if err := p.checkFlags("evaluate"); err != nil {
		return err
	}
	s, err := p.measure(ctx, e)
	if err != nil {
		return err
	}
	if p.asJSON {
		return json.NewEncoder(e.out).Encode(s)
	}
	w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "examples\t%d\n", s.Examples)
	for _, m := range s.Metrics {
		fmt.Fprintf(w, "%s\t%.6g\n", m.Name, m.Value)
	}
	return w.Flush()
}
