package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"thole.example/edit"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/tree"
)

// edit is what the commands that change models do: the sources are read, changed, and written to dst.
func (o *output) edit(ctx context.Context, e *env, srcs []string, dst string, change func([]format.Reader) (format.Reader, error)) error {
	var places []*place
	for _, src := range srcs {
		p, err := e.locate(ctx, src, "", nil)
		if err != nil {
			return err
		}
		places = append(places, p)
	}
	o.keeps = true
	return o.save(ctx, e, places, dst, change)
}

// editValues is edit for changes of matrices that models of trees, whose matrices belong together, do not survive.
func (o *output) editValues(ctx context.Context, e *env, srcs []string, dst string,
	change func([]format.Reader) (format.Reader, error)) error {
	return o.edit(ctx, e, srcs, dst, func(rs []format.Reader) (format.Reader, error) {
		for i, r := range rs {
			if r.Files()[tree.FileName] != nil {
				return nil, fmt.Errorf("%s is a model of trees, whose matrices belong together: want them as they are (thole convert, merge)", srcs[i])
			}
		}
		return change(rs)
	})
}

// ofFirst says what decides the format of an edited model.
const ofFirst = "by its ending, else that of the first source"

func mergeCommand(e *env) *cobra.Command {
	var o output
	c := &cobra.Command{
		Use:     "merge SRC SRC... DST",
		Short:   "Put the matrices of several models into one",
		Example: "  thole merge wide deep both\n  thole merge a.npy b.npy c.npz --to npz",
		RunE: func(c *cobra.Command, args []string) error {
			return o.edit(c.Context(), e, args[:len(args)-1], args[len(args)-1], func(rs []format.Reader) (format.Reader, error) {
				return edit.Merge(rs...)
			})
		},
	}
	o.flags(c, ofFirst)
	return c
}

func averageCommand(e *env) *cobra.Command {
	var o output
	var weights []float64
	c := &cobra.Command{
		Use:     "average SRC SRC... DST",
		Short:   "Average models of the same shape, cell by cell",
		Example: "  thole average seed1 seed2 seed3 mean\n  thole average old new blend --weights 0.9,0.1",
		RunE: func(c *cobra.Command, args []string) error {
			return o.editValues(c.Context(), e, args[:len(args)-1], args[len(args)-1], func(rs []format.Reader) (format.Reader, error) {
				return edit.Average(rs, weights)
			})
		},
	}
	o.flags(c, ofFirst)
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
		RunE: func(c *cobra.Command, args []string) error {
			if !(below > 0) {
				return usageError{errors.New("no --below, want a number above 0")}
			}
			dropped := 0
			err := o.editValues(c.Context(), e, args[:1], args[1], func(rs []format.Reader) (format.Reader, error) {
				return edit.Prune(rs[0], below, func(n int) { dropped += n }), nil
			})
			if err == nil {
				fmt.Fprintf(e.out, "%d values below %g dropped\n", dropped, below)
			}
			return err
		},
	}
	o.flags(c, ofFirst)
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
		RunE: func(c *cobra.Command, args []string) error {
			at, err := parseRect(rows, cols)
			if err != nil {
				return err
			}
			return o.editValues(c.Context(), e, args[:1], args[1], func(rs []format.Reader) (format.Reader, error) {
				return edit.Slice(rs[0], at.Rows, at.Cols)
			})
		},
	}
	o.flags(c, ofFirst)
	c.Flags().StringVar(&rows, "rows", ":", "rows FROM:TO, TO not included, or one row")
	c.Flags().StringVar(&cols, "cols", ":", "columns FROM:TO, TO not included, or one column")
	return c
}

// parseRange reads "a:b", where either number may be left out, or "a".
func parseRange(flag, text string) (matrix.Range, error) {
	r := matrix.Range{Lo: math.MinInt64, Hi: math.MaxInt64}
	lo, hi, two := strings.Cut(text, ":")
	var errs [2]error
	if lo != "" || !two {
		r.Lo, errs[0] = strconv.ParseInt(lo, 10, 64)
	}
	if hi != "" {
		r.Hi, errs[1] = strconv.ParseInt(hi, 10, 64)
	} else if !two && r.Lo < math.MaxInt64 {
		r.Hi = r.Lo + 1
	}
	if errors.Join(errs[:]...) != nil || r.Hi <= r.Lo {
		return r, usageError{fmt.Errorf("--%s %q, want FROM:TO like 0:10, or one number", flag, text)}
	}
	return r, nil
}

func renameCommand(e *env) *cobra.Command {
	var o output
	var names map[string]string
	c := &cobra.Command{
		Use:     "rename SRC DST",
		Short:   "Rename matrices",
		Example: "  thole rename out/lr out/lr2 --name input_weight=w,input_bias=b",
		RunE: func(c *cobra.Command, args []string) error {
			if len(names) == 0 {
				return usageError{errors.New("no --name OLD=NEW")}
			}
			return o.editValues(c.Context(), e, args[:1], args[1], func(rs []format.Reader) (format.Reader, error) {
				return edit.Rename(rs[0], names)
			})
		},
	}
	o.flags(c, ofFirst)
	pairsVar(c.Flags(), &names, "name", "OLD=NEW")
	return c
}

// errDiffer ends diff with status 1 after it has printed what differs.
var errDiffer = errors.New("the models differ")

func diffCommand(e *env) *cobra.Command {
	asJSON, within := false, 0.0
	var w flagValues
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two models value by value, whatever their formats",
		Long: `Compares the values of two models, matrix by matrix of the same name; if each has only one, whatever the names. Of models of
trees it says first which tree and node is the first that is another. The exit
status is 0 if they are the same, within --within if it is given, 1 if they differ, and 3 if they could not be compared.`,
		Example: "  thole diff out/lr lr.params\n  thole diff before after --within 1e-6\n  thole diff before after --json",
		RunE: func(c *cobra.Command, args []string) error {
			if !(within >= 0) {
				return usageError{fmt.Errorf("--within %g, want a number from 0 on", within)}
			}
			found, err := diff(c.Context(), e, args, w, within)
			if err == nil {
				err = printDiff(e, found, asJSON, within)
			}
			if err != nil && !errors.Is(err, errDiffer) {
				return exitStatus{err, exitTrouble}
			}
			return err
		},
	}
	w.flags(c, true, false)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().Float64Var(&within, "within", 0, "largest absolute difference that counts as the same")
	return c
}

// diff compares the models of two paths.
func diff(ctx context.Context, e *env, paths []string, w flagValues, within float64) ([]edit.Difference, error) {
	places, sides := make([]*place, len(paths)), make([]*side, len(paths))
	for i, path := range paths {
		var err error
		if places[i], err = e.locate(ctx, path, "", nil); err != nil {
			return nil, err
		}
		sides[i] = &places[i].side
	}
	if err := w.share(nil, sides...); err != nil {
		return nil, err
	}
	rs := make([]watched, len(places))
	p := e.progress("diff", "values", 1)
	defer p.end()
	total := int64(0)
	for i, at := range places {
		r, err := at.read(ctx, e)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		rs[i] = watched{r, p.add}
		total += values(r.Matrices())
	}
	p.expect(total)
	found, err := edit.Compare(ctx, rs[0], rs[1])
	if err != nil {
		return nil, err
	}
	trees, err := diffTrees(ctx, rs[0].Reader, rs[1].Reader, within)
	return append(trees, found...), err
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
	w := tabwriter.NewWriter(legible{e.out}, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "MATRIX\tCELLS\tDIFFER\tIN ONE ONLY\tLARGEST\tAT")
	for _, d := range found {
		name := d.Matrix
		if d.Other != "" {
			name += " and " + d.Other
		}
		switch {
		case d.What != "":
			fmt.Fprintf(w, "%s\t%s\n", name, d.What)
		case d.Same():
			fmt.Fprintf(w, "%s\t%d\t0\t0\tsame\t\n", name, d.Cells)
		default:
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%.6g\t(%d,%d)\n", name, d.Cells, d.Differ, d.Missing, d.Largest, d.Row, d.Col)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return failed
}
