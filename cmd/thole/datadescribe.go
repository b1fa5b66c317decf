package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"thole.example/data"
	"thole.example/feature"
)

// describing is the flags of data describe.
type describing struct {
	job
	levels int
	asJSON bool
}

func describeCommand(e *env) *cobra.Command {
	var k describing
	c := &cobra.Command{
		Use:   "describe [FILE...]",
		Short: "Say what examples hold: columns, levels, missing values, labels",
		Long: `Reads examples, named as arguments or by --data, and says what they hold. Of tables: of each column the kind that training
would take, missing values, levels and the most frequent of them, sizes of numbers, first and last of times, and what should be done
about it. Of lines: columns, values a row, fields, the largest value, features of a single row. Of both the labels. Memory does not grow
with the rows: where there are very many levels, how many is an estimate, which is said. The flags that say what columns are for are
those of thole train.`,
		Example: `  thole data describe loans.csv
  thole data describe loans.csv --label-column defaulted --ignore id --json
  thole data describe train.libsvm
  thole data describe --data train.libsvm,test.libsvm`,
		RunE: func(c *cobra.Command, args []string) error { return k.run(c.Context(), e, args) },
	}
	f := c.Flags()
	f.StringArrayVar(&k.data, "data", nil, "examples, in place of arguments: "+pathsHelp)
	f.IntVar(&k.levels, "levels", 5, "levels of a column to show at most, the most frequent ones")
	f.BoolVar(&k.asJSON, "json", false, "print JSON")
	f.BoolVar(&k.noLabel, "no-label", false, "the examples have no labels")
	k.dataFlags(e, c)
	k.columnFlags.flags(c)
	return c
}

// overview is what examples hold.
type overview struct {
	Examples int    `json:"examples"`
	Label    string `json:"label,omitempty"` // name of its column
	// Labels are those there are, at most labelsShown, the most frequent first.
	Labels     []feature.LevelOfRows `json:"labels,omitempty"`
	LabelKinds int                   `json:"labelKinds"` // how many different ones
	// LabelsAbout says that there are too many to count: LabelKinds are at least, or about, so many.
	LabelsAbout bool                  `json:"labelsAbout,omitempty"`
	LabelMean   float64               `json:"labelMean"`
	Positive    *float64              `json:"positiveRate,omitempty"` // share of the larger label, or later text, of two
	Skipped     data.Skipped          `json:"skipped"`
	Columns     []feature.Description `json:"columns,omitempty"` // of a table
	Lines       *lineSizes            `json:"lines,omitempty"`   // of others
}

// labelsShown is how many labels are shown at most.
const labelsShown = 10

func (k *describing) run(ctx context.Context, e *env, args []string) error {
	if len(args) > 0 && len(k.data) > 0 {
		return usageError{fmt.Errorf("%q beside --data, want one of the two", args[0])}
	}
	k.data = append(k.data, args...)
	if err := k.checkPaths("thole data describe loans.csv"); err != nil {
		return err
	}
	if k.levels < 0 {
		return usageError{fmt.Errorf("--levels %d, want 0 or more", k.levels)}
	}
	d, err := k.describe(ctx, e)
	if err != nil {
		return err
	}
	if k.asJSON {
		return json.NewEncoder(e.out).Encode(d)
	}
	out := bufio.NewWriter(e.out)
	if err := d.print(legible{out}); err != nil {
		return err
	}
	return out.Flush()
}

// describe reads the examples once.
func (k *describing) describe(ctx context.Context, e *env) (*overview, error) {
	o, err := k.tableOptions(ctx, e)
	if err != nil {
		return nil, err
	}
	files, err := data.Files(ctx, e.paths, k.data)
	if err != nil {
		return nil, err
	}
	source, err := data.FindSource(k.format, files[0])
	if err != nil {
		return nil, err
	}
	o.Unlabelled = func() { k.noLabel = true }
	p := e.reading(k.data, &o)
	defer p.end()
	d := &overview{}
	if source.Tabular() {
		err = k.table(ctx, e, files, o, d)
	} else {
		err = k.lines(ctx, e, files, o, d)
	}
	if err == nil {
		saySkipped(p.line, d.Skipped)
	}
	return d, err
}

// table describes tables.
func (k *describing) table(ctx context.Context, e *env, files []string, o data.Options, d *overview) error {
	var counts labelCounts
	s, skipped, err := data.Survey(ctx, files, e.in, o, counts.add)
	if err != nil {
		return err
	}
	d.Examples, d.Skipped, d.Columns = s.Rows(), skipped, s.Describe(k.levels)
	switch {
	case k.noLabel:
	case s.TextLabels():
		d.Label = s.LabelName()
		if d.Labels, d.LabelKinds, d.LabelsAbout, d.Positive, err = s.Labels(labelsShown); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(k.data, ", "), err)
		}
		if d.Positive != nil {
			d.LabelMean = *d.Positive
		}
	default:
		d.Label = s.LabelName()
		d.labels(&counts)
	}
	return nil
}

// lines describes others.
func (k *describing) lines(ctx context.Context, e *env, files []string, o data.Options, d *overview) error {
	if o.Labels >= data.AutoTrans { // they are shown as they are
		o.Labels = data.NoTrans
	}
	o.LeftOut = func(s data.Skipped) { d.Skipped = s }
	var counts labelCounts
	var features occurring
	d.Lines = &lineSizes{Columns: max(o.Dim, o.Hash)}
	for b, err := range data.ReadFiles(ctx, files, e.in, o) {
		if err != nil {
			return err
		}
		counts.add(b.Label)
		d.Lines.add(b, d.Examples == 0)
		features.add(b.Rows().Idx)
		d.Examples += b.Len()
	}
	d.Lines.Mean = float64(d.Lines.Values) / float64(max(1, d.Examples))
	if !features.beyond {
		d.Lines.Features, d.Lines.Rare = &features.all, &features.single
	}
	if !k.noLabel {
		d.labels(&counts)
	}
	return nil
}

// labels takes labels that are numbers.
func (d *overview) labels(c *labelCounts) {
	d.LabelKinds, d.LabelsAbout, d.LabelMean = len(c.rows), c.more, c.sum/float64(max(1, d.Examples))
	values := slices.Sorted(maps.Keys(c.rows))
	if len(values) == 2 {
		rate := float64(c.rows[values[1]]) / float64(d.Examples)
		d.Positive = &rate
	}
	slices.SortStableFunc(values, func(a, b float32) int { return cmp.Compare(c.rows[b], c.rows[a]) })
	for _, y := range values[:min(labelsShown, len(values))] {
		d.Labels = append(d.Labels, feature.LevelOfRows{Level: strconv.FormatFloat(float64(y), 'g', -1, 32), Rows: c.rows[y]})
	}
}

// print shows it to people.
func (d *overview) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "examples\t%d\n", d.Examples)
	if name := "label"; d.LabelKinds > 0 {
		if d.Label != "" {
			name += " " + d.Label
		}
		fmt.Fprintf(w, "%s\t%s%d different: %s\n", name, about(d.LabelsAbout), d.LabelKinds, shares(d.Labels, d.LabelKinds, d.Examples))
		if d.Positive == nil {
			fmt.Fprintf(w, "mean label\t%.6g\n", d.LabelMean)
		}
		if d.LabelKinds == 1 {
			fmt.Fprintf(w, "!\tthe labels are all equal: there is nothing to learn\n")
		}
	}
	if d.Columns != nil && d.LabelKinds == 0 {
		fmt.Fprintf(w, "label\tno column of labels was found or named (--label-column NAME)\n")
	}
	if l := d.Lines; l != nil {
		fmt.Fprintf(w, "columns\t%d\nfields\t%d\nvalues\t%d\n", l.Columns, l.Fields, l.Values)
		fmt.Fprintf(w, "values a row\t%d to %d, %.6g on average\n", l.Least, l.Most, l.Mean)
		fmt.Fprintf(w, "largest value\t%v of column %d (counted from 0)\n", l.Largest, l.At)
		if l.Features != nil {
			fmt.Fprintf(w, "features\t%d, %d of them in a single row\n", *l.Features, *l.Rare)
		}
		return w.Flush()
	}
	fmt.Fprintf(w, "\ncolumn\tkind\tmissing\twhat it holds\n")
	for i := range d.Columns {
		c := &d.Columns[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", clipped(c.Name, longText), c.Kind, percent(c.Missing, d.Examples), holds(c))
		if c.Hint != "" {
			fmt.Fprintf(w, "\t\t\t! %s\n", oneLine(c.Hint))
		}
	}
	return w.Flush()
}

// holds is what a column holds, in a line.
func holds(c *feature.Description) string {
	switch n := c.Numbers; {
	case n != nil:
		var all []string
		for _, q := range n.Quantiles {
			all = append(all, fmt.Sprintf("%.6g", q))
		}
		log := ""
		if n.Log {
			log = "; training takes logarithms"
		}
		return fmt.Sprintf("%.6g to %.6g, mean %.6g, deviation %.6g; 1 %%, quartiles, 99 %%: %s%s", n.Min, n.Max, n.Mean, n.Deviation,
			strings.Join(all, " "), log)
	case c.First != "":
		zone := "no time zone"
		if c.Timezone != "" {
			zone = "in " + c.Timezone
		}
		return fmt.Sprintf("%s to %s (%s, %s)", c.First, c.Last, c.Format, zone)
	case c.Distinct > 0:
		rare := ""
		if c.Rare > 0 {
			rare = fmt.Sprintf(" (%d too rare for a feature)", c.Rare)
		}
		return fmt.Sprintf("%s%d levels%s: %s", about(c.About), c.Distinct, rare, shares(c.Levels, c.Distinct, c.Rows))
	}
	return ""
}

// about marks a number that is an estimate.
func about(yes bool) string {
	if yes {
		return "about "
	}
	return ""
}

// shares are levels with how many rows have each.
func shares(levels []feature.LevelOfRows, all, rows int) string {
	var parts []string
	for _, l := range levels {
		parts = append(parts, fmt.Sprintf("%s %d (%s)", clipped(l.Level, longText), l.Rows, percent(l.Rows, rows)))
	}
	if len(levels) < all {
		parts = append(parts, "...")
	}
	return strings.Join(parts, ", ")
}

func percent(part, of int) string {
	return strconv.FormatFloat(100*float64(part)/float64(max(1, of)), 'f', 1, 64) + " %"
}
