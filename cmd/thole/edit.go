package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"thole/blob"
	"thole/edit"
	"thole/format"
	"thole/matrix"
)

// output is the flags of commands that read models and write one.
type output struct {
	conversion
}

func (o *output) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.to, "to", "", "format of DST (default: that of the first source)")
	f.StringToStringVar(&o.out, "out", nil, "options of the format of DST, NAME=VALUE")
	f.StringSliceVar(&o.only, "matrix", nil, "matrices to take (default: all)")
	f.BoolVar(&o.lossy, "lossy", false, "allow to lose what the target cannot hold, and say what was lost")
	f.BoolVar(&o.force, "force", false, "replace DST if it exists")
}

// write reads the sources, changes them, and writes the result.
func (o *output) write(ctx context.Context, e *env, srcs []string, dst string, change func([]format.Reader) (format.Reader, error)) error {
	if err := replaceable(dst, o.force); err != nil {
		return err
	}
	var rs []format.Reader
	var first format.Codec
	for _, src := range srcs {
		r, codec, err := open(ctx, src, "", nil)
		if err != nil {
			return err
		}
		defer r.Close()
		if first == nil {
			first = codec
		}
		if len(o.only) > 0 {
			if r, err = edit.Only(r, o.only); err != nil {
				return err
			}
		}
		rs = append(rs, r)
	}
	if o.to != "" {
		codec, err := codecs().Lookup(o.to)
		if err != nil {
			return usageError{err}
		}
		first = codec
	}
	r, err := change(rs)
	if err != nil {
		return err
	}
	b, name, err := blob.Local(dst)
	if err != nil {
		return err
	}
	p := newProgress(e.err, "write", "values", values(r.Matrices()))
	defer p.end()
	opts := format.Options{Lossy: o.lossy, Set: o.out, Lost: func(what string) { p.line("left out: %s", what) }}
	if err := format.Convert(ctx, r, first, b, name, opts, nil, p.add); err != nil {
		return err
	}
	p.line("%s: %s", dst, first.Info().Title)
	return nil
}

func mergeCommand(e *env) *cobra.Command {
	var o output
	c := &cobra.Command{
		Use:     "merge SRC SRC... DST",
		Short:   "Put the matrices of several models into one",
		Example: "  thole merge wide deep both\n  thole merge a.npy b.npy c.npz --to npz",
		Args:    cobra.MinimumNArgs(3),
		RunE: func(c *cobra.Command, args []string) error {
			return o.write(c.Context(), e, args[:len(args)-1], args[len(args)-1], func(rs []format.Reader) (format.Reader, error) {
				return edit.Merge(rs...)
			})
		},
	}
	o.flags(c)
	return c
}

func averageCommand(e *env) *cobra.Command {
	var o output
	var weights []float64
	c := &cobra.Command{
		Use:     "average SRC SRC... DST",
		Short:   "Average models of the same shape, cell by cell",
		Example: "  thole average seed1 seed2 seed3 mean\n  thole average old new blend --weights 0.9,0.1",
		Args:    cobra.MinimumNArgs(3),
		RunE: func(c *cobra.Command, args []string) error {
			return o.write(c.Context(), e, args[:len(args)-1], args[len(args)-1], func(rs []format.Reader) (format.Reader, error) {
				return edit.Average(rs, weights)
			})
		},
	}
	o.flags(c)
	c.Flags().Float64SliceVar(&weights, "weights", nil, "weight of each source (default: all alike)")
	return c
}

func pruneCommand(e *env) *cobra.Command {
	var o output
	below := 0.0
	c := &cobra.Command{
		Use:     "prune SRC DST",
		Short:   "Drop values of small magnitude: zero in dense matrices, absent in sparse ones",
		Example: "  thole prune out/lr out/small --below 1e-4",
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if !(below > 0) {
				return usageError{errors.New("no --below, want a number above 0")}
			}
			dropped := 0
			err := o.write(c.Context(), e, args[:1], args[1], func(rs []format.Reader) (format.Reader, error) {
				return edit.Prune(rs[0], below, func(n int) { dropped += n }), nil
			})
			if err == nil {
				fmt.Fprintf(e.out, "%d values below %g dropped\n", dropped, below)
			}
			return err
		},
	}
	o.flags(c)
	c.Flags().Float64Var(&below, "below", 0, "magnitude below which values go")
	return c
}

func sliceCommand(e *env) *cobra.Command {
	var o output
	var rows, cols string
	c := &cobra.Command{
		Use:     "slice SRC DST",
		Short:   "Keep some rows and columns of the matrices, counted from 0 again",
		Example: "  thole slice out/fm out/part --rows 0:4 --cols 1000:2000",
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := parseRange("rows", rows)
			if err != nil {
				return err
			}
			k, err := parseRange("cols", cols)
			if err != nil {
				return err
			}
			return o.write(c.Context(), e, args[:1], args[1], func(rs []format.Reader) (format.Reader, error) {
				return edit.Slice(rs[0], r, k)
			})
		},
	}
	o.flags(c)
	c.Flags().StringVar(&rows, "rows", ":", "rows FROM:TO, TO not included")
	c.Flags().StringVar(&cols, "cols", ":", "columns FROM:TO, TO not included")
	return c
}

// parseRange reads "a:b", where either number may be left out.
func parseRange(flag, text string) (matrix.Range, error) {
	r := matrix.Range{Lo: -1 << 63, Hi: 1<<63 - 1}
	lo, hi, ok := strings.Cut(text, ":")
	var err error
	if lo != "" {
		r.Lo, err = strconv.ParseInt(lo, 10, 64)
	}
	if hi != "" && err == nil {
		r.Hi, err = strconv.ParseInt(hi, 10, 64)
	}
	if !ok || err != nil || r.Hi <= r.Lo {
		return r, usageError{fmt.Errorf("--%s %q, want FROM:TO like 0:10", flag, text)}
	}
	return r, nil
}

func renameCommand(e *env) *cobra.Command {
	var o output
	var names map[string]string
	c := &cobra.Command{
		Use:     "rename SRC DST",
		Short:   "Give matrices other names",
		Example: "  thole rename out/lr out/lr2 --name input_weight=w,input_bias=b",
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			if len(names) == 0 {
				return usageError{errors.New("no --name OLD=NEW")}
			}
			return o.write(c.Context(), e, args[:1], args[1], func(rs []format.Reader) (format.Reader, error) {
				return edit.Rename(rs[0], names)
			})
		},
	}
	o.flags(c)
	c.Flags().StringToStringVar(&names, "name", nil, "OLD=NEW")
	return c
}

// errDiffer ends diff with status 1 after it has printed what differs.
var errDiffer = errors.New("the models differ")

func diffCommand(e *env) *cobra.Command {
	asJSON, within := false, 0.0
	c := &cobra.Command{
		Use:     "diff A B",
		Short:   "Compare two models value by value, whatever their formats",
		Long:    "Compares the values of two models. The exit status is 0 if they are the same, within --within if it is given.",
		Example: "  thole diff out/lr lr.params\n  thole diff before after --within 1e-6",
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			a, _, err := open(c.Context(), args[0], "", nil)
			if err != nil {
				return err
			}
			defer a.Close()
			b, _, err := open(c.Context(), args[1], "", nil)
			if err != nil {
				return err
			}
			defer b.Close()
			found, err := edit.Compare(c.Context(), a, b)
			if err != nil {
				return err
			}
			return printDiff(e, found, asJSON, within)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().Float64Var(&within, "within", 0, "largest absolute difference that counts as the same")
	return c
}

func printDiff(e *env, found []edit.Difference, asJSON bool, within float64) error {
	var failed error
	for _, d := range found {
		if !d.Same() && (d.What != "" || d.Largest > within || within == 0) {
			failed = errDiffer
		}
	}
	if asJSON {
		if err := json.NewEncoder(e.out).Encode(found); err != nil {
			return err
		}
		return failed
	}
	w := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "MATRIX\tCELLS\tDIFFER\tIN ONE ONLY\tLARGEST\tAT")
	for _, d := range found {
		switch {
		case d.What != "":
			fmt.Fprintf(w, "%s\t%s\n", d.Matrix, d.What)
		case d.Same():
			fmt.Fprintf(w, "%s\t%d\t0\t0\tsame\t\n", d.Matrix, d.Cells)
		default:
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.6g\t(%d,%d)\n", d.Matrix, d.Cells, d.Differ, d.Missing, d.Largest, d.Row, d.Col)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return failed
}
