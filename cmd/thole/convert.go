package main

import (
	"github.com/spf13/cobra"

	"thole.example/format"
	"thole.example/matrix"
)

func convertCommand(e *env) *cobra.Command {
	var s source
	var o output
	c := &cobra.Command{
		Use:   "convert SRC DST",
		Short: "Write a stored model in another format",
		Long: `Reads the matrices of SRC and writes them to DST, a block at a time. What the target cannot hold is refused, unless
--lossy allows to lose it; it is said then what was lost, and how large a sparse matrix becomes with every cell stored.
DST appears whole or not at all, and replaces what was there only with --force.

The format of DST is that of its ending, or --to. A format of one matrix in a file takes one matrix to the file DST,
which names it; several matrices, or one if DST ends in a slash, become files of their names in the folder DST.
Options that a format has for reading and writing are those of DST here if it has them, else those of SRC; --set and --out
say which is meant.`,
		Example: `  thole convert out/lr model.params --to paddle
  thole convert out/lr lr-daphne --to daphne
  thole convert weights.npy matrix.dbdf
  thole convert weights.npy model --to angel --partition range --block-rows 2 --partitions-per-file 4
  thole convert matrix.dbdf small.dbdf --narrow --json
  thole convert matrix.dbdf table.tsv --out header=true`,
		RunE: func(c *cobra.Command, args []string) error {
			p, err := e.locate(c.Context(), args[0], s.from, s.set)
			if err != nil {
				return err
			}
			return o.save(c.Context(), e, []*place{p}, args[1], unchanged)
		},
	}
	s.formatFlags(c)
	o.flags(c, "by its ending")
	return c
}

// unchanged is the only source.
func unchanged(rs []format.Reader) (format.Reader, error) { return rs[0], nil }

// values is how many values the matrices have at most, for the progress.
func values(ms []matrix.Meta) (n int64) {
	for _, m := range ms {
		if cells, ok := matrix.Cells(m.Rows, m.Cols); ok {
			n += cells
		}
	}
	return n
}
