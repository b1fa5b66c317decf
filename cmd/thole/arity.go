package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thole.example/internal/spell"
)

// noCommand is the error of a word that is none of the commands.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q; see %s --help", args[0], c.CommandPath())
	c.SuggestionsMinimumDistance = max(c.SuggestionsMinimumDistance, 2)
	near := slices.Compact(c.SuggestionsFor(args[0])) // twice, if by distance and by its table
	switch {
	case len(near) > 0:
		err = fmt.Errorf("unknown command %q, want %s?", args[0], strings.Join(near, " or "))
	case c.Runnable() && slices.Contains([]string{"list", "ls"}, args[0]): // such as thole runs
		err = fmt.Errorf("unknown command %q, want %s without a command, which lists them?", args[0], c.CommandPath())
	}
	return usageError{err}
}

// arity checks the number of arguments by the line of usage: "[X]" may be missing, "X..." may be several.
func arity(c *cobra.Command, args []string) error {
	names := strings.Fields(c.Use)[1:]
	least, most := len(names), len(names)
	for _, name := range names {
		if strings.HasPrefix(name, "[") {
			least--
		}
		if strings.Contains(name, "...") {
			most = len(args)
		}
	}
	switch {
	case len(args) < least:
		return usageError{fmt.Errorf("no %s; %s", strings.TrimSuffix(names[len(args)], "..."), like(c))}
	case len(args) > most && most == 0:
		return usageError{fmt.Errorf("unexpected argument %q%s; %s", args[0], flagFor(c, args[0]), like(c))}
	case len(args) > most:
		return usageError{fmt.Errorf("unexpected argument %q, want %s; %s", args[most], strings.Join(names, " "), like(c))}
	}
	return nil
}

// flagFor says which flag an argument may be meant for, of a command that takes none.
func flagFor(c *cobra.Command, arg string) string {
	if f := c.Flags().Lookup("data"); f != nil && !f.Changed {
		return ", want --data " + arg
	}
	return ", want flags only"
}

// like shows how a command is used.
func like(c *cobra.Command) string {
	example, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n")
	example, _, _ = strings.Cut(example, " |")
	return fmt.Sprintf("use it like: %s (see %s --help)", example, c.CommandPath())
}

// flagError says what is wrong with a flag, without the words of Go's library.
func flagError(c *cobra.Command, err error, args []string) error {
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) {
		f := bad.GetFlag()
		if want := kindOf(f).want; want != "" {
			return fmt.Errorf("--%s %q, want %s; see %s --help", f.Name, bad.GetValue(), want, c.CommandPath())
		}
	}
	var none *pflag.NotExistError
	if errors.As(err, &none) {
		if letters := none.GetSpecifiedShortnames(); letters != "" {
			return fmt.Errorf("unknown flag: -%s; see %s --help", letters, c.CommandPath())
		}
		if !c.HasParent() { // a flag behind a word that is no command
			if err := misspelt(c, args); err != nil {
				return err
			}
		}
		if near := nearFlags(c, none.GetSpecifiedName()); len(near) > 0 {
			return fmt.Errorf("%w, want %s?", err, strings.Join(near, " or "))
		}
	}
	return fmt.Errorf("%w; see %s --help", err, c.CommandPath())
}

// misspelt reports that the first of the arguments of the program is no command, with the nearest one.
func misspelt(root *cobra.Command, args []string) error {
	known := func(c *cobra.Command) bool { return len(args) == 0 || c.Name() == args[0] || c.HasAlias(args[0]) }
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || slices.ContainsFunc(root.Commands(), known) {
		return nil
	}
	return noCommand(root, args)
}

// nearFlags are the flags of a command of which the name is the beginning, or that are the beginning of the name; else those that are
// spelt most like it.
func nearFlags(c *cobra.Command, name string) (near []string) {
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		known = append(known, f.Name)
		if len(name) > 1 && (strings.HasPrefix(f.Name, name) || strings.HasPrefix(name, f.Name)) {
			near = append(near, "--"+f.Name)
		}
	})
	if near == nil {
		for _, k := range spell.Near(name, known) {
			near = append(near, "--"+k)
		}
	}
	return near
}

// flagKind is how help shows the value of a flag, and how an error asks for it.
type flagKind struct{ word, want string }

// pathFlags are the flags that name files and folders, in all commands that have them.
var pathFlags = []string{"data", "validate", "model", "load", "log", "runs", "out", "report", "columns", "params", "graph", "store", "dir"}

// kindOf is the kind of a flag, by its type.
func kindOf(f *pflag.Flag) flagKind {
	text := f.Value.Type() == "string" || f.Value.Type() == "stringArray"
	switch {
	case text && slices.Contains([]string{"to", "from"}, f.Name):
		return flagKind{"FORMAT", ""}
	case text && slices.Contains(pathFlags, f.Name):
		return flagKind{"PATH", ""}
	}
	return map[string]flagKind{
		"bool":           {"", "true or false, or nothing"},
		"int":            {"N", "a whole number"},
		"int64":          {"N", "a whole number"},
		"uint64":         {"N", "a whole number from 0 on"},
		"float64":        {"X", "a number"},
		"intSlice":       {"N,N", "whole numbers with commas between them, such as 128,64"},
		"float64Slice":   {"X,X", "numbers separated by commas"},
		"duration":       {"TIME", "a time like 90s or 5m"},
		"string":         {"TEXT", ""},
		"quota":          {"NAME=N", ""},
		"stringSlice":    {"NAME,NAME", ""},
		"stringArray":    {"TEXT", ""},
		"stringToString": {"NAME=VALUE", "NAME=VALUE"},
	}[f.Value.Type()]
}

// completion gives the commands that write completions for shells examples, and an error for a shell that is not known.
func completion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Long = "Writes what a shell needs to complete the commands, flags and values of thole; COMMAND --help says where it goes."
		c.Short = "Write completions for a shell: bash, zsh, fish or powershell"
		c.Example = "  thole completion bash > thole.bash\n  thole completion zsh > _thole"
		prepare(c)
	}
}
