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
about it. Of lines: columns, values a row, fields, the largest value, features of a single row. Of both the labels. The flags that say
what columns are for are those of thole train.`,
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
	k.dataFlags(c)
	k.columnFlags.flags(c)
	return c
}

// overview is what examples hold.
type overview struct {
	Examples int    `json:"examples"`
	Label    string `json:"label,omitempty"` // name of its column
	// Labels are those there are, at most labelsShown, the most frequent first.
	Labels     []feature.LevelOfRows `json:"labels,omitempty"`
	LabelKinds int                   `json:"label_kinds"` // how many different ones
	LabelMean  float64               `json:"label_mean"`
	Positive   *float64              `json:"positive_rate,omitempty"` // share of the larger label, or later text, of two
	Skipped    data.Skipped          `json:"skipped"`
	Columns    []feature.Description `json:"columns,omitempty"` // of a table
	Lines      *lineSizes            `json:"lines,omitempty"`   // of others
}

// lineSizes are the sizes of examples that are no rows of a table.
type lineSizes struct {
	Columns  int64   `json:"columns"` // the highest one, counted from 0, plus one
	Fields   int     `json:"fields"`
	Values   int     `json:"values"`
	Least    int     `json:"least"` // values a row
	Mean     float64 `json:"mean"`
	Most     int     `json:"most"`
	Largest  float32 `json:"largest"` // the value farthest from 0
	At       int64   `json:"largest_column"`
	Features *int    `json:"features,omitempty"`   // columns with values; nil: there are too many columns to count
	Rare     *int    `json:"single_row,omitempty"` // of them, those of one row only
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
	o, err := k.dataOptions("")
	if err != nil {
		return err
	}
	spec, err := k.spec(ctx, e)
	if err != nil {
		return err
	}
	var fit *feature.Fit
	o.Table = &data.Table{Spec: *spec, Describe: func(f *feature.Fit) { fit = f }}
	o.Unlabelled = func() { k.noLabel = true }
	all, err := k.examples(ctx, e, k.data, o)
	if err != nil {
		return err
	}
	d := &overview{Examples: all.Len(), Skipped: all.Skipped}
	if fit != nil {
		d.Columns = fit.Describe(all.Len(), k.levels)
	} else {
		d.Lines = linesOf(all)
	}
	if !k.noLabel {
		d.labels(all)
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

// labels counts the labels.
func (d *overview) labels(all *data.Examples) {
	counts := map[float32]int{}
	for _, y := range all.Label {
		counts[y]++
		d.LabelMean += float64(y)
	}
	d.LabelMean /= float64(max(1, all.Len()))
	d.LabelKinds = len(counts)
	values := slices.Sorted(maps.Keys(counts))
	if len(values) == 2 {
		rate := float64(counts[values[1]]) / float64(all.Len())
		d.Positive = &rate
	}
	slices.SortStableFunc(values, func(a, b float32) int { return cmp.Compare(counts[b], counts[a]) })
	var texts []string
	if all.Transform != nil {
		d.Label, texts = all.Transform.Label(), all.Transform.LabelTexts()
	}
	for _, y := range values[:min(labelsShown, len(values))] {
		text := strconv.FormatFloat(float64(y), 'g', -1, 32)
		if texts != nil {
			text = texts[int(y)]
		}
		d.Labels = append(d.Labels, feature.LevelOfRows{Level: text, Rows: counts[y]})
	}
}

// rareColumns is of how many columns values are counted one by one at most.
const rareColumns = 1 << 28

func linesOf(all *data.Examples) *lineSizes {
	l := &lineSizes{Columns: all.Dim(), Fields: all.Fields, Values: all.Values()}
	l.Mean = float64(l.Values) / float64(max(1, all.Len()))
	l.At, l.Largest = all.Largest()
	for lo := 0; lo < all.Len(); lo += writeRows {
		ptr := all.Slice(lo, min(lo+writeRows, all.Len())).Rows().Ptr
		for i, end := range ptr[1:] {
			n := end - ptr[i]
			if l.Most = max(l.Most, n); lo+i == 0 || n < l.Least {
				l.Least = n
			}
		}
	}
	if all.Dim() <= rareColumns {
		occur, rare := all.Rare(2)
		l.Features, l.Rare = &occur, &rare
	}
	return l
}

// print shows it to people.
func (d *overview) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "examples\t%d\n", d.Examples)
	if name := "label"; d.LabelKinds > 0 {
		if d.Label != "" {
			name += " " + d.Label
		}
		fmt.Fprintf(w, "%s\t%d different: %s\n", name, d.LabelKinds, shares(d.Labels, d.LabelKinds, d.Examples))
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Name, c.Kind, percent(c.Missing, d.Examples), holds(c))
		if c.Hint != "" {
			fmt.Fprintf(w, "\t\t\t! %s\n", c.Hint)
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
		return c.First + " to " + c.Last
	case c.Distinct > 0:
		rare := ""
		if c.Rare > 0 {
			rare = fmt.Sprintf(" (%d too rare for a feature)", c.Rare)
		}
		return fmt.Sprintf("%d levels%s: %s", c.Distinct, rare, shares(c.Levels, c.Distinct, c.Rows))
	}
	return ""
}

// shares are levels with how many rows have each.
func shares(levels []feature.LevelOfRows, all, rows int) string {
	var parts []string
	for _, l := range levels {
		parts = append(parts, fmt.Sprintf("%s %d (%s)", strings.ReplaceAll(l.Level, "\t", " "), l.Rows, percent(l.Rows, rows)))
	}
	if len(levels) < all {
		parts = append(parts, "...")
	}
	return strings.Join(parts, ", ")
}

func percent(part, of int) string {
	return strconv.FormatFloat(100*float64(part)/float64(max(1, of)), 'f', 1, 64) + " %"
}
