package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"thole.example/format"
	"thole.example/matrix"
)

// listing is the flags of cat.
type listing struct {
	source
	rows, cols string
}

func catCommand(e *env) *cobra.Command {
	var l listing
	c := &cobra.Command{
		Use:   "cat PATH",
		Short: "Print the values of a matrix as row, column, value",
		Long: `Prints lines "row<TAB>column<TAB>value": the stored entries of a sparse matrix, every cell of a dense one, numbers in
their shortest form that reads back exactly. Up to 65536 cells come row by row, more in the order of the file's blocks.
The exit status is 0 only if every byte was accounted for. With --rows and --cols only what they need is read, where the
format allows it.`,
		Example: `  thole cat out/lr --matrix input_weight | head
  thole cat weights.npy
  thole cat weights.npy --rows 0:2 --cols 1:3`,
		RunE: func(c *cobra.Command, args []string) error { return l.run(c.Context(), e, args[0]) },
	}
	l.flags(c, true)
	c.Flags().StringVar(&l.rows, "rows", ":", "rows FROM:TO, TO not included, or one row")
	c.Flags().StringVar(&l.cols, "cols", ":", "columns FROM:TO, TO not included, or one column")
	return c
}

func (l *listing) run(ctx context.Context, e *env, path string) error {
	at, err := parseRect(l.rows, l.cols)
	if err != nil {
		return err
	}
	r, err := l.open(ctx, e, path)
	if err != nil {
		return err
	}
	defer r.Close()
	m, err := format.Find(r, l.matrix)
	if err != nil {
		return err
	}
	if m.Rect().Intersect(at).Empty() && !m.Rect().Empty() {
		return fmt.Errorf("--rows %s --cols %s: matrix %q is %v", l.rows, l.cols, m.Name, m.Rect())
	}
	return format.Cat(ctx, e.out, r, m, at)
}

// parseRect reads the ranges of --rows and --cols.
func parseRect(rows, cols string) (at matrix.Rect, err error) {
	if at.Rows, err = parseRange("rows", rows); err == nil {
		at.Cols, err = parseRange("cols", cols)
	}
	return at, err
}
