// Command peers measures thole beside the programs of ../shared/peers/ps that do the least that can be done, in rounds that take
// turns, so that whatever else the machine does meets both, and prints medians and ratios. docs/performance.md says what the
// peers leave out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	rounds := flag.Int("n", 3, "rounds: each measures every peer and thole once, in turns")
	dir := flag.String("peers", filepath.Join("..", "shared", "peers", "ps"), "folder of the peers' sources")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := measure(ctx, *dir, *rounds, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// measure builds the programs, lets them run, and prints what came out.
func measure(ctx context.Context, dir string, rounds int, out, progress io.Writer) error {
	if rounds < 1 {
		return fmt.Errorf("-n %d, want 1 or more rounds", rounds)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		return fmt.Errorf("the peers are not at %s: %w", dir, err)
	}
	bin, err := os.MkdirTemp("", "thole-peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	for _, b := range []struct {
		dir      string
		programs []string
	}{{dir, []string{"./corepath", "./sparsebench"}}, {".", []string{"./cmd/thole"}}} {
		if _, err := run(ctx, b.dir, append([]string{"go", "build", "-o", bin}, b.programs...)); err != nil {
			return err
		}
	}
	results, err := compare(comparisons(), rounds, progress, func(args []string) (string, error) {
		return run(ctx, ".", append([]string{filepath.Join(bin, args[0])}, args[1:]...))
	})
	if err != nil {
		return err
	}
	return report(out, results)
}

// run answers with what a program prints.
func run(ctx context.Context, dir string, args []string) (string, error) {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Dir = dir
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
