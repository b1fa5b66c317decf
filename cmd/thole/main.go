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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thole.example/blob"
	"thole.example/coord"
	"thole.example/format"
	"thole.example/internal/addresses"
	"thole.example/ps"
	"thole.example/rpc"
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
			demoCommand, dataCommand, trainCommand, searchCommand, runsCommand, predictCommand, evaluateCommand, launchCommand, serverCommand,
			workerCommand, tokenCommand,
			statusCommand, waitCommand, reshardCommand, checkpointCommand, coordinateCommand, benchCommand,
		}},
		{"look", "Look into stored models:", []func(*env) *cobra.Command{
			inspectCommand, weightsCommand, neighborsCommand, catCommand, explainCommand, verifyCommand, diffCommand, psfCommand,
		}},
		{"change", "Convert and change stored models:", []func(*env) *cobra.Command{
			convertCommand, mergeCommand, averageCommand, pruneCommand, sliceCommand, renameCommand, cleanCommand,
		}},
		{"network", "Models with their network (Paddle):", []func(*env) *cobra.Command{
			runCommand,
			scrubCommand,
			packCommand,
			unpackCommand,
			exportCommand,
		}},
		{"list", "What there is:", []func(*env) *cobra.Command{formatsCommand, algosCommand, versionCommand}},
	}
}

// env is what a command may use of the process it runs in.
type env struct {
	args     []string // the command line, without the program
	in       io.Reader
	out, err io.Writer
	clock    func() time.Time // nil: that of the system
	appends  bool             // to a --log that is there
	paths    *blob.Paths      // what paths and URLs name
	goesOn   func() bool      // the stores are not closed because of what until was called with last

	spooled map[string]string // copies of what can be read only once, by the path as the user wrote it
	folders []string          // temporary ones
	pinned  *blob.View        // of the latest topology
	wrong   error             // of a command line that asks for help on what there is not
	places  map[string]string // variables that gave flags, by these
	flags   *pflag.FlagSet    // of the command that runs
	root    *cobra.Command    // above it
}

func (e *env) now() time.Time {
	if e.clock == nil {
		return time.Now()
	}
	return e.clock()
}

// partingTime is how long a command that was interrupted has to give back what it has in stores. What it cannot, clean finds later.
const partingTime = 700 * time.Millisecond

// until lets nothing go on in stores for longer than partingTime after the end of ctx, however slow they are, in place of the ctx that it
// was called with before.
func (e *env) until(ctx context.Context) {
	if e.goesOn != nil {
		e.goesOn()
	}
	paths := e.paths
	e.goesOn = context.AfterFunc(ctx, func() { time.AfterFunc(partingTime, func() { paths.Close() }) })
}

// tellOfStore prints a line about a store, over that of a progress.
func (e *env) tellOfStore(text string) {
	clear := ""
	if terminal(e.err) {
		clear = "\r\x1b[K"
	}
	fmt.Fprintln(raw(e.err), clear+escaped(text))
}

// Exit codes. Scripts may rely on them.
const (
	exitError       = 1   // the work could not be done; of diff: the models differ
	exitUsage       = 2   // the command line is wrong
	exitTrouble     = 3   // diff could not compare
	exitTemporary   = 75  // EX_TEMPFAIL: the same command line may do later: what it wants of other processes was not there, or is lost
	exitInterrupted = 130 // Ctrl-C, as shells count it
)

// usageError marks an error of the command line.
type usageError struct{ error }

// Unwrap gives the error without the mark.
func (e usageError) Unwrap() error { return e.error }

// exitStatus is an error that ends the process with a status of its own.
type exitStatus struct {
	error
	code int
}

// Unwrap gives the error without the mark.
func (e exitStatus) Unwrap() error { return e.error }

func main() {
	cobra.EnableCommandSorting = false // the table has an order
	letSmallHeapsBe()
	os.Exit(Main(os.Args[1:], &env{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// Main runs a command line and answers with the exit code.
func Main(args []string, std *env) int {
	keepPipes()
	ctx, stop := signal.NotifyContext(context.Background(), fatal()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	out := &checked{w: std.out, name: "standard output"}
	e := &env{args: args, in: std.in, out: out, err: legible{std.err}, clock: std.clock}
	e.paths = blob.NewPaths(stores(e.tellOfStore)...)
	e.until(ctx)
	defer e.clean()
	root := rootCommand(e)
	root.SetArgs(args)
	err := errors.Join(e.placed(root.ExecuteContext(ctx)), e.wrong)
	if f, ok := std.out.(*os.File); ok {
		out.fails(f.Close())
	}
	status := statusOf(err)
	if out.failed != nil { // whatever came of it, and also of a line that nobody looked after
		err, status = out.failed, max(exitError, status)
	}
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && !errors.As(err, new(unfinished)):
		fmt.Fprintln(e.err, "thole: interrupted; "+interrupted(args))
		return exitInterrupted
	case errors.Is(err, errEnough):
		return 0
	}
	fmt.Fprintln(e.err, "thole: "+escaped(messageOf(err)))
	return status
}

// interrupted says what an interrupted command leaves.
func interrupted(args []string) string {
	saves := len(args) > 0 && slices.Contains([]string{"train", "worker", "launch", "search"}, args[0])
	keeps := slices.ContainsFunc(args, func(a string) bool { return a == "--checkpoint" || strings.HasPrefix(a, "--checkpoint=") })
	switch {
	case saves && keeps:
		return "no model was saved; run the same command again to resume from the last checkpoint"
	case saves && args[0] != "search":
		return "no model was saved (use --checkpoint to keep progress)"
	case saves:
		return "no model was saved"
	}
	return "no incomplete file was kept"
}

// fatal are the signals that end the work. A process that nohup started goes on when its terminal is closed.
func fatal() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

// statusOf is the exit code of what came out.
func statusOf(err error) int {
	var own exitStatus
	switch bad := (usageError{}); {
	case err == nil:
		return 0
	case errors.Is(err, blob.ErrUnavailable): // whatever the command wanted of the store
		return exitTemporary
	case errors.As(err, &bad) || errors.Is(err, format.ErrOption):
		return exitUsage
	case errors.As(err, &own):
		return own.code
	case temporary(err):
		return exitTemporary
	case errors.Is(err, ps.ErrServers) && !errors.Is(err, rpc.ErrUnreachable): // there may be another one at the address soon
		return exitUsage
	}
	return exitError
}

// errAway is that of other processes which were not there for as long as the user waits for them.
var errAway = errors.New("waited long enough")

// awayError is an errAway with who was not there.
type awayError struct{ error }

// Is implements errors.Is.
func (e awayError) Is(target error) bool { return target == errAway }

// Unwrap gives the error without the mark.
func (e awayError) Unwrap() error { return e.error }

// temporary reports whether the same command line may do later: a server, a task, the store of roles or that of a URL was not there, was
// lost, or had been replaced, or the place of the process was another one's, which may end.
func temporary(err error) bool {
	_, store := errors.AsType[*storeError](err)
	store = store || errors.Is(err, blob.ErrUnavailable)
	away := errors.Is(err, errAway) || errors.Is(err, addresses.ErrFewer)
	return store || away || taken(err) || errors.Is(err, coord.ErrFenced) || ps.Recoverable(err)
}

func rootCommand(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "thole",
		Short: "Parameter server and model store",
		Long: `thole trains models on parameter servers, keeps them in Angel's, DAPHNE's and Paddle's formats, and reads, checks,
converts, explains and scores them. Begin with "thole demo", or with "thole inspect" and any model file.

Where a model or a file is read, "-" is standard input; where one is written, it is standard output. Exit codes: 0 done,
1 not done, 2 wrong command line, 3 diff could not compare, 75 not done, and may be later: started again it goes on, 130 interrupted.`,
		Example: `  thole demo
  thole data clicks --rows 20000 --out train.libsvm
  thole inspect out/lr
  thole convert out/lr weights --to npy`,
		Args:              noCommand,
		PersistentPreRunE: e.variables,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		Version:           readBuild().text(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SuggestionsMinimumDistance = 2
	root.SetIn(e.in)
	root.SetOut(e.out)
	root.SetErr(e.err)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{flagError(c, err, e.args)}
	})
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { e.help(c) })
	for _, g := range groups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, command := range g.commands {
			c := command(e)
			c.GroupID = g.id
			prepare(c)
			if e.completes() {
				complete(c)
			}
			root.AddCommand(c)
		}
	}
	root.SetHelpCommand(helpCommand())
	root.SetHelpCommandGroupID("list")
	root.SetCompletionCommandGroupID("list")
	completion(root)
	return root
}

// prepare gives a command, and those below it, what all have: checks of arguments, and help where there is nothing else to do.
func prepare(c *cobra.Command) {
	c.Args = arity
	if !c.HasSubCommands() {
		return
	}
	if !c.DisableFlagParsing { // which another program does
		c.Args = noCommand
	}
	if c.RunE == nil {
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	for _, sub := range c.Commands() {
		prepare(sub)
	}
}
