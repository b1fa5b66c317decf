package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/format"
	"thole.example/gbdt"
	"thole.example/optim"
)

func formatsCommand(e *env) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "formats [FORMAT...]",
		Short: "List the storage formats and their options",
		Long: `Lists the storage formats and their usual endings; of those that are named also what is read and written, and options. Options
are given by name, as --set NAME=VALUE where a model is read and --out NAME=VALUE where one is written; those with a flag of
their own by that.`,
		Example:           "  thole formats\n  thole formats angel daphne\n  thole formats --json",
		ValidArgsFunction: formatArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			infos := []format.Info{}
			for _, c := range codecs() {
				if i := c.Info(); len(args) == 0 || slices.Contains(args, i.Name) {
					infos = append(infos, i)
				}
			}
			for _, name := range args {
				if _, err := codecs().Lookup(name); err != nil {
					return usageError{err}
				}
			}
			if asJSON {
				return writeJSON(e.out, infos)
			}
			if len(args) == 0 {
				listFormats(e.out, textWidth(e.out), infos)
				return nil
			}
			printFormats(e.out, textWidth(e.out), infos)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func formatArgs(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return formatWords(c, args), cobra.ShellCompDirectiveNoFileComp
}

// listFormats prints a line or two for each format.
func listFormats(out io.Writer, width int, infos []format.Info) {
	for _, i := range infos {
		hang(out, width, listColumn, i.Name, i.Title+"; "+endings(i))
	}
	fmt.Fprintln(out, "\nthole formats FORMAT says what is read and written, and lists the options.")
}

// listColumn is where the text of lists begins: after the longest name.
const listColumn = 16

// printFormats prints a paragraph for each format.
func printFormats(out io.Writer, width int, infos []format.Info) {
	for n, i := range infos {
		if n > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, strings.Join(wrap(fmt.Sprintf("%s: %s (%s)", i.Name, i.Title, endings(i)), width), "\n  "))
		hang(out, width, 10, "  reads:", i.Reads)
		if i.Writes != "" {
			hang(out, width, 10, "  writes:", i.Writes)
		}
		for _, o := range i.Options {
			help := o.Help
			if len(o.Default) > shortDefault {
				help += " (default: " + o.Default + ")"
			}
			hang(out, width, 32, "  "+optionText(o), help)
		}
	}
}

// endings are the usual endings of a format's files, with what they stand for.
func endings(i format.Info) string {
	var all []string
	if i.Ext != "" {
		all = append(all, i.Ext)
	}
	for _, e := range i.Endings {
		text := e.Ext
		for _, name := range slices.Sorted(maps.Keys(e.Set)) {
			text += fmt.Sprintf(" with %s=%s", name, e.Set[name])
		}
		all = append(all, text)
	}
	if all == nil {
		return "a folder"
	}
	return strings.Join(all, ", ")
}

// shortDefault is the longest default that is shown beside the name of an option.
const shortDefault = 16

// optionText is how an option is given, with its default if that is short.
func optionText(o format.Option) string {
	text := o.Name
	if o.Default != "" && len(o.Default) <= shortDefault {
		text += "=" + o.Default
	}
	for _, w := range optionFlags() {
		if w.option == o.Name {
			text += ", --" + w.flag
		}
	}
	return text
}

func algosCommand(e *env) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:     "algos",
		Short:   "List the algorithms, update rules and learning-rate schedules",
		Example: "  thole algos\n  thole algos --json",
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return printAlgosJSON(e)
			}
			listAlgos(e.out, textWidth(e.out))
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// listAlgos prints what can be learned, and how.
func listAlgos(out io.Writer, width int) {
	fmt.Fprintln(out, "Algorithms (--algo):")
	for _, a := range algo.Algos() {
		d := a.For(nil, "")
		long := fmt.Sprintf("epochs %d", d.Epochs)
		if d.Rows > 0 {
			long = fmt.Sprintf("epochs for about %d examples, at most %d", d.Rows, d.Most)
		}
		batch := fmt.Sprintf("batch %d", d.Batch)
		if d.Batch == 0 {
			batch = "batch by the number of examples"
		}
		also := ""
		if len(a.Also) > 0 {
			also = "; also " + strings.Join(a.Also, ", ")
		}
		hang(out, width, listColumn, "  "+a.Name, fmt.Sprintf("%s (%s); by default rule %s, rate %g, %s, %s%s",
			a.Help, a.Task, d.Rule, d.Rate, batch, long, also))
	}
	trees, grow := algo.Trees(), gbdt.Defaults()
	hang(out, width, listColumn, "  "+trees.Name, fmt.Sprintf("%s; by default %d trees of depth %d, rate %g; also %s",
		trees.Help, grow.Trees, grow.Depth, grow.Rate, strings.Join(trees.Also, ", ")))
	fmt.Fprintln(out, "\nUpdate rules (--rule): rates for classes, for regression; settings (--hyper NAME=VALUE):")
	for _, r := range optim.Rules() {
		text := fmt.Sprintf("%s; rate %g, %g", r.Help, r.Rates.Classes, r.Rates.Numbers)
		for i, h := range r.Hyper {
			text += fmt.Sprintf("%s %s=%s", map[bool]string{true: ";"}[i == 0], h.Name, h.Begins())
		}
		hang(out, width, listColumn, "  "+r.Name, text)
	}
	fmt.Fprintln(out, "\nSchedules of the learning rate (--schedule):")
	for _, s := range optim.Schedules() {
		hang(out, width, listColumn, "  "+s.Name, s.Help)
	}
}

// printAlgosJSON prints the same tables for scripts.
func printAlgosJSON(e *env) error {
	type entry map[string]any
	var algos, rules, schedules []entry
	for _, a := range algo.Algos() {
		also := append([]string{}, a.Also...) // [] where there is none
		algos = append(algos, entry{"name": a.Name, "also": also, "help": a.Help, "task": a.Task, "defaults": a.For(nil, "")})
	}
	trees, grow := algo.Trees(), gbdt.Defaults()
	algos = append(algos, entry{"name": trees.Name, "also": trees.Also, "help": trees.Help, "task": trees.Task, "defaults": entry{
		"trees": grow.Trees, "depth": grow.Depth, "rate": grow.Rate, "bins": grow.Bins, "l2": grow.L2, "minWeight": grow.MinWeight}})
	for _, r := range optim.Rules() {
		rules = append(rules, entry{"name": r.Name, "help": r.Help, "slots": r.Slots, "rates": r.Rates, "settings": r.Hyper})
	}
	for _, s := range optim.Schedules() {
		schedules = append(schedules, entry{"name": s.Name, "help": s.Help, "settings": s.Hyper})
	}
	return json.NewEncoder(e.out).Encode(entry{"algorithms": algos, "rules": rules, "schedules": schedules})
}
