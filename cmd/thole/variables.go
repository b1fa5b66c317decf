package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// variablePrefix is how the environment variables of flags begin.
const variablePrefix = "THOLE_"

// variableOf is the environment variable of a flag: of --server-log THOLE_SERVER_LOG.
func variableOf(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// withoutVariable are flags that no variable gives: THOLE_RUNS has a meaning of its own, and the others ask for something else.
var withoutVariable = []string{"runs", "help", "version"}

// hasVariable reports whether a variable gives the flag, if the command line does not. Hidden flags are what one process tells another.
func hasVariable(f *pflag.Flag) bool { return !f.Hidden && !slices.Contains(withoutVariable, f.Name) }

// variables gives the flags of a command what the environment says, unless the command line gave them, or others that outdo them. They are
// given then, whoever asks. An empty variable is none.
func (e *env) variables(c *cobra.Command, _ []string) error {
	var outdone []string
	c.Flags().Visit(func(f *pflag.Flag) { outdone = append(outdone, outdoes[f.Name]...) })
	e.places, e.flags, e.root = map[string]string{}, c.Flags(), c.Root()
	var wrong error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		name := variableOf(f.Name)
		text := os.Getenv(name)
		if wrong != nil || text == "" || f.Changed || !hasVariable(f) || slices.Contains(outdone, f.Name) {
			return
		}
		e.places[f.Name] = name
		values := []string{text}
		if f.Value.Type() == "stringArray" { // which the command line may give several times
			values = slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
		}
		for _, value := range values {
			if err := c.Flags().Set(f.Name, value); err != nil {
				wrong = usageError{fmt.Errorf("%s is %q, want %s; see %s --help", name, value, kindOf(f).want, c.CommandPath())}
				return
			}
		}
	})
	return wrong
}

// placed is an error of the command line with the variable that it is about, if one gave the flag.
func (e *env) placed(err error) error { return placedIn(err, e.places, e.flags) }

// flagsOnly is this process's environment without the variables that give flags of a command: for processes that are given their flags.
func flagsOnly(root *cobra.Command) []string {
	named := map[string]bool{}
	for _, c := range below(root) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { named[variableOf(f.Name)] = hasVariable(f) || named[variableOf(f.Name)] })
	}
	return slices.DeleteFunc(os.Environ(), func(one string) bool {
		name, _, _ := strings.Cut(one, "=")
		return named[name]
	})
}

// below are a command and all below it.
func below(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		all = append(all, below(sub)...)
	}
	return all
}
