package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"thole.example/dump"
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
	p, err := l.locate(ctx, e, path)
	if err != nil {
		return err
	}
	r, err := p.read(ctx, e)
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

func explainCommand(e *env) *cobra.Command {
	var s source
	c := &cobra.Command{
		Use:     "explain PATH",
		Short:   "Print the bytes of a stored model with their meaning",
		Example: "  thole explain weights.dbdf\n  thole explain out/lr | less",
		RunE: func(c *cobra.Command, args []string) error {
			p := dump.New(e.out)
			at, err := e.locate(c.Context(), args[0], s.from, nil)
			if err != nil && s.from == "" {
				if known, wrong := e.explainTopology(c.Context(), args[0], p); known {
					return wrong
				}
			}
			if err != nil {
				return err
			}
			if err := at.Explain(c.Context(), at.bucket, at.name, p); err != nil {
				return format.Wrap(at.Info().Name, at.name, err)
			}
			return p.Err()
		},
	}
	c.Flags().StringVar(&s.from, "from", "", "format of the path (default: found out)")
	return c
}
