//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"thole.example/launch/local"
)

// recordOf waits until the record of a launch is as wanted.
func recordOf(t *testing.T, dir string, as func(*local.Record) bool) *local.Record {
	t.Helper()
	var r *local.Record
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if r, err = local.Open(dir); err == nil && as(r) {
			return r
		}
	}
	t.Fatalf("%s never is as wanted, but %+v, %v", dir, r, err)
	return nil
}

// allRun reports whether all processes of a launch run.
func allRun(r *local.Record) bool {
	for _, p := range r.Processes {
		if p.Pid == 0 || p.Phase != local.Running {
			return false
		}
	}
	return r.State == local.Going
}

// gone waits until no process of a launch is left.
func gone(t *testing.T, r *local.Record) {
	t.Helper()
	end := time.Now().Add(limit)
	for _, p := range r.Processes {
		for lives(p.Pid) {
			if time.Now().After(end) {
				t.Fatalf("%s, process %d, is left", p.Name, p.Pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// lives reports whether a process runs: one that has ended, but nobody has asked for its status, has no command line.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err != nil || len(line) > 0
}

// TestLaunchInterrupted ends a launch by Ctrl-C, and by the death of its supervisor: no process is left, and nothing half made.
func TestLaunchInterrupted(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			examples(t, dir)
			p := newProcess(t, dir, "launch", "--servers", "2", "--workers", "2", "--data", "small.dummy", "--format", "dummy", "--epochs",
				"1000000", "--model", "m", "--log", "run.jsonl", "--dir", "l", "--checkpoint", "ck", "--checkpoint-every", "1")
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, filepath.Join(dir, "run.jsonl"), `"event":"epoch"`)
			r := recordOf(t, filepath.Join(dir, "l"), func(r *local.Record) bool {
				return allRun(r) && len(checkpointsIn(t.Context(), nil, inBucket(filepath.Join(dir, "ck")))) > 0
			})
			p.Process.Signal(sig)
			p.Wait()
			gone(t, r)
			want, state := exitInterrupted, local.Interrupted
			switch sig {
			case syscall.SIGTERM:
				want = exitTemporary
			case syscall.SIGKILL:
				want, state = -1, local.Dead
			}
			if code := p.ProcessState.ExitCode(); code != want {
				t.Errorf("status %d, want %d: %s", code, want, &p.err)
			}
			if said := strings.Contains(p.err.String(), "ck: the same command goes on from the last checkpoint there\n"); said != (sig != syscall.SIGKILL) {
				t.Errorf("that it goes on is said: %v; %s", said, &p.err)
			}
			recordOf(t, filepath.Join(dir, "l"), func(r *local.Record) bool { // processes that are gone may be on their way out for the system
				return r.State == state && !slices.ContainsFunc(r.Processes, func(p local.Status) bool { return p.Phase != local.Ended })
			})
			if left, err := filepath.Glob(filepath.Join(dir, "m*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestLaunchRestarts kills a server and a worker that waits for its examples: both are started again, and the model is that of a training
// of which nothing was killed.
func TestLaunchRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := examples(t, dir)
	settings := []string{"--data", "late.dummy", "--format", "dummy", "--epochs", "3", "--servers", "2"}
	late := filepath.Join(dir, "late.dummy")
	if err := syscall.Mkfifo(late, 0o666); err != nil {
		t.Skip(err)
	}
	p := newProcess(t, dir, append([]string{"launch", "--model", "launched", "--dir", "l", "--checkpoint", "ck"}, settings...)...)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	r := recordOf(t, filepath.Join(dir, "l"), allRun)
	for _, i := range []int{1, 2} {
		if err := syscall.Kill(r.Processes[i].Pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	r = recordOf(t, filepath.Join(dir, "l"), func(r *local.Record) bool {
		return allRun(r) && r.Processes[1].Restarts == 1 && r.Processes[2].Restarts == 1
	})
	if exit := r.Processes[2].LastExit; !strings.Contains(exit, "killed") {
		t.Errorf("the worker ended last as %q", exit)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(late, text, 0); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &p.err)
	}
	if said := p.err.String(); !strings.Contains(said, "server.1 was killed by a signal: killed") {
		t.Errorf("it says %q", said)
	}
	if err := os.Remove(late); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file, late); err != nil {
		t.Fatal(err)
	}
	alone := newProcess(t, dir, append([]string{"train", "--model", "trained"}, settings...)...)
	if err := alone.Run(); err != nil {
		t.Fatalf("%v: %s", err, &alone.err)
	}
	sameFiles(t, filepath.Join(dir, "trained"), filepath.Join(dir, "launched"))
	if got, want := p.out.String(), strings.ReplaceAll(alone.out.String(), "trained", "launched"); got != want {
		t.Errorf("the launch prints %q, want %q", got, want)
	}
}

// TestLaunchNoRestarts: --restarts 0 ends a launch with the first process that is killed, and says what it said last.
func TestLaunchNoRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	examples(t, dir)
	p := newProcess(t, dir, "launch", "--workers", "2", "--data", "small.dummy", "--format", "dummy", "--epochs", "1000000", "--log",
		"run.jsonl", "--dir", "l", "--restarts", "0")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(dir, "run.jsonl"), `"event":"epoch"`)
	waitFor(t, filepath.Join(dir, "l", "worker.1.log"), "epoch ") // else there is nothing that it said last
	r := recordOf(t, filepath.Join(dir, "l"), allRun)
	if err := syscall.Kill(r.Processes[2].Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err == nil || p.ProcessState.ExitCode() != exitError {
		t.Errorf("%v, want status %d", err, exitError)
	}
	gone(t, r)
	for _, want := range []string{"worker.1 was killed by a signal: killed, and is not to be started again", "worker.1.log", "said last:"} {
		if !strings.Contains(p.err.String(), want) {
			t.Errorf("it does not say %q: %s", want, &p.err)
		}
	}
}
