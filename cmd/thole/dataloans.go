package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/data"
	"thole.example/internal/number"
	"thole.example/metric"
)

// lending is the flags of data loans.
type lending struct {
	rows, skip int64
	seed       uint64
	out        string
	force      bool
}

func loansCommand(e *env) *cobra.Command {
	var k lending
	c := &cobra.Command{
		Use:   "loans",
		Short: "Make a table of loans, with texts, dates and holes, from a model that is known",
		Long: `Writes loans and whether they defaulted as CSV, or TSV by the ending, and says how well somebody could predict it who knows
the model that they were drawn from. Numbers and texts are missing here and there, one column has dates, one several levels in a
cell, and rows with higher numbers have cities that those before do not: what tables of people are like. A row is a function of
the seed and of its number: --skip goes on where another file ended.`,
		Example: `  thole data loans --rows 20000 --out loans.csv
  thole data loans --rows 5000 --skip 20000 --out new.csv
  thole data loans --rows 3`,
		RunE: func(c *cobra.Command, _ []string) error { return k.run(c.Context(), e) },
	}
	f := c.Flags()
	f.Int64Var(&k.rows, "rows", 20_000, "loans")
	f.Int64Var(&k.skip, "skip", 0, "loans to leave out before the first")
	f.Uint64Var(&k.seed, "seed", 1, "seed of the model and of the loans")
	f.StringVar(&k.out, "out", "-", `file for the table, "-" for standard output`)
	f.BoolVar(&k.force, "force", false, "replace the file if it exists")
	return c
}

func (k *lending) run(ctx context.Context, e *env) error {
	if k.rows < 1 || k.skip < 0 || k.rows > clicksLimit || k.skip > clicksLimit {
		return usageError{fmt.Errorf("--rows %d --skip %d, want 1 and 0, or more, up to %d", k.rows, k.skip, int64(clicksLimit))}
	}
	if err := wantEnding(data.Unpacked(k.out), "", ".csv", ".tsv", ".txt"); err != nil {
		return err
	}
	s, err := e.sink(k.out, k.force)
	if err != nil {
		return err
	}
	sep := byte(',')
	if strings.HasSuffix(data.Unpacked(k.out), ".tsv") {
		sep = '\t'
	}
	m := data.Loans{Seed: k.seed}
	if err := k.write(ctx, s, m, sep); err != nil {
		return err
	}
	var truth, labels []float64
	for i := k.skip; i < k.skip+min(k.rows, truthRows); i++ {
		truth, labels = append(truth, m.Truth(i)), append(labels, float64(btoi(m.Defaulted(i))))
	}
	fmt.Fprintf(e.err, "%s: %s", s.path, number.Of(k.rows, "loan"))
	if auc, err := metric.AUC(truth, labels); err == nil && auc == auc { // else there are labels of one kind only
		loss, err := metric.LogLoss(truth, labels)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.err, "; best possible (true model): auc %.5f, logloss %.5f", auc, loss)
	}
	fmt.Fprintln(e.err)
	return nil
}

// write writes the rows, some at a time.
func (k *lending) write(ctx context.Context, s *sink, m data.Loans, sep byte) error {
	w, err := s.create(ctx)
	if err != nil {
		return err
	}
	defer w.Abort()
	line := append([]byte(strings.Join(data.LoansHeader(), string(sep))), '\n')
	for i := k.skip; i < k.skip+k.rows; i++ {
		line = m.Append(line, i, sep)
		if len(line) < 1<<16 && i+1 < k.skip+k.rows {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
		line = line[:0]
	}
	return w.Commit()
}
