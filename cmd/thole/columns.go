package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/data"
	"thole.example/feature"
	"thole.example/internal/number"
)

// columnFlags are the flags that say what the columns of tables are for.
type columnFlags struct {
	columns                            string // file
	labelColumn, weightColumn          string
	groupColumn, positive              string
	ignored, numeric, bucketed, levels []string
	multi, hashed, dates               []string
	missing, names                     []string
	decimal                            string
	dateFormats, timezones             []string
}

func (k *columnFlags) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&k.columns, "columns", "", "file in YAML or JSON that says what the columns of tables are (see docs/training.md)")
	f.StringVar(&k.labelColumn, "label-column", "",
		"column of tables with the label (default: one called label, target, class, y, click or so)")
	f.StringVar(&k.positive, "positive", "", "label of positive examples, of two that are texts (default: the later one in the alphabet)")
	f.StringVar(&k.weightColumn, "weight-column", "", "column with the weight of each example")
	f.StringVar(&k.groupColumn, "group-column", "", "column by whose values rankings (--loss lambdarank) and gauc compare examples, such as "+
		"a query or user")
	f.StringSliceVar(&k.ignored, "ignore", nil, "columns that are not learned from")
	f.StringSliceVar(&k.numeric, "numeric", nil, "columns of numbers (default: those whose first rows have numbers only)")
	f.StringSliceVar(&k.levels, "categorical", nil,
		"columns with a feature for each level that two examples have (default: those of other texts)")
	f.StringSliceVar(&k.bucketed, "buckets", nil, "columns of numbers with a feature for each of 32 intervals")
	f.StringSliceVar(&k.multi, "multi", nil, "columns of several levels in a cell, with | between them")
	f.StringSliceVar(&k.hashed, "hashed", nil, "columns of texts that are hashed to 1048576 features, for levels without end")
	f.StringSliceVar(&k.dates, "date", nil, "columns of times, of which hour, weekday, day, month and days are learned from")
}

// nameFlags are those that also say how raw rows are read for a model that is there.
func (k *columnFlags) nameFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVar(&k.missing, "missing", nil,
		"texts of cells that are missing (default: "+strings.Join(feature.MissingTexts()[1:7], " ")+" and so on)")
	f.StringSliceVar(&k.names, "names", nil, "names of the columns, for tables without a header line")
	f.StringVar(&k.decimal, "decimal", "", "decimal separator of numbers in tables of text: , or . (default: a point, or that of training)")
	f.StringArrayVar(&k.dateFormats, "date-format", nil, "format of dates in strptime notation: COLUMN=%d/%m/%Y, or %d/%m/%Y for all "+
		"(default: found out)")
	f.StringArrayVar(&k.timezones, "timezone", nil, "time zone of dates: COLUMN=Europe/Berlin, or Europe/Berlin for all; times "+
		"without a zone are written in it (default: the zone that the column names)")
}

// markFlags are those that say which columns beside the features are read for a model that does not say so.
func (k *columnFlags) markFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&k.labelColumn, "label-column", "", "column of tables with the label (default: that of training; of models that learned from "+
		"no table label)")
	f.StringVar(&k.weightColumn, "weight-column", "", "column with the weight of each example (default: that of training)")
	f.StringVar(&k.groupColumn, "group-column", "", "column with the group of each example (default: that of training)")
}

// spec is what the flags and their file say.
func (k *columnFlags) spec(ctx context.Context, e *env) (*feature.Spec, error) {
	s := &feature.Spec{}
	if k.columns != "" {
		var err error
		if s, err = e.columnsFile(ctx, k.columns); err != nil {
			return nil, err
		}
	}
	if k.missing != nil {
		s.Missing = k.missing
	}
	if k.names != nil {
		s.Names = k.names
	}
	if k.positive != "" {
		s.Positive = k.positive
	}
	if k.decimal != "" {
		var err error
		if s.Decimal, err = feature.ParseDecimal(k.decimal); err != nil {
			return nil, usageError{fmt.Errorf("--decimal: %w", err)}
		}
	}
	for _, one := range []struct {
		flag  string
		names []string
		kind  feature.Kind
	}{
		{"label-column", []string{k.labelColumn}, feature.Label}, {"weight-column", []string{k.weightColumn}, feature.Weight},
		{"group-column", []string{k.groupColumn}, feature.Group}, {"ignore", k.ignored, feature.Ignore}, {"numeric", k.numeric, feature.Numeric},
		{"categorical", k.levels, feature.Categorical}, {"buckets", k.bucketed, feature.Buckets}, {"multi", k.multi, feature.Multi},
		{"hashed", k.hashed, feature.Hash}, {"date", k.dates, feature.Date},
	} {
		for _, name := range one.names {
			if name == "" {
				continue
			}
			if err := s.Set(name, feature.Column{Kind: one.kind}); err != nil {
				return nil, usageError{fmt.Errorf("--%s %s: %w", one.flag, name, err)}
			}
		}
	}
	return s, k.dateSpec(s)
}

// dateSpec adds what --date-format and --timezone say.
func (k *columnFlags) dateSpec(s *feature.Spec) error {
	for _, text := range k.dateFormats {
		name, format, named := strings.Cut(text, "=")
		if !named || strings.Contains(name, "%") {
			name, format = "", text
		}
		if err := s.Dates(name, format, ""); err != nil {
			return usageError{fmt.Errorf("--date-format %s: %w", text, err)}
		}
	}
	for _, text := range k.timezones {
		name, zone, named := strings.Cut(text, "=")
		if !named {
			name, zone = "", text
		}
		if err := s.Dates(name, "", zone); err != nil {
			return usageError{fmt.Errorf("--timezone %s: %w", text, err)}
		}
	}
	return nil
}

// columnsFile reads a description of columns.
func (e *env) columnsFile(ctx context.Context, path string) (*feature.Spec, error) {
	src, err := e.small(ctx, path)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(bytes.TrimSpace(src), []byte("{")) {
		if len(src) > yamlLimit {
			return nil, fmt.Errorf("%s: %d bytes, want at most %d of YAML", path, len(src), yamlLimit)
		}
		if src, err = jsonOf(path, src); err != nil {
			return nil, err
		}
	}
	s, err := feature.ParseSpec(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// columnsFinding is what inspect says of the table that a model learned from.
type columnsFinding struct {
	Error    string          `json:"error,omitempty"` // the description cannot be read
	Features int64           `json:"features"`
	Fields   int             `json:"fields"`
	Columns  []columnFinding `json:"columns"`

	text string
}

type columnFinding struct {
	Name   string       `json:"name"`
	Kind   feature.Kind `json:"kind"`
	Levels int          `json:"levels,omitempty"`
}

// findColumns reads the description beside a model, nil if there is none.
func findColumns(files map[string][]byte) *columnsFinding {
	src, ok := files[feature.FileName]
	if !ok {
		return nil
	}
	t, err := feature.Parse(src)
	if err != nil {
		return &columnsFinding{Error: err.Error()}
	}
	f := &columnsFinding{Features: t.Dim(), Fields: t.Fields(), text: tableText(t)}
	for _, c := range t.Columns {
		f.Columns = append(f.Columns, columnFinding{c.Name, c.Kind, len(c.Levels)})
	}
	return f
}

func (f *columnsFinding) print(out io.Writer) {
	if f.Error != "" {
		fmt.Fprintf(out, "%s: %s\n", feature.FileName, f.Error)
		return
	}
	fmt.Fprintln(out, f.text)
}

// columnsOf is how the columns of tables are read: as flags say, or as the model to go on with says, which has to be the same then.
func (p *plan) columnsOf(ctx context.Context, e *env) (*data.Table, error) {
	spec, err := p.spec(ctx, e)
	if err != nil {
		return nil, err
	}
	spec.Raw = p.forest != nil
	t := &data.Table{Spec: *spec, Transform: p.loaded.transform}
	if t.Transform != nil {
		if err := t.Transform.Agrees(spec); err != nil {
			return nil, usageError{fmt.Errorf("--load %s: %w", p.load, err)}
		}
	}
	return t, nil
}

// checkTable refuses flags that are of lines of indices beside a table, for which they would count nothing.
func (p *plan) checkTable() error {
	if p.train.Transform == nil {
		return nil
	}
	for _, one := range []struct {
		flag  string
		given bool
	}{{"dim", p.dim > 0}, {"fields", p.fields != ""}, {"index-base", p.base != "" && p.base != "auto"},
		{"scaling", p.scaling == scalingStandard}} {
		if one.given {
			return usageError{fmt.Errorf("%s: a table, want no --%s: its columns say what features there are", strings.Join(p.data, ", "), one.flag)}
		}
	}
	return nil
}

// checkTexts refuses labels that are texts where they are not taken for classes.
func (p *plan) checkTexts(mapping data.Labels) error {
	t := p.train.Transform
	if t == nil || t.LabelTexts() == nil || mapping == data.AutoTrans || mapping == data.ClassTrans {
		return nil
	}
	what := "no --labels " + mapping.String()
	if !p.recipe.Task.Classes() {
		what = "numbers for " + p.recipe.Name + "; for classes use --algo lr (two), --algo softmax, or --algo gbdt"
	}
	return fmt.Errorf("%s: column %q: labels are texts, such as %q, want %s", strings.Join(p.data, ", "), t.Label(), t.LabelTexts()[0], what)
}

// sayTable says what was found out about the columns of tables.
func sayTable(w io.Writer, t *feature.Transform) {
	if t != nil {
		fmt.Fprintln(w, escaped(tableText(t)))
	}
}

// tableText is what was found out, in a sentence.
func tableText(t *feature.Transform) string {
	names := map[feature.Kind][]string{}
	for _, c := range t.Columns {
		names[c.Kind] = append(names[c.Kind], c.Name)
	}
	var parts []string
	for _, k := range feature.Kinds() {
		if some := names[k.Name]; len(some) > 0 && k.Name != feature.Label {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", len(some), k.Name, shortList(some)))
		}
	}
	label := ""
	if texts := t.LabelTexts(); len(texts) == 2 {
		label = fmt.Sprintf(", %q is positive", texts[1])
	}
	return fmt.Sprintf("columns: %s: %s of %s; label %s%s", strings.Join(parts, ", "), number.Of(t.Dim(), "feature"),
		number.Of(t.Fields(), "field"), t.Label(), label)
}

// shortList is names, or the first of them where they are many.
func shortList(names []string) string {
	const most = 6
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

// sayUnseen says what n examples have that training has not seen.
func sayUnseen(say func(format string, args ...any), paths string, u data.Unseen, n int) {
	say("%s: %s", paths, u.Text(n))
	for _, text := range u.Warnings(n) {
		say("%s: %s", paths, text)
	}
}

// saySkipped says which lines were left out.
func saySkipped(say func(format string, args ...any), s data.Skipped) {
	if s.Lines > 0 {
		say("%v", s)
	}
}
