package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"thole.example/algo"
	"thole.example/runlog"
)

// process is a thole of its own, built from the test binary.
type process struct {
	*exec.Cmd
	out, err bytes.Buffer
}

// limit is how long a test waits for a process before it calls it hung; nothing is measured with it.
const limit = 3 * time.Minute

func newProcess(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	exe, err := exec.LookPath("thole") // testscript put the test binary on the path under this name
	if err != nil {
		t.Fatal(err)
	}
	if signal.Ignored(syscall.SIGHUP) { // under nohup; processes that are started ignore it, too, unless it is caught here
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, syscall.SIGHUP)
		t.Cleanup(func() { signal.Stop(caught) })
	}
	p := &process{Cmd: exec.CommandContext(ctx, exe, args...)}
	p.Dir = dir
	p.Stdout, p.Stderr = &p.out, &p.err
	return p
}

// mustRun runs a process that has to succeed.
func mustRun(t *testing.T, dir string, args ...string) {
	t.Helper()
	p := newProcess(t, dir, args...)
	if err := p.Run(); err != nil {
		t.Fatalf("%v: %v: %s%s", args, err, &p.out, &p.err)
	}
}

// everyCase reports whether tests try each case of who is killed when, as "make kills" has them do, and not a few that differ most.
func everyCase() bool { return os.Getenv("KILL_TIME") != "" }

// lines are what a process prints while it runs.
type lines struct{ *bufio.Scanner }

// linesOf is the standard error of a process that is not started yet, line by line.
func (p *process) linesOf() (lines, error) {
	p.Stderr = nil
	out, err := p.StderrPipe()
	return lines{bufio.NewScanner(out)}, err
}

// wait reads lines up to one that has the text.
func (l lines) wait(t *testing.T, text string) {
	t.Helper()
	var all []string
	for l.Scan() {
		if all = append(all, l.Text()); strings.Contains(l.Text(), text) {
			return
		}
	}
	t.Fatalf("the process never says %q, but %q", text, all)
}

// end reads the rest.
func (l lines) end() {
	for l.Scan() {
	}
}

// startServer runs a server process and answers with its address.
func startServer(t *testing.T, dir string, more ...string) (*process, string) {
	t.Helper()
	p := newProcess(t, dir, append([]string{"server", "--listen", "127.0.0.1:0", "--store", dir}, more...)...)
	p.Stdout = nil
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill(); p.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("server: %v: %s", err, &p.err)
	}
	go io.Copy(io.Discard, out)
	return p, strings.TrimSpace(strings.TrimPrefix(line, "listening at "))
}

// examples writes the small examples into dir.
func examples(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(dir, "small.dummy")
	if err := os.WriteFile(file, []byte(smallExamples()), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

func worker(t *testing.T, dir, servers, file string, task int, more ...string) *process {
	args := append([]string{"worker", "--servers", servers, "--tasks", "2", "--task", fmt.Sprint(task), "--data", file,
		"--format", "dummy", "--epochs", "3"}, more...)
	return newProcess(t, dir, args...)
}

// TestProcesses trains each algorithm with two server and two worker processes and wants the bytes that one process gives.
func TestProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	few := examples(t, dir)
	clicks := newProcess(t, dir, "data", "clicks", "--preset", "criteo", "--rows", "300", "--out", "clicks.ffm")
	if err := clicks.Run(); err != nil {
		t.Fatalf("data: %v: %s", err, &clicks.err)
	}
	_, one := startServer(t, dir)
	_, two := startServer(t, dir)
	for _, a := range algo.Algos() { // the servers outlive their jobs
		settings := []string{"--algo", a.Name, "--tasks", "2", "--epochs", "2", "--batch", "64", "--data", few, "--format", "dummy",
			"--labels", "ZeroOneTrans"} // counts, for poisson
		if a.Network() {
			settings = append(settings[:8], "--data", "clicks.ffm")
		}
		alone := newProcess(t, dir, append([]string{"train", "--model", "one-" + a.Name}, settings...)...)
		if err := alone.Run(); err != nil {
			t.Fatalf("train %s: %v: %s", a.Name, err, &alone.err)
		}
		workers := []*process{}
		for task := range 2 {
			w := newProcess(t, dir, append([]string{"worker", "--servers", one + "," + two, "--task", fmt.Sprint(task),
				"--job", a.Name, "--model", "two-" + a.Name}, settings...)...)
			if err := w.Start(); err != nil {
				t.Fatal(err)
			}
			workers = append(workers, w)
		}
		for task, w := range workers {
			if err := w.Wait(); err != nil {
				t.Fatalf("%s, worker %d: %v: %s", a.Name, task, err, &w.err)
			}
		}
		sameFiles(t, filepath.Join(dir, "one-"+a.Name), filepath.Join(dir, "two-"+a.Name))
	}
	again := worker(t, dir, one+","+two, few, 0, "--tasks", "1", "--model", "two-lr")
	if err := again.Run(); err == nil || !strings.Contains(again.err.String(), "two-lr: ") {
		t.Errorf("a worker saves over a model: %v, %s", err, &again.err)
	}
}

// sameFiles compares what two trainings saved, but for the jobs' files, which say how many servers there were.
func sameFiles(t *testing.T, one, two string) {
	t.Helper()
	want := filesIn(t, one)
	if names := differences(filesIn(t, two), want); len(names) > 0 || len(want) == 0 {
		t.Errorf("of %d files of %s those of %s differ in %q", len(want), one, two, names)
	}
}

// filesIn is what is in the files of a model, but for that of the job, by their names.
func filesIn(t *testing.T, model string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(model, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == jobFileName {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, model)] = string(text)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return all
}

// TestServerDies kills a server in the middle of a job: the worker must say which one, and end.
func TestServerDies(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			file := examples(t, dir)
			_, one := startServer(t, dir)
			dying, two := startServer(t, dir)
			w := newProcess(t, dir, "worker", "--servers", one+","+two, "--data", file, "--format", "dummy",
				"--epochs", "1000000", "--model", "m", "--log", "run.jsonl", "--retry", "1s")
			if err := w.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, filepath.Join(dir, "run.jsonl"), `"event":"epoch"`)
			if err := dying.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := w.Wait(); err == nil || !strings.Contains(w.err.String(), "server "+two) {
				t.Fatalf("the worker ends with %v and %q, want an error that names %s", err, &w.err, two)
			}
			if _, err := os.Stat(filepath.Join(dir, "m")); err == nil {
				t.Error("there is a model")
			}
		})
	}
}

// TestWorkerDies kills one of two workers: the other must not wait for ever, and the servers go on.
func TestWorkerDies(t *testing.T) {
	for algo, long := range map[string]string{"lr": "--epochs", "gbdt": "--trees"} {
		t.Run(algo, func(t *testing.T) { workerDies(t, algo, long) })
	}
}

// workerDies kills a worker of a job that the flag makes long.
func workerDies(t *testing.T, algo, long string) {
	dir := t.TempDir()
	file := examples(t, dir)
	_, addr := startServer(t, dir)
	var workers []*process
	for task := range 2 {
		w := newProcess(t, dir, "worker", "--algo", algo, "--servers", addr, "--tasks", "2", "--task", fmt.Sprint(task), "--data", file,
			"--format", "dummy", long, "1000000", "--log", fmt.Sprintf("run%d.jsonl", task), "--retry", "1s")
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		workers = append(workers, w)
	}
	waitFor(t, filepath.Join(dir, "run0.jsonl"), `"event":"epoch"`)
	workers[1].Process.Kill()
	if err := workers[0].Wait(); err == nil || !strings.Contains(workers[0].err.String(), "task 1") {
		t.Fatalf("the other worker ends with %v and %q, want an error that names task 1", err, &workers[0].err)
	}
	again := newProcess(t, dir, "worker", "--algo", algo, "--servers", addr, "--data", file, "--format", "dummy", long, "2", "--model", "m")
	if err := again.Run(); err != nil {
		t.Fatalf("the next job: %v: %s", err, &again.err)
	}
}

// TestInterrupt stops a training with Ctrl-C: status 130, no model, no leftovers.
func TestInterrupt(t *testing.T) {
	for algo, long := range map[string]string{"lr": "--epochs", "gbdt": "--trees"} {
		t.Run(algo, func(t *testing.T) { interrupt(t, algo, long) })
	}
}

// interrupt stops a training that the flag makes long.
func interrupt(t *testing.T, algo, long string) {
	dir := t.TempDir()
	file := examples(t, dir)
	p := newProcess(t, dir, "train", "--algo", algo, "--data", file, "--format", "dummy", long, "1000000", "--model", "m",
		"--log", "run.jsonl", "--runs", "runs")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(dir, "run.jsonl"), `"event":"epoch"`)
	p.Process.Signal(os.Interrupt)
	p.Wait()
	if all, err := runlog.List(filepath.Join(dir, "runs")); err != nil || len(all) != 1 || all[0].State != runlog.Interrupted ||
		all[0].End != nil || all[0].Made() == 0 {
		t.Errorf("recorded %+v, %v, want an interrupted run", all, err)
	}
	if code := p.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(p.err.String(), "interrupted") {
		t.Fatalf("status %d and %q, want %d", code, &p.err, exitInterrupted)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*m*"))
	if err != nil || len(left) != 1 { // small.dummy
		t.Errorf("left behind: %v", left)
	}
}

// TestPortInUse starts a second server at the address of the first.
func TestPortInUse(t *testing.T) {
	dir := t.TempDir()
	_, addr := startServer(t, dir)
	p := newProcess(t, dir, "server", "--listen", addr)
	if err := p.Run(); err == nil || !strings.Contains(p.err.String(), addr) || !strings.Contains(p.err.String(), "in use") {
		t.Fatalf("the second server ends with %v and %q, want an error about %s", err, &p.err, addr)
	}
}

// TestTwoJobsOfOneName: the second is refused and says why; the first goes on.
func TestTwoJobsOfOneName(t *testing.T) {
	dir := t.TempDir()
	file := examples(t, dir)
	_, addr := startServer(t, dir)
	first := newProcess(t, dir, "worker", "--servers", addr, "--data", file, "--format", "dummy", "--epochs", "1000000", "--log", "run.jsonl")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(dir, "run.jsonl"), `"event":"epoch"`)
	second := newProcess(t, dir, "worker", "--servers", addr, "--data", file, "--format", "dummy")
	if err := second.Run(); err == nil || !strings.Contains(second.err.String(), "another name") {
		t.Fatalf("the second job ends with %v and %q", err, &second.err)
	}
	other := newProcess(t, dir, "worker", "--servers", addr, "--data", file, "--format", "dummy", "--job", "other", "--model", "m")
	if err := other.Run(); err != nil {
		t.Fatalf("a job of another name: %v: %s", err, &other.err)
	}
	if first.ProcessState != nil {
		t.Fatal("the first job ended")
	}
}

// waitFor polls a file that another process writes for a text.
func waitFor(t *testing.T, file, text string) {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got, err := os.ReadFile(file); err == nil && strings.Contains(string(got), text) {
			return
		}
	}
	t.Fatalf("%s never says %s", file, text)
}

// TestWorkersDiffer: two workers with different settings are not one job.
func TestWorkersDiffer(t *testing.T) {
	dir := t.TempDir()
	file := examples(t, dir)
	_, addr := startServer(t, dir)
	for setting, values := range map[string][2]string{"seed": {"1", "2"}, "non-finite": {"skip", "allow"}} {
		t.Run(setting, func(t *testing.T) { workersDiffer(t, dir, addr, file, setting, values) })
	}
}

func workersDiffer(t *testing.T, dir, addr, file, setting string, values [2]string) {
	var workers []*process
	for task, value := range values {
		workers = append(workers, worker(t, dir, addr, file, task, "--job", setting, "--"+setting, value))
	}
	ended := make(chan error, len(workers))
	for _, w := range workers {
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { ended <- w.Wait() }()
	}
	if err := <-ended; err == nil { // whoever comes second
		t.Error("the first worker to end does so without an error")
	}
	for _, w := range workers {
		w.Process.Kill()
	}
	<-ended
	if both := workers[0].err.String() + workers[1].err.String(); !strings.Contains(both, " not "+setting+"=") {
		t.Errorf("nobody says which setting differs: %s", both)
	}
}
