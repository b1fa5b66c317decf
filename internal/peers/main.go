// Command peers measures thole beside other programs, in rounds that take turns, so that whatever else the machine does meets both,
// and prints medians and ratios. The suite core has the programs of ../shared/peers/ps, which do the least that can be done
// (docs/performance.md says what they leave out); the suite models trains and scores each network beside PyTorch, by the programs of
// ../shared/peers/learn and a python that has torch and numpy (docs/algorithms.md).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	o := options{}
	flag.StringVar(&o.suite, "suite", "core", "what is measured: "+strings.Join(names(), " or "))
	flag.IntVar(&o.rounds, "n", 3, "rounds: each measures every peer and thole once, in turns")
	flag.StringVar(&o.dir, "peers", filepath.Join("..", "shared", "peers"), "folder of the peers' sources")
	flag.StringVar(&o.python, "python", "python3", "of the suite models: a python that has torch and numpy")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := measure(ctx, o, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// options are what is measured, and with what.
type options struct {
	suite, dir, python string
	rounds             int
}

// suite is comparisons, and how the programs that they run are made.
type suite struct {
	prepare     func(ctx context.Context, o *options, bin string) error // puts them into the folder bin
	comparisons func(o *options, bin string) []comparison
}

// suites is the table of them.
var suites = map[string]suite{"core": {buildCore, coreComparisons}, "models": {buildModels, modelComparisons}}

func names() []string { return slices.Sorted(maps.Keys(suites)) }

// measure makes the programs, lets them run, and prints what came out.
func measure(ctx context.Context, o options, out, progress io.Writer) error {
	s, ok := suites[o.suite]
	if !ok {
		return fmt.Errorf("-suite %s, want %s", o.suite, strings.Join(names(), " or "))
	}
	if o.rounds < 1 {
		return fmt.Errorf("-n %d, want 1 or more rounds", o.rounds)
	}
	bin, err := os.MkdirTemp("", "thole-peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	if err := s.prepare(ctx, &o, bin); err != nil {
		return err
	}
	results, err := compare(s.comparisons(&o, bin), o.rounds, progress, func(args []string) (string, error) {
		return run(ctx, ".", args)
	})
	if err != nil {
		return err
	}
	return report(out, results)
}

// sources is a folder of the peers, which has to hold the named file.
func (o *options) sources(folder, file string) (string, error) {
	dir := filepath.Join(o.dir, folder)
	if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
		return "", fmt.Errorf("the peers are not at %s: %w", dir, err)
	}
	return dir, nil
}

// run answers with what a program prints. Each has one thread for its arithmetic.
func run(ctx context.Context, dir string, args []string) (string, error) {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir = dir
	c.Env = append(os.Environ(), "OMP_NUM_THREADS=1")
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) } // it ends the servers that it started
	c.WaitDelay = 10 * time.Second
	out, err := c.Output()
	if cause := context.Cause(ctx); cause != nil {
		return "", cause
	}
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return "", fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}
