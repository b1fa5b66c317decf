package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/runlog"
)

func (f *runsFlags) compareCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "compare RUN RUN...",
		Short: "Compare runs: their metrics and the settings that differ",
		Long: `Shows runs side by side: how they ended, the metrics of the held-out examples with the best value marked by *, and those settings
that are not the same in all of them. A setting is named as in job.yaml, with a point between a key and a key below it.`,
		Example: "  thole runs compare lr deepfm\n  thole runs compare last-1 last --json",
		RunE:    func(_ *cobra.Command, names []string) error { return f.compare(names) },
	}
	f.flags(c, true)
	return c
}

// comparison is runs side by side; lists have a value for each of them.
type comparison struct {
	Runs     []*runRow                  `json:"runs"`
	Metrics  map[string][]runlog.Number `json:"metrics"`  // of the held-out examples
	Settings map[string][]*string       `json:"settings"` // those that differ; null: the run has none of that name
	alike    int                        // settings that do not
	order    []string                   // of the metrics
}

func (f *runsFlags) compare(names []string) error {
	found, err := f.named(names)
	if err != nil {
		return err
	}
	if len(found) < 2 {
		return usageError{fmt.Errorf("all are %s, want different runs to compare", found[0].Name)}
	}
	x := &comparison{Metrics: map[string][]runlog.Number{}}
	if err := x.settings(found); err != nil {
		return err
	}
	for _, r := range found {
		x.Runs = append(x.Runs, f.row(r, ""))
		for _, name := range r.Metrics() {
			if !slices.Contains(x.order, name) {
				x.order = append(x.order, name)
			}
		}
	}
	for _, name := range x.order {
		for _, r := range found {
			v, _ := r.Held(name, larger(r, name))
			x.Metrics[name] = append(x.Metrics[name], runlog.Number(v))
		}
	}
	if f.json {
		return writeJSON(f.out, x)
	}
	_, err = io.WriteString(f.out, x.text(found))
	return err
}

// text is the comparison as people read it.
func (x *comparison) text(runs []*runlog.Run) string {
	table := [][]string{{""}, {"algorithm"}, {"state"}, {roundsOf(runs, "s")}, {"train loss"}, {"rows/s"}, {"time"}, {"model"}}
	for _, r := range x.Runs {
		cells := r.cells()
		for i, cell := range []string{r.Name, cells[1], cells[2], cells[3], valueText(float64(r.Loss)), cells[5], cells[6], cells[7]} {
			table[i] = append(table[i], cell)
		}
	}
	for i, name := range x.order {
		table = slices.Insert(table, 4+i, append([]string{name}, marked(x.Metrics[name], larger(runs[0], name))...))
	}
	var b bytes.Buffer
	aligned(&b, table)
	if len(x.Settings) == 0 {
		fmt.Fprintf(&b, "all %d settings are the same\n", x.alike)
		return b.String()
	}
	fmt.Fprintf(&b, "settings that differ (%d are the same)\n", x.alike)
	table = nil
	for _, key := range slices.Sorted(maps.Keys(x.Settings)) {
		row := []string{key}
		for _, v := range x.Settings[key] {
			if v == nil {
				row = append(row, "-")
			} else {
				row = append(row, *v)
			}
		}
		table = append(table, row)
	}
	aligned(&b, table)
	return b.String()
}

// marked are values of a metric; the best ones have a mark, unless all are alike.
func marked(values []runlog.Number, largest bool) (cells []string) {
	best, alike := values[0], true
	for _, v := range values {
		alike = alike && v == values[0]
		if byValue(v, best, largest) < 0 {
			best = v
		}
	}
	for _, v := range values {
		text := valueText(float64(v))
		if v == best && !alike && !math.IsNaN(float64(v)) {
			text += " *"
		}
		cells = append(cells, text)
	}
	return cells
}

// settings finds those of the runs that differ.
func (x *comparison) settings(runs []*runlog.Run) error {
	all := map[string][]*string{}
	for i, r := range runs {
		one, err := jobSettings(r)
		if err != nil {
			return err
		}
		for key, text := range one {
			if all[key] == nil {
				all[key] = make([]*string, len(runs))
			}
			all[key][i] = &text
		}
	}
	before := len(all)
	maps.DeleteFunc(all, func(_ string, values []*string) bool {
		return !slices.ContainsFunc(values, func(v *string) bool {
			return v == nil || values[0] == nil || *v != *values[0]
		})
	})
	x.Settings, x.alike = all, before-len(all)
	return nil
}

// jobSettings are the settings of a run by the paths of their keys.
func jobSettings(r *runlog.Run) (map[string]string, error) {
	job, err := r.Job()
	if err != nil || job == nil {
		return nil, err
	}
	name := r.Name + "/" + runlog.JobFile
	text, err := jsonOf(name, job)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	all := map[string]string{}
	flatten(all, "", tree)
	if _, said := all["rule"]; !said {
		if rule := ruleOf(all["algo"]); rule != "" {
			all["rule"] = rule
		}
	}
	return all, nil
}

// ruleOf is the update rule of an algorithm whose saved jobs name none, because layers of its network have rules of their own; "" of
// trees and of networks of a graph.json.
func ruleOf(name string) string {
	recipe, err := algo.Find(name)
	if name == "" || err != nil || recipe.Trees != "" {
		return ""
	}
	return recipe.Defaults.Rule
}

// flatten adds the values of a tree, which jsonOf has bounded, by the paths of their keys. Lists of plain values are one value.
func flatten(all map[string]string, path string, v any) {
	under := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	switch v := v.(type) {
	case map[string]any:
		for name, one := range v {
			flatten(all, under(name), one)
		}
	case []any:
		if slices.ContainsFunc(v, func(one any) bool { _, is := one.(map[string]any); return is }) {
			for i, one := range v {
				flatten(all, under(strconv.Itoa(i+1)), one)
			}
			return
		}
		var words []string
		for _, one := range v {
			words = append(words, fmt.Sprint(one))
		}
		all[path] = strings.Join(words, ",")
	case nil:
		all[path] = "null"
	default:
		all[path] = fmt.Sprint(v)
	}
}
