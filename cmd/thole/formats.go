package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/format"
	"thole.example/optim"
)

func formatsCommand(e *env) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:   "formats [FORMAT...]",
		Short: "List the storage formats and their options",
		Long: `Lists the storage formats: name, usual endings, what is read and written, and options. Options are given by name, as
--set NAME=VALUE where a model is read and --out NAME=VALUE where one is written; those with a flag of their own by that.`,
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
				enc := json.NewEncoder(e.out)
				enc.SetIndent("", "  ")
				return enc.Encode(infos)
			}
			return printFormats(e.out, infos)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func formatArgs(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return formatWords(c, args), cobra.ShellCompDirectiveNoFileComp
}

// printFormats prints a paragraph for each format.
func printFormats(out io.Writer, infos []format.Info) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for n, i := range infos {
		if n > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s (%s)\n", i.Name, i.Title, endings(i))
		fmt.Fprintf(w, "  reads: %s\n", i.Reads)
		if i.Writes != "" {
			fmt.Fprintf(w, "  writes: %s\n", i.Writes)
		}
		for _, o := range i.Options {
			help := o.Help
			if len(o.Default) > shortDefault {
				help += " (default: " + o.Default + ")"
			}
			fmt.Fprintf(w, "  %s\t%s\n", optionText(o), help)
		}
	}
	return w.Flush()
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
	for _, w := range wishes() {
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
			w := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "ALGORITHM\tWHAT\tTASK\tRULE\tRATE\tBATCH\tEPOCHS")
			for _, a := range algo.Algos() {
				d := a.Defaults
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%g\t%d\t%d\n", a.Name, a.Help, a.Task, d.Rule, d.Rate, d.Batch, d.Epochs)
			}
			fmt.Fprintln(w, "\nRULE\tWHAT\tSETTINGS (--hyper NAME=VALUE)")
			for _, r := range optim.Rules() {
				fmt.Fprintf(w, "%s\t%s\t", r.Name, r.Help)
				for _, h := range r.Hyper {
					fmt.Fprintf(w, "%s=%g ", h.Name, h.Default)
				}
				fmt.Fprintln(w)
			}
			fmt.Fprintln(w, "\nSCHEDULE\tWHAT")
			for _, s := range optim.Schedules() {
				fmt.Fprintf(w, "%s\t%s\n", s.Name, s.Help)
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// printAlgosJSON prints the same tables for scripts.
func printAlgosJSON(e *env) error {
	type entry map[string]any
	var algos, rules, schedules []entry
	for _, a := range algo.Algos() {
		algos = append(algos, entry{"name": a.Name, "help": a.Help, "task": a.Task, "defaults": a.Defaults})
	}
	for _, r := range optim.Rules() {
		rules = append(rules, entry{"name": r.Name, "help": r.Help, "slots": r.Slots, "settings": r.Hyper})
	}
	for _, s := range optim.Schedules() {
		schedules = append(schedules, entry{"name": s.Name, "help": s.Help, "settings": s.Hyper})
	}
	return json.NewEncoder(e.out).Encode(entry{"algorithms": algos, "rules": rules, "schedules": schedules})
}
