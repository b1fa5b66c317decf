// Command thole trains models on parameter servers, and reads, checks, converts, explains and scores stored ones. Flags,
// configuration and wiring live here and nowhere else; one file a command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"thole.example/format"
)

// group is commands that serve one purpose, as the overview shows them.
type group struct {
	id, title string
	commands  []func(*env) *cobra.Command
}

// groups is the table of commands, in the order of the help text.
func groups() []group {
	return []group{
		{"learn", "Train and score:", []func(*env) *cobra.Command{
			demoCommand, trainCommand, predictCommand, evaluateCommand, serverCommand, workerCommand,
		}},
		{"look", "Look into stored models:", []func(*env) *cobra.Command{
			inspectCommand, catCommand, explainCommand, verifyCommand, diffCommand,
		}},
		{"change", "Convert and change stored models:", []func(*env) *cobra.Command{
			convertCommand, mergeCommand, averageCommand, pruneCommand, sliceCommand, renameCommand,
		}},
		{"network", "Models with their network (Paddle):", []func(*env) *cobra.Command{
			runCommand,
			scrubCommand,
			packCommand,
			unpackCommand,
			exportCommand,
		}},
		{"list", "What there is:", []func(*env) *cobra.Command{formatsCommand, algosCommand}},
	}
}

// env is what a command may use of the process it runs in.
type env struct {
	in       io.Reader
	out, err io.Writer
}

// Exit codes. Scripts may rely on them.
const (
	exitError       = 1   // the work could not be done
	exitUsage       = 2   // the command line is wrong
	exitInterrupted = 130 // Ctrl-C, as shells count it
)

// usageError marks an error of the command line.
type usageError struct{ error }

func main() {
	cobra.EnableCommandSorting = false // the table has an order
	os.Exit(Main(os.Args[1:], &env{os.Stdin, os.Stdout, os.Stderr}))
}

// Main runs a command line and answers with the exit code.
func Main(args []string, e *env) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	root := rootCommand(e)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(e.err, "thole: interrupted; nothing that was not complete was kept")
		return exitInterrupted
	case errors.Is(err, syscall.EPIPE): // the reader of a pipe has seen enough
		return 0
	}
	fmt.Fprintln(e.err, "thole: "+escaped(err.Error()))
	if bad := (usageError{}); errors.As(err, &bad) || errors.Is(err, format.ErrOption) {
		return exitUsage
	}
	return exitError
}

func rootCommand(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "thole",
		Short: "Parameter server and model store",
		Long: `thole trains models on parameter servers, keeps them in Angel's, DAPHNE's and Paddle's formats, and reads, checks,
converts, explains and scores them. Begin with "thole demo", or with "thole inspect" and any model file.`,
		Example: `  thole demo
  thole inspect out/lr
  thole convert out/lr weights --to npy`,
		Args:          noCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
	}
	root.SuggestionsMinimumDistance = 2
	root.SetIn(e.in)
	root.SetOut(e.out)
	root.SetErr(e.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
	})
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, command := range g.commands {
			c := command(e)
			c.GroupID = g.id
			c.Args = usageArgs(c.Args)
			complete(c)
			root.AddCommand(c)
		}
	}
	root.SetHelpCommandGroupID("list")
	root.SetCompletionCommandGroupID("list")
	return root
}

// noCommand is the error of a word that is none of the commands.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q; see %s --help", args[0], c.CommandPath())
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf("unknown command %q, want %s?", args[0], strings.Join(near, " or "))
	}
	return usageError{err}
}

// usageArgs marks what a check of the arguments finds as an error of the command line.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if check == nil {
			check = cobra.NoArgs
		}
		if err := check(c, args); err != nil {
			return usageError{fmt.Errorf("%w; see %s --help", err, c.CommandPath())}
		}
		return nil
	}
}
