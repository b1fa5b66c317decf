package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"
)

// verdict is what became of a mutation.
type verdict string

const (
	killed      verdict = "killed"
	survived    verdict = "survived"
	timeout     verdict = "timeout"     // noticed: the tests did not end
	equivalent  verdict = "equivalent"  // survived, and is known to change nothing that a test could see
	unbuildable verdict = "unbuildable" // the compiler is stricter than the type checker, or a test needs the constant
)

// result is a mutation with its verdict and the test that gave it.
type result struct {
	mutation
	Verdict verdict `json:"verdict"`
	By      string  `json:"by,omitempty"`
}

// runner tries mutations.
type runner struct {
	module   *module
	limit    time.Duration
	run      string // only these tests; "": all
	progress io.Writer
	mu       sync.Mutex // of progress
	done     int
}

// all tries the mutations, several at a time, and gives the results in the same order.
func (r *runner) all(ctx context.Context, drawn []*mutation, even *equivalents, parallel int) ([]result, error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	results := make([]result, len(drawn))
	wrong := make([]error, len(drawn))
	next := make(chan int)
	var workers sync.WaitGroup
	for range max(1, parallel) {
		workers.Go(func() {
			for i := range next {
				results[i], wrong[i] = r.try(ctx, drawn[i], filepath.Join(dir, fmt.Sprint(i)))
				if results[i].Verdict == survived && even.has(drawn[i]) {
					results[i].Verdict = equivalent
				}
				r.say(results[i], len(drawn))
			}
		})
	}
	for i := range drawn {
		if ctx.Err() == nil {
			next <- i
		}
	}
	close(next)
	workers.Wait()
	return results, errors.Join(append(wrong, ctx.Err())...)
}

// say prints a line of progress.
func (r *runner) say(res result, of int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	fmt.Fprintf(r.progress, "%d/%d %s: %s: %s %s\n", r.done, of, res.place(), res.Change, res.Verdict, res.By)
	if res.Verdict == survived {
		fmt.Fprintf(r.progress, "- %s\n+ %s\n", res.Before, res.After)
	}
}

// try runs the tests that could notice the mutation, until one does. Files of its own are written to dir.
func (r *runner) try(ctx context.Context, m *mutation, dir string) (result, error) {
	res := result{mutation: *m, Verdict: survived}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return res, err
	}
	defer os.RemoveAll(dir)
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {m.file.path: changed}})
	if err := errors.Join(err, os.WriteFile(changed, m.source(), 0o600), os.WriteFile(overlay, text, 0o600)); err != nil {
		return res, err
	}
	for _, s := range m.pkg.suites {
		out, ok, err := r.test(ctx, s, append(bounded(), "-overlay", overlay)...)
		if err != nil {
			return res, err
		}
		if !ok {
			res.Verdict, res.By = judge(out)
			res.By = s.pkg + res.By
			return res, nil
		}
	}
	return res, nil
}

// test runs a suite.
func (r *runner) test(ctx context.Context, s suite, flags ...string) (out []byte, ok bool, err error) {
	args := append([]string{"test", "-short", "-failfast", "-vet=off", "-timeout", r.limit.String()}, flags...)
	if s.run == "" && r.run != "" {
		args = append(args, "-run", r.run)
	}
	if s.run != "" {
		args = append(args, "-run", s.run, "-skip", s.skip)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./"+s.pkg)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // go ends the tests that it started
	cmd.Dir = r.module.root
	// The properties make the same draws for every mutation and leave no file in the tree.
	cmd.Env = append(os.Environ(), "RAPID_SEED=1", "RAPID_NOFAILFILE=true")
	out, err = cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		return out, false, nil
	}
	return out, err == nil, errors.Join(err, ctx.Err())
}

// bounded starts a test with a limit of memory: a mutation may have taken the check of a size away.
func bounded() []string {
	if runtime.GOOS == "windows" {
		return nil
	}
	return []string{"-exec", `sh -c 'ulimit -v 25165824; exec "$0" "$@"'`}
}

var (
	failure = regexp.MustCompile(`--- FAIL: (\S+)`)
	late    = []byte("panic: test timed out after")
	broken  = regexp.MustCompile(`\[(build|setup) failed\]`)
)

// judge reads why the tests failed.
func judge(out []byte) (v verdict, by string) {
	switch {
	case broken.Match(out):
		return unbuildable, ""
	case bytes.Contains(out, late):
		v = timeout
	default:
		v = killed
	}
	if f := failure.FindSubmatch(out); f != nil {
		by = " " + string(f[1])
	}
	return v, by
}

// sound runs all tests that will judge on the tree as it is: tests that fail anyway would kill every mutation.
func (r *runner) sound(ctx context.Context, drawn []*mutation) error {
	var judges []suite
	var wrong []error
	for _, m := range drawn {
		for _, s := range m.pkg.suites {
			if !slices.Contains(judges, s) {
				judges = append(judges, s)
			}
		}
	}
	for i, s := range judges {
		out, ok, err := r.test(ctx, s, bounded()...)
		if err != nil {
			return err
		}
		fmt.Fprintf(r.progress, "unchanged %d/%d %s %s: passes %v\n", i+1, len(judges), s.pkg, s.run, ok)
		if !ok {
			wrong = append(wrong, fmt.Errorf("the tests of %s fail without any change, want them to pass:\n%s", s.pkg, out))
		}
	}
	return errors.Join(wrong...)
}
