package main

import (
	"github.com/spf13/cobra"

	"thole/blob"
	"thole/format"
	"thole/internal/dump"
)

// source is the flags of commands that read a stored model.
type source struct {
	from   string
	set    map[string]string
	matrix string
}

func (s *source) flags(c *cobra.Command, oneMatrix bool) {
	c.Flags().StringVar(&s.from, "from", "", "format of the path (default: found out)")
	c.Flags().StringToStringVar(&s.set, "set", nil, "options of the format, NAME=VALUE (see thole formats)")
	if oneMatrix {
		c.Flags().StringVar(&s.matrix, "matrix", "", "name of the matrix (default: the only one)")
	}
}

func catCommand(e *env) *cobra.Command {
	var s source
	c := &cobra.Command{
		Use:   "cat PATH",
		Short: "Print the values of a matrix as row, column, value",
		Long: `Prints lines "row<TAB>column<TAB>value": the stored entries of a sparse matrix, every cell of a dense one, numbers in
their shortest form that reads back exactly. The exit status is 0 only if every byte was accounted for.`,
		Example: "  thole cat out/lr --matrix input_weight | head\n  thole cat weights.npy",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, _, err := open(c.Context(), args[0], s.from, s.set)
			if err != nil {
				return err
			}
			defer r.Close()
			m, err := format.Find(r, s.matrix)
			if err != nil {
				return err
			}
			return format.Cat(c.Context(), e.out, r, m)
		},
	}
	s.flags(c, true)
	return c
}

func explainCommand(e *env) *cobra.Command {
	var s source
	c := &cobra.Command{
		Use:     "explain PATH",
		Short:   "Print the bytes of a stored model with their meaning",
		Example: "  thole explain weights.dbdf\n  thole explain out/lr | less",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			b, name, err := blob.Local(args[0])
			if err != nil {
				return err
			}
			codec, err := pick(c, b, name, s.from)
			if err != nil {
				return err
			}
			p := dump.New(e.out)
			if err := codec.Explain(c.Context(), b, name, p); err != nil {
				return format.Wrap(codec.Info().Name, name, err)
			}
			return p.Err()
		},
	}
	c.Flags().StringVar(&s.from, "from", "", "format of the path (default: found out)")
	return c
}

func pick(c *cobra.Command, b blob.Bucket, name, from string) (format.Codec, error) {
	if from != "" {
		return codecs().Lookup(from)
	}
	codec, _, err := codecs().Detect(c.Context(), b, name)
	return codec, err
}
