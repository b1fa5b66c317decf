// Command flaky runs the tests of packages many times on a busy machine and lists every test that failed, with the number of runs in which
// it did and what it printed. Rounds take turns: on all processors next to loops that keep them busy, and on one processor. A test that
// fails in one round and passes in another depends on the order or the speed in which things happen, or the code that it tests does.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"time"
)

// options are the command line.
type options struct {
	rounds, loops int
	seed          uint64
	limit         time.Duration
	run           string
	short         bool
	packages      []string
}

func main() {
	o := options{}
	flag.IntVar(&o.rounds, "n", 30, "number of rounds")
	flag.IntVar(&o.loops, "loops", 4, "number of busy loops that run next to the tests, in every second round")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the order of the tests in the first round; each round has the next one")
	flag.DurationVar(&o.limit, "limit", 2*time.Hour, "time limit of the tests of a package in a round")
	flag.StringVar(&o.run, "run", "", "regular expression of the tests to run (default: all)")
	flag.BoolVar(&o.short, "short", false, "run the tests with -short")
	flag.Parse()
	if o.packages = flag.Args(); len(o.packages) == 0 {
		o.packages = []string{"./..."}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failures := failures{}
	done, err := o.all(ctx, failures, os.Stderr)
	failures.report(os.Stdout, done)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "flaky:", err)
		os.Exit(2)
	case len(failures) > 0:
		os.Exit(1)
	}
}

// all runs all rounds, and returns the number of those that came to their end.
func (o *options) all(ctx context.Context, into failures, progress io.Writer) (done int, err error) {
	for round := range o.rounds {
		how := o.round(round)
		fmt.Fprintf(progress, "round %d of %d: %v\n", round+1, o.rounds, how)
		began := time.Now()
		before := into.count()
		if err := how.run(ctx, o, into, round+1); err != nil {
			return round, fmt.Errorf("round %d: %w", round+1, err)
		}
		fmt.Fprintf(progress, "round %d of %d: %d failures, %v\n", round+1, o.rounds, into.count()-before, time.Since(began).Round(time.Second))
	}
	return o.rounds, nil
}

// conditions are what the tests of a round run under.
type conditions struct {
	loops   int    // busy loops next to them
	one     bool   // one processor
	shuffle uint64 // seed of their order
}

// round is what a round is run under.
func (o *options) round(i int) conditions {
	c := conditions{shuffle: o.seed + uint64(i)}
	if i%2 == 0 {
		c.loops = o.loops
	} else {
		c.one = true
	}
	return c
}

// String is for the progress.
func (c conditions) String() string {
	if c.one {
		return fmt.Sprintf("one processor, order %d", c.shuffle)
	}
	return fmt.Sprintf("%d busy loops, order %d", c.loops, c.shuffle)
}

// command is the arguments of go.
func (c conditions) command(o *options) []string {
	args := []string{"test", "-json", "-vet=off", "-count=1", "-shuffle=" + strconv.FormatUint(c.shuffle, 10), "-timeout", o.limit.String()}
	if c.one {
		args = append(args, "-cpu=1")
	}
	if o.run != "" {
		args = append(args, "-run", o.run)
	}
	if o.short {
		args = append(args, "-short")
	}
	return append(args, o.packages...)
}

// run runs the tests once. Tests that fail are no error; tests that cannot be run are.
func (c conditions) run(ctx context.Context, o *options, into failures, round int) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	for range c.loops {
		go burn(ctx)
	}
	cmd := exec.CommandContext(ctx, "go", c.command(o)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	read := into.read(out, round)
	err = cmd.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, failed := err.(*exec.ExitError); failed && into.in(round) {
		err = nil
	}
	if err == nil {
		err = read
	}
	return err
}

// burn keeps a processor busy until the context ends.
func burn(ctx context.Context) {
	for ctx.Err() == nil {
	}
}
