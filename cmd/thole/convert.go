package main

import (
	"context"

	"github.com/spf13/cobra"

	"thole/blob"
	"thole/format"
	"thole/matrix"
)

// conversion is the flags of convert.
type conversion struct {
	source
	to     string
	out    map[string]string
	only   []string
	lossy  bool
	force  bool
	silent bool
}

func convertCommand(e *env) *cobra.Command {
	var v conversion
	c := &cobra.Command{
		Use:   "convert SRC DST",
		Short: "Write a stored model in another format",
		Long: `Reads the matrices of SRC and writes them to DST, a block at a time. What the target cannot hold is refused, unless
--lossy allows to lose it. DST appears whole or not at all.`,
		Example: `  thole convert out/lr lr.params --to paddle
  thole convert out/lr lr-daphne --to daphne
  thole convert weights.npy weights.dbdf`,
		Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), e, args[0], args[1]) },
	}
	v.flags(c, false)
	f := c.Flags()
	f.StringVar(&v.to, "to", "", "format of DST (default: by its ending)")
	f.StringToStringVar(&v.out, "out", nil, "options of the format of DST, NAME=VALUE")
	f.StringSliceVar(&v.only, "matrix", nil, "matrices to take (default: all)")
	f.BoolVar(&v.lossy, "lossy", false, "allow to lose what the target cannot hold, and say what was lost")
	f.BoolVar(&v.force, "force", false, "replace DST if it exists")
	return c
}

func (v *conversion) run(ctx context.Context, e *env, src, dst string) error {
	if err := replaceable(dst, v.force); err != nil {
		return err
	}
	codec, err := v.target(dst)
	if err != nil {
		return err
	}
	r, _, err := open(ctx, src, v.from, v.set)
	if err != nil {
		return err
	}
	defer r.Close()
	b, name, err := blob.Local(dst)
	if err != nil {
		return err
	}
	p := newProgress(e.err, "convert", "values", values(r.Matrices()))
	defer p.end()
	o := format.Options{Lossy: v.lossy, Set: v.out, Lost: func(what string) {
		if !v.silent {
			p.line("left out: %s", what)
		}
	}}
	if err := format.Convert(ctx, r, codec, b, name, o, v.only, p.add); err != nil {
		return err
	}
	if !v.silent {
		p.line("%s: %s", dst, codec.Info().Title)
	}
	return nil
}

func (v *conversion) target(dst string) (format.Codec, error) {
	if v.to != "" {
		return codecs().Lookup(v.to)
	}
	c, _, err := codecs().ByExt(dst)
	return c, err
}

// values is how many values the matrices have at most, for the progress.
func values(ms []matrix.Meta) (n int64) {
	for _, m := range ms {
		if cells, ok := matrix.Cells(m.Rows, m.Cols); ok {
			n += cells
		}
	}
	return n
}
