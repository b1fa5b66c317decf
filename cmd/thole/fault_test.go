package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// twoWorkers starts the two workers of a job that does not end by itself, and waits until they train.
func twoWorkers(t *testing.T, dir, servers string, more ...string) (workers [2]*process) {
	t.Helper()
	file := examples(t, dir)
	for task := range workers {
		own := append([]string{"--epochs", "1000000", "--log", fmt.Sprintf("run%d.jsonl", task)}, more...)
		workers[task] = worker(t, dir, servers, file, task, own...)
		if err := workers[task].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for task := range workers {
		waitFor(t, filepath.Join(dir, fmt.Sprintf("run%d.jsonl", task)), `"event":"epoch"`)
	}
	return workers
}

// TestWorkerFreezes stops one of two workers without ending it: the servers notice that nothing is heard of it, and the
// other worker is told who it was.
func TestWorkerFreezes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, one := startServer(t, dir)
	_, two := startServer(t, dir)
	workers := twoWorkers(t, dir, one+","+two, "--retry", "2s")
	if err := workers[1].Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := workers[0].Wait(); err == nil || !strings.Contains(workers[0].err.String(), "task 1") {
		t.Errorf("the other worker ends with %v and %q, want an error that names task 1", err, &workers[0].err)
	}
	if text := workers[0].err.String(); !strings.Contains(text, " has waited 10s for ") {
		t.Errorf("the other worker does not say that it waits: %q", text)
	}
	workers[1].Process.Signal(syscall.SIGCONT)
	if err := workers[1].Wait(); err == nil || !strings.Contains(workers[1].err.String(), `job "job"`) {
		t.Errorf("after it went on the worker ends with %v and %q", err, &workers[1].err)
	}
}

// TestWorkerInterrupted: Ctrl-C in one of two workers ends the other at once, whatever --retry says, and with its name.
func TestWorkerInterrupted(t *testing.T) {
	dir := t.TempDir()
	_, addr := startServer(t, dir)
	workers := twoWorkers(t, dir, addr, "--retry", "1h")
	workers[1].Process.Signal(os.Interrupt)
	if err := workers[0].Wait(); err == nil || !strings.Contains(workers[0].err.String(), "task 1") ||
		!strings.Contains(workers[0].err.String(), "gave up") {
		t.Errorf("the other worker ends with %v and %q, want an error that says that task 1 gave up", err, &workers[0].err)
	}
	if workers[1].Wait(); workers[1].ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("the worker ends with %v and %q, want status %d", workers[1].ProcessState, &workers[1].err, exitInterrupted)
	}
}

// TestServerStartedAnew kills a server and starts another one at its address: the workers find that what it held is lost,
// and the job can be run again.
func TestServerStartedAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, one := startServer(t, dir)
	dying, two := startServer(t, dir)
	workers := twoWorkers(t, dir, one+","+two)
	dying.Process.Kill()
	dying.Wait()
	startServer(t, dir, "--listen", two)
	for task, w := range workers {
		if err := w.Wait(); err == nil {
			t.Errorf("worker %d ends without an error", task)
		}
	}
	if both := workers[0].err.String() + workers[1].err.String(); !strings.Contains(both, "is lost") {
		t.Errorf("nobody says that what the server held is lost: %s", both)
	}
	again := newProcess(t, dir, "worker", "--servers", one+","+two, "--data", examples(t, dir), "--format", "dummy", "--model", "m")
	if err := again.Run(); err != nil {
		t.Errorf("the next job of the name: %v: %s", err, &again.err)
	}
}

// TestRefusedWorkerIsTold: a worker with other settings is refused, and the one that waits for it hears why.
func TestRefusedWorkerIsTold(t *testing.T) {
	dir := t.TempDir()
	file := examples(t, dir)
	_, addr := startServer(t, dir)
	first := worker(t, dir, addr, file, 0)
	told, err := first.linesOf()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	told.wait(t, "waiting for 1 of 2 tasks")
	second := worker(t, dir, addr, file, 1, "--seed", "2")
	if err := second.Run(); err == nil || !strings.Contains(second.err.String(), "seed=1, not seed=2") {
		t.Errorf("the second worker ends with %v and %q", err, &second.err)
	}
	told.wait(t, `a worker of job "job" was refused: job "job" is made with seed=1, not seed=2`)
	third := worker(t, dir, addr, file, 1)
	if err := third.Run(); err != nil {
		t.Errorf("the worker with the right settings: %v: %s", err, &third.err)
	}
	told.end()
	if err := first.Wait(); err != nil {
		t.Errorf("the first worker: %v", err)
	}
}
