package main

import (
	"slices"

	"github.com/spf13/cobra"

	"thole.example/algo"
	"thole.example/data"
	"thole.example/format"
	"thole.example/format/angel"
	"thole.example/matrix"
	"thole.example/metric"
	"thole.example/optim"
)

// completer gives the words that a flag's value may be, for shells: "word" or "word<TAB>what it is".
type completer func(c *cobra.Command, args []string) []string

// completers is the table of flags whose values are known.
func completers() map[string]completer {
	return map[string]completer{
		"metrics": metricWords, "early-stop-metric": metricWords,
		"to": formatWords, "from": formatWords, "matrix": matrixWords,
		"set": optionWords, "out": optionWords,
		"algo": func(*cobra.Command, []string) (words []string) {
			for _, a := range algo.Algos() {
				words = append(words, a.Name+"\t"+a.Help)
			}
			return words
		},
		"rule": func(*cobra.Command, []string) (words []string) {
			for _, r := range optim.Rules() {
				words = append(words, r.Name+"\t"+r.Help)
			}
			return words
		},
		"schedule": func(*cobra.Command, []string) (words []string) {
			for _, s := range optim.Schedules() {
				words = append(words, s.Name+"\t"+s.Help)
			}
			return words
		},
		"format": func(*cobra.Command, []string) (words []string) {
			for _, s := range data.Sources() {
				words = append(words, s.Name)
			}
			return words
		},
		"partition": these("range", "column", "hash"), "partitioner": these("range", "column", "hash"),
		"verify": these("file", "record", "off"), "compat": func(c *cobra.Command, _ []string) []string {
			if c.Flags().Lookup("in-order") != nil { // training
				return trainings()
			}
			return angel.Releases()
		},
		"separator": these("comma", "tab", "space", "bar", "colon", "semicolon"), "init": these(matrix.Inits()...),
		"preset":     these("linear", "criteo"),
		"index-base": these("auto", "0", "1"), "schedule-per": these("epoch", "batch"), "non-finite": these("refuse", "skip", "allow"),
		"sort":    these(sortKeys()...),
		"rights":  these("read", "write", "read,write", "administer"),
		"on":      these(launcherNames()...),
		"dialect": these("document", "daphne"),
		"method":  these("random", "halving"), "resource": these("epochs", "examples"),
	}
}

// completes reports whether a shell asks for words. Only then do flags get theirs: cobra keeps every flag that has some, and its command,
// as long as the process lives.
func (e *env) completes() bool {
	return len(e.args) > 0 && (e.args[0] == cobra.ShellCompRequestCmd || e.args[0] == cobra.ShellCompNoDescRequestCmd)
}

// complete makes shells complete the values of the flags of a command and of those below it. What is not a flag is a path.
func complete(c *cobra.Command) {
	for _, sub := range c.Commands() {
		complete(sub)
	}
	for name, words := range completers() {
		f := c.Flags().Lookup(name)
		if f == nil || name == "out" && f.Value.Type() == "string" { // a file
			continue
		}
		_ = c.RegisterFlagCompletionFunc(name, func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			directive := cobra.ShellCompDirectiveNoFileComp
			if name == "set" || name == "out" {
				directive |= cobra.ShellCompDirectiveNoSpace // a value follows
			}
			return words(c, args), directive
		}) // fails for flags that are not there, or known already
	}
}

func these(words ...string) completer {
	return func(*cobra.Command, []string) []string { return words }
}

func metricWords(*cobra.Command, []string) (words []string) {
	for _, m := range metric.Metrics() {
		words = append(words, m.Name+"\t"+m.Help)
	}
	return words
}

func formatWords(c *cobra.Command, _ []string) (words []string) {
	for _, one := range codecs() {
		words = append(words, one.Info().Name+"\t"+one.Info().Title)
	}
	return words
}

// matrixWords are the matrices of the paths on the command line.
func matrixWords(c *cobra.Command, args []string) (words []string) {
	for _, path := range args {
		p, err := (&env{}).locate(c.Context(), path, "", nil)
		if err != nil {
			continue // DST, mostly
		}
		r, err := p.reader(c.Context())
		if err != nil {
			continue
		}
		for _, m := range r.Matrices() {
			words = append(words, m.Name)
		}
		r.Close()
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// optionWords are the options of the format that the command line names, or of all formats.
func optionWords(c *cobra.Command, _ []string) (words []string) {
	named := ""
	for _, flag := range []string{"to", "from"} {
		if f := c.Flags().Lookup(flag); f != nil && f.Changed {
			named = f.Value.String()
		}
	}
	for _, one := range codecs() {
		if info := one.Info(); named == "" || info.Name == named {
			words = append(words, optionsOf(info)...)
		}
	}
	return words
}

func optionsOf(i format.Info) (words []string) {
	for _, o := range i.Options {
		words = append(words, o.Name+"=\t"+o.Help)
	}
	return words
}
