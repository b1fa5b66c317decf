// Package command runs the programs that have one command, with flags and no words: all but thole.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"thole.example/internal/variables"
)

// Exit codes, as those of thole.
const (
	exitError = 1 // the work could not be done
	exitUsage = 2 // the command line is wrong
)

// ErrUsage marks an error of the command line.
var ErrUsage = errors.New("see --help")

// Run runs a command, which has its flags, with a command line, and answers with the exit code. Flags that are not given come from their
// variables. The context of the command ends with SIGINT and SIGTERM; a second one ends the process at once. An error is told with the
// name by which people know the program.
func Run(c *cobra.Command, name string, args []string, out, said io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return fmt.Errorf("unexpected argument %q, want flags only; %w", args[0], ErrUsage)
		}
		return nil
	}
	c.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if _, err := variables.Give(c.Flags()); err != nil {
			return fmt.Errorf("%w; %w", err, ErrUsage)
		}
		return nil
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return fmt.Errorf("%w; %w", err, ErrUsage) })
	c.CompletionOptions.DisableDefaultCmd = true
	c.Flags().SortFlags = false
	c.SetOut(out)
	c.SetErr(said)
	c.SetArgs(args)
	err := c.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(said, "%s: %v\n", name, err)
	if errors.Is(err, ErrUsage) {
		return exitUsage
	}
	return exitError
}
