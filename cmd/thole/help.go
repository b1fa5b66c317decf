package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is flags that belong together, as help shows them.
type flagGroup struct {
	title string
	flags []string
}

// formatOptions is the group of the flags that stand for options of formats.
const formatOptions = "Options of formats"

// flagGroups is the table of groups, in the order of the help text: a flag is in the first that names it, those that none
// names come last. Commands of few flags show them without groups.
func flagGroups() []flagGroup {
	return []flagGroup{
		{"Common", []string{"listen", "store", "config", "data", "model", "algo", "on", "servers", "workers", "tasks", "task", "job",
			"epochs", "rate", "validate", "holdout", "graph", "load", "from", "to", "matrix", "out", "report", "log", "force", "seconds", "json"}},
		{"Data", []string{"format", "dim", "hash", "labels", "classes", "label-threshold", "label-weights",
			"index-base", "separator", "no-label", "strict",
			"sparse", "field-dims", "admit-after", "forget-after", "expire-after", "max-bytes",
			"show-weight", "click-weight", "count-half-life", "evict-below", "storage",
			"in-order", "shuffle-window", "seed", "fields", "sample", "pos-neg", "skip-bad", "negatives", "weights", "validate-weights",
			"class-weights", "positive-weight", "scaling"}},
		{"Columns of tables", []string{"label-column", "positive", "weight-column", "group-column", "ignore", "numeric", "categorical", "buckets",
			"multi", "hashed", "date", "columns", "missing", "names", "decimal", "date-format", "timezone"}},
		{"Optimisation", []string{"loss", "loss-set", "rule", "hyper", "batch", "updates", "clip", "schedule", "schedule-per", "schedule-set",
			"tolerance", "early-stop", "early-stop-metric", "early-stop-mode", "early-stop-delta", "metrics",
			"non-finite", "init", "init-scale"}},
		{treesTitle, treeFlags},
		{"Regularisation", []string{"l1", "l2", "l1-of", "l2-of"}},
		{"Cluster", []string{"attempt", "restarts", "dir", "name", "detach", "dry-run", "server-memory", "server-cpus", "worker-memory",
			"worker-cpus", "server-log", "coordinate", "cluster", "role", "advertise", "lease", "replicas", "slow-standby",
			"replica-of", "replica-job", "replica-servers", "refresh", "staleness",
			"key-cache", "key-cache-staleness", "prefetch", "partitioner", "tcp", "wait", "timeout", "retry", "grace", "processes", "in-process",
			"memory", "scratch", "no-checksum"}},
		{"Kubernetes", []string{"image", "image-pull-policy", "image-pull-secret", "volume", "env", "env-from-secret", "token-secret",
			"tls-secret", "namespace", "context", "kubeconfig", "run-as", "node-selector", "scratch-size", "queue", "jobset", "operator",
			"keep-objects"}},
		{"Trust", []string{"tls", "tls-ca", "tls-cert", "tls-key", "tls-name", "tls-clients", "token-file", "tokens", "job-limits"}},
		{"Watch", []string{"admin", "admin-pprof", "log-json", "quiet"}},
		{slurmTitle, nil},
		{"Requests", []string{"keys", "batch", "in-flight", "dim", "rule", "cols", "async", "by-key"}},
		{"Network", nil},
		{"Importance", nil},
		{"Saving", []string{"conf", "lossy", "max-dense", "save-state", "load-state", "fresh-state", "checkpoint", "checkpoint-every", "keep",
			"resume", "sync"}},
		{formatOptions, []string{"set"}},
		{"Other", nil},
	}
}

// fewFlags is how many flags are shown without groups.
const fewFlags = 10

// groupMark is the annotation of a flag that says in which group it is.
const groupMark = "group"

// inGroup puts flags of a command into a group, whatever the table says of their names.
func inGroup(c *cobra.Command, title string, flags ...string) {
	for _, name := range flags {
		_ = c.Flags().SetAnnotation(name, groupMark, []string{title}) // fails only for a flag that is not there
	}
}

// grouped is the flags of a command by groups.
func grouped(flags []*pflag.Flag) map[string][]*pflag.Flag {
	if len(flags) <= fewFlags {
		return map[string][]*pflag.Flag{"Flags": flags}
	}
	type member struct{ title, flag string }
	at, place := map[string]string{}, map[member]int{}
	groups := flagGroups()
	for _, g := range slices.Backward(groups) {
		for i, name := range g.flags {
			at[name], place[member{g.title, name}] = g.title, i
		}
	}
	all := map[string][]*pflag.Flag{}
	for _, f := range flags {
		title, ok := at[f.Name]
		if !ok {
			title = groups[len(groups)-1].title
		}
		if mark := f.Annotations[groupMark]; len(mark) > 0 {
			title = mark[0]
		}
		all[title] = append(all[title], f)
	}
	for title, fs := range all {
		order := func(f *pflag.Flag) int {
			if i, ok := place[member{title, f.Name}]; ok {
				return i
			}
			return place[member{at[f.Name], f.Name}]
		}
		slices.SortStableFunc(fs, func(a, b *pflag.Flag) int { return order(a) - order(b) })
	}
	return all
}

// help prints what a command does and how it is used.
func (e *env) help(c *cobra.Command) {
	if words := c.Flags().Args(); c.HasSubCommands() && len(words) > 0 {
		e.wrong = noCommand(c, words)
		return
	}
	width := textWidth(e.out)
	about := c.Long
	if about == "" {
		about = c.Short + "."
	}
	fmt.Fprintf(e.out, "%s\nUsage:\n", paragraphs(about, width))
	usage := c.UseLine()
	if c.HasSubCommands() {
		usage = c.CommandPath() + " COMMAND"
		own := false
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { own = own || f.Name != "help" && f.Name != "version" })
		if own { // it does something by itself
			usage = c.UseLine() + "\n  " + usage
		}
	}
	fmt.Fprintf(e.out, "  %s\n", usage)
	if c.Example != "" {
		fmt.Fprintf(e.out, "\nExamples:\n%s\n", strings.TrimRight(c.Example, "\n"))
	}
	printCommands(e.out, width, c)
	printFlags(e.out, width, c)
	if c.HasSubCommands() {
		fmt.Fprintf(e.out, "\n%s COMMAND --help says more of a command.\n", c.CommandPath())
	}
}

// printCommands prints the commands of a command, by their groups.
func printCommands(out io.Writer, width int, c *cobra.Command) {
	groups := c.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, g := range groups {
		titled := false
		for _, sub := range c.Commands() {
			if sub.GroupID != g.ID {
				continue
			}
			if !titled {
				titled = true
				fmt.Fprintf(out, "\n%s\n", g.Title)
			}
			hang(out, width, 14, "  "+sub.Name(), sub.Short)
		}
	}
}

// printFlags prints the flags of a command, by their groups.
func printFlags(out io.Writer, width int, c *cobra.Command) {
	var flags []*pflag.Flag
	c.Flags().SortFlags = false
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			flags = append(flags, f)
		}
	})
	if len(flags) == 0 {
		return
	}
	groups := grouped(flags)
	column := 0
	for _, f := range flags {
		column = max(column, len(flagText(f))+2)
	}
	for _, g := range append([]flagGroup{{title: "Flags"}}, flagGroups()...) {
		if len(groups[g.title]) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s:\n", g.title)
		for _, f := range groups[g.title] {
			hang(out, width, column, flagText(f), flagHelp(f))
		}
	}
	if i := slices.IndexFunc(flags, hasVariable); i >= 0 {
		text := fmt.Sprintf("A flag that is not given is taken from its environment variable, if that is set: --%s from %s.", flags[i].Name,
			variableOf(flags[i].Name))
		fmt.Fprint(out, "\n"+paragraphs(text, width))
	}
}

// flagText is how a flag is written.
func flagText(f *pflag.Flag) string {
	text := "  --" + f.Name
	if word := kindOf(f).word; word != "" {
		text += " " + word
	}
	if f.Shorthand != "" {
		text += ", -" + f.Shorthand
	}
	return text
}

// flagHelp is what a flag does, and what it is if it is not given.
func flagHelp(f *pflag.Flag) string {
	if strings.Contains(f.Usage, "(default") || slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
		return f.Usage
	}
	return fmt.Sprintf("%s (default %s)", f.Usage, f.DefValue)
}

// helpCommand is help as a command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND...]",
		Short:   "Say what a command does and how it is used",
		Example: "  thole help train",
		Args:    arity,
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
			if of, _, err := c.Root().Find(args); err == nil {
				for _, sub := range of.Commands() {
					words = append(words, sub.Name()+"\t"+sub.Short)
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			of, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(c.Root(), args)
			}
			return of.Help()
		},
	}
}
