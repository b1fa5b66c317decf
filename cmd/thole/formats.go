package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"thole/algo"
	"thole/format"
	"thole/optim"
)

func formatsCommand(e *env) *cobra.Command {
	asJSON := false
	c := &cobra.Command{
		Use:     "formats",
		Short:   "List the storage formats and their options",
		Example: "  thole formats\n  thole formats --json",
		RunE: func(*cobra.Command, []string) error {
			var infos []format.Info
			for _, c := range codecs() {
				infos = append(infos, c.Info())
			}
			if asJSON {
				return json.NewEncoder(e.out).Encode(infos)
			}
			w := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(w, "FORMAT\tENDING\tWHAT\tREADS\tWRITES")
			for _, i := range infos {
				ext := i.Ext
				if ext == "" {
					ext = "folder"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.Name, ext, i.Title, i.Reads, i.Writes)
			}
			if err := w.Flush(); err != nil {
				return err
			}
			fmt.Fprintln(e.out, "\nOptions, given as --set NAME=VALUE:")
			w = tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
			for _, i := range infos {
				for _, o := range i.Options {
					fmt.Fprintf(w, "  %s\t%s\t%q\t%s\n", i.Name, o.Name, o.Default, o.Help)
				}
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
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
