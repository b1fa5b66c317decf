package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thole.example/blob"
	"thole.example/internal/variables"
)

// variableOf is the environment variable of a flag.
func variableOf(flag string) string { return variables.Of(flag) }

// withoutVariable are flags that no variable gives: THOLE_RUNS has a meaning of its own, and the others ask for something else.
var withoutVariable = []string{"runs", "help", "version"}

// hasVariable reports whether a variable gives the flag, if the command line does not. Hidden flags are what one process tells another.
func hasVariable(f *pflag.Flag) bool { return !f.Hidden && !slices.Contains(withoutVariable, f.Name) }

// variables gives the flags of a command what the environment says, unless the command line gave them, or others that outdo them. They are
// given then, whoever asks.
func (e *env) variables(c *cobra.Command, _ []string) (err error) {
	without := slices.Clone(withoutVariable)
	c.Flags().Visit(func(f *pflag.Flag) { without = append(without, outdoes[f.Name]...) })
	e.flags, e.root = c.Flags(), c.Root()
	e.places, err = variables.Give(c.Flags(), without...)
	if bad, is := errors.AsType[*variables.Error](err); is {
		return usageError{fmt.Errorf("%s is %q, want %s; see %s --help", variableOf(bad.Flag.Name), bad.Value, kindOf(bad.Flag).want,
			c.CommandPath())}
	}
	return errors.Join(err, onDisk(c), onlyOnce(c, e.args))
}

// places are flags that name where something lies. Two values are two places, of which none is chosen silently. Of settings the last value
// holds, so that a command line can be continued by what differs.
var places = []string{"model", "load", "graph", "job", "out", "checkpoint"}

// onlyOnce refuses two values for a flag that names a place.
func onlyOnce(c *cobra.Command, args []string) error {
	values := map[string]string{}
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		name, value, written := strings.Cut(args[i], "=")
		if !strings.HasPrefix(name, "--") {
			continue
		}
		f := c.Flags().Lookup(name[2:])
		switch {
		case f == nil:
			continue
		case !written && f.NoOptDefVal != "":
			value = f.NoOptDefVal
		case !written && i+1 < len(args):
			i++
			value = args[i]
		}
		if before, twice := values[name]; twice && before != value && slices.Contains(places, f.Name) && f.Value.Type() == "string" {
			return usageError{fmt.Errorf("%s %s and %s %s, want one of them; see %s --help", name, before, name, value, c.CommandPath())}
		}
		values[name] = value
	}
	return nil
}

// ofThisMachine are the flags that name files and folders of this machine, and take no URLs.
var ofThisMachine = []string{"config", "dir", "graph", "job-file", "kubeconfig", "log", "runs", "scratch", "token-file", "tokens",
	"tls-ca", "tls-cert", "tls-clients", "tls-key"}

// onDisk refuses URLs where only a path of this machine will do.
func onDisk(c *cobra.Command) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(ofThisMachine, f.Name) && blob.IsURL(f.Value.String()) && err == nil {
			err = usageError{fmt.Errorf("--%s %s: a URL, want a path of this machine", f.Name, f.Value)}
		}
	})
	return err
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
