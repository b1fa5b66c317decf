package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thole.example/dump"
	"thole.example/format"
)

func explainCommand(e *env) *cobra.Command {
	var x explanation
	c := &cobra.Command{
		Use:   "explain PATH",
		Short: "Print the bytes of a stored model with their meaning, or why it scores an example as it does",
		Long: `Prints the bytes of a stored model with their meaning. With --data and --row it says of a model of trees instead what each
feature contributes to the score of one example (TreeSHAP): the contributions and the base, which is the mean over what the trees
were grown from, add up to the margin.`,
		Example: `  thole explain weights.dbdf
  thole explain out/lr | less
  thole explain out/trees --data people.csv --row 3
  thole explain out/trees --data people.csv --row 0 --json`,
		RunE: func(c *cobra.Command, args []string) error {
			if x.asked(c) {
				return x.run(c.Context(), e, args[0])
			}
			return explainBytes(c.Context(), e, args[0], x.from)
		},
	}
	x.flags(e, c)
	return c
}

// explainBytes prints the bytes of a path.
func explainBytes(ctx context.Context, e *env, path, from string) error {
	p := dump.New(e.out)
	at, err := e.locate(ctx, path, from, nil)
	if err != nil && from == "" {
		if known, wrong := e.explainTopology(ctx, path, p); known {
			return wrong
		}
	}
	if err != nil {
		return err
	}
	v, err := format.Pin(ctx, at.bucket, at.name)
	if err != nil {
		return err
	}
	defer v.Close()
	if err := at.Explain(ctx, v, at.name, p); err != nil {
		return format.Wrap(at.Info().Name, at.name, err)
	}
	return p.Err()
}

// explanation is the flags of explain.
type explanation struct {
	prediction
	row int64
	top int
}

func (x *explanation) flags(e *env, c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&x.from, "from", "", "format of the path (default: found out)")
	f.StringArrayVar(&x.job.data, "data", nil, "examples of which one is scored: "+pathsHelp)
	f.Int64Var(&x.row, "row", 0, "number of the example, from 0 on, as thole predict counts them")
	f.IntVar(&x.top, "top", 20, "how many features are told of by themselves, those that contribute most")
	f.IntVar(&x.trees, "trees", 0, "score with the first so many iterations (default: up to the best one)")
	f.BoolVar(&x.asJSON, "json", false, "print JSON")
	f.BoolVar(&x.noLabel, "no-label", false, "the examples have no labels")
	x.startFlag(c)
	x.dataFlags(e, c)
	x.columnFlags.markFlags(c)
}

// asked reports whether an example is to be explained, and not bytes.
func (x *explanation) asked(c *cobra.Command) bool {
	asked := false
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { asked = asked || f.Changed && f.Name != "from" && f.Name != "help" })
	return asked
}

// check finds what makes no sense together.
func (x *explanation) check(path string) error {
	switch {
	case len(x.job.data) == 0:
		return usageError{errors.New("no --data, which names the examples: thole explain " + path + " --data test.csv --row 0")}
	case x.row < 0:
		return usageError{errors.New("--row below 0, want the number of an example, from 0 on")}
	case x.top < 1:
		return usageError{errors.New("--top below 1, want how many features are told of")}
	}
	x.job.model = path
	return x.checkFlags("explain")
}
