//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// says waits until the worker of a task has said something.
func (c *cast) says(i int, want string) {
	c.t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if strings.Contains(c.said[i].String(), want) {
			return
		}
	}
	c.t.Fatalf("worker %d never says %q, but %s", i, want, c.said[i])
}

// longJob makes examples, and settings of a job whose workers are given up.
func longJob(t *testing.T, dir string, more ...string) []string {
	t.Helper()
	p := newProcess(t, dir, "data", "clicks", "--preset", "criteo", "--rows", "3000", "--out", "clicks.ffm")
	if err := p.Run(); err != nil {
		t.Fatal(err, &p.err)
	}
	return append([]string{"--algo", "fm", "--data", "clicks.ffm", "--batch", "30", "--holdout", "0.1", "--model", "m", "--force",
		"--give-up", "1s"}, more...)
}

// leftOut is that some examples were left out, in a run's log.
var leftOut = regexp.MustCompile(`"leftOut":[1-9]`)

// TestGivenUp: of a worker that is killed, and not started again, the others take over the examples, under each protocol, with and without
// checkpoints; also after a server was lost meanwhile. When it went, and how many examples were left out, is in the report.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		settings []string
		server   bool // is killed, too, after that
	}{
		{"BSP", []string{"--epochs", "30", "--early-stop", "0"}, false},
		{"SSP", []string{"--epochs", "30", "--early-stop", "0", "--staleness", "2"}, false},
		{"ASP", []string{"--epochs", "30", "--early-stop", "0", "--staleness", "-1"}, false},
		{"early", []string{"--epochs", "30", "--early-stop", "30"}, false},
		{"checkpoints", []string{"--epochs", "60", "--early-stop", "60", "--checkpoint", "ck", "--checkpoint-every", "20"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			cast := newCast(t, dir, 2, 3, longJob(t, dir, c.settings...)...)
			waitFor(t, filepath.Join(dir, "run.0.jsonl"), `"event":"epoch"`)
			cast.kill(cast.workers[2])
			cast.says(0, "task 2 was given up")
			if c.server {
				cast.kill(cast.servers[1])
				cast.server(1)
				cast.says(0, "goes on without 1 of 3 tasks (2)")
			}
			for i, w := range cast.workers[:2] {
				if err := w.Wait(); err != nil {
					t.Fatalf("worker %d: %v: %s", i, err, &w.err)
				}
			}
			said := cast.said[0].String()
			amid := strings.Contains(said, "warning: task 2 was given up in epoch") // not between two
			if strings.Count(said, "warning: task 2 was given up ") != 1 {
				t.Errorf("it says %s", said)
			}
			log, err := os.ReadFile(filepath.Join(dir, "run.0.jsonl"))
			if err != nil || !strings.Contains(string(log), `"event":"tasks"`) || amid && !leftOut.Match(log) {
				t.Errorf("%v, %s", err, log)
			}
			t.Logf("%s", cast.said[0])
		})
	}
}

// TestComesAndGoes: a worker that is told to leave does so between two epochs; one that comes in its place later shares the examples from the
// next epoch on, and so does one that was never there. When the job has ended there is nothing for it to do.
func TestComesAndGoes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	settings := longJob(t, dir, "--epochs", "150", "--early-stop", "150", "--checkpoint", "ck", "--checkpoint-every", "1h", "--leave")
	c := &cast{t: t, dir: dir, servers: make([]*process, 2), workers: make([]*process, 3), settings: settings}
	c.server(0)
	c.server(1)
	c.worker(1)
	c.settings = settings[:len(settings)-1] // the first one cannot leave
	c.worker(0)
	c.says(0, "goes on without 1 of 3 tasks (2)")
	waitFor(t, filepath.Join(dir, "run.0.jsonl"), `"event":"epoch"`)
	c.worker(2)
	c.says(0, "task 2 shares the examples again")
	first := c.workers[1]
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); err != nil || !strings.Contains(first.err.String(), "left job") {
		t.Fatalf("%v: %s", err, &first.err)
	}
	c.says(0, "task 1 has left after epoch")
	c.worker(1)
	c.says(0, "task 1 shares the examples again")
	c.end()
	for i := range c.workers {
		t.Logf("worker %d:\n%s", i, c.said[i])
	}
	if said := c.said[0].String(); strings.Contains(said, "warning: task") {
		t.Errorf("all are back, and it says %s", said)
	}
	late := newProcess(t, dir, append([]string{"worker", "--servers", c.socket(0) + "," + c.socket(1), "--tasks", "3", "--task", "2",
		"--wait", "500ms"}, c.settings...)...)
	if err := late.Run(); err != nil || !strings.Contains(late.err.String(), "has ended already") {
		t.Errorf("%v: %s", err, &late.err)
	}
}

// TestAbsenceSettings: what makes no sense is a wrong command line.
func TestAbsenceSettings(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--give-up", "-1s"}, "want a time like 2m"},
		{[]string{"--leave"}, "--leave without --give-up"},
		{[]string{"--give-up", "1s", "--leave"}, "want it for another worker"},
		{[]string{"--give-up", "1s", "--algo", "gbdt"}, "trees grow by all workers"},
	} {
		var said bytes.Buffer
		args := append([]string{"worker", "--servers", "mem:1", "--tasks", "2", "--data", "x"}, c.args...)
		code := Main(args, &env{in: strings.NewReader(""), out: io.Discard, err: &said})
		if code != exitUsage || !strings.Contains(said.String(), c.want) {
			t.Errorf("%v: status %d, %s, want %q", c.args, code, &said, c.want)
		}
	}
}

// TestFolderTaken: while a job writes checkpoints to a folder no other job does, whichever servers it is on.
func TestFolderTaken(t *testing.T) {
	dir := t.TempDir()
	settings := []string{"--data", "clicks.ffm", "--checkpoint", "ck", "--checkpoint-every", "1"}
	longJob(t, dir)
	long := append(settings, "--epochs", "100000")
	c := newCast(t, dir, 1, 1, long...)
	c.later("")
	for name, args := range map[string][]string{
		"a job beside it": append([]string{"worker", "--servers", c.socket(0), "--job", "other"}, long...),
		"thole train":     append([]string{"train"}, long...),
		"prune":           {"checkpoint", "prune", "ck", "--keep", "1"},
	} {
		p := newProcess(t, dir, args...)
		if err := p.Run(); err == nil || p.ProcessState.ExitCode() != exitError ||
			!strings.Contains(p.err.String(), `job "job" on the server of process`) {
			t.Errorf("%s: %v: %s", name, err, &p.err)
		}
	}
	if c.workers[0].ProcessState != nil {
		t.Errorf("the first one ended: %s", c.said[0])
	}
	c.kill(c.workers[0])
	c.kill(c.servers[0])
	p := newProcess(t, dir, append([]string{"train", "--epochs", "1"}, settings...)...) // which may have been made
	if _ = p.Run(); strings.Contains(p.err.String(), "writes its checkpoints") {
		t.Errorf("after it was killed: %s", &p.err)
	}
}

// TestBackInTime: a worker that is started again before it is given up takes its place, and the job has the bits of one that nothing happened to.
func TestBackInTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	settings := longJob(t, dir, "--epochs", "20", "--early-stop", "20", "--give-up", "20s")
	alone := newProcess(t, dir, "train", "--tasks", "3", "--algo", "fm", "--data", "clicks.ffm", "--batch", "30", "--holdout", "0.1", "--epochs", "20",
		"--early-stop", "20", "--model", "alone")
	if err := alone.Run(); err != nil {
		t.Fatal(err, &alone.err)
	}
	for name, more := range map[string][]string{"checkpoints": {"--checkpoint", "ck", "--checkpoint-every", "50"}} {
		t.Run(name, func(t *testing.T) {
			c := newCast(t, dir, 2, 3, append(settings, more...)...)
			waitFor(t, filepath.Join(dir, "run.0.jsonl"), `"epoch":3`)
			c.kill(c.workers[2])
			c.worker(2)
			c.end()
			if diff := newProcess(t, dir, "diff", "alone", "m"); diff.Run() != nil {
				t.Errorf("the model differs: %s%s", &diff.out, &diff.err)
			}
			if strings.Contains(c.said[0].String(), "given up") {
				t.Errorf("it was given up: %s", c.said[0])
			}
		})
	}
}

// TestTreesFolderTaken: the worker that writes the checkpoints of trees has their folder for itself.
func TestTreesFolderTaken(t *testing.T) {
	dir := t.TempDir()
	longJob(t, dir)
	c := newCast(t, dir, 1, 2, "--algo", "gbdt", "--data", "clicks.ffm", "--checkpoint", "ck", "--checkpoint-every", "1", "--trees", "100000")
	for end := time.Now().Add(limit); c.lastTrees() == "" && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	p := newProcess(t, dir, "worker", "--servers", c.socket(0), "--job", "other", "--algo", "gbdt", "--data", "clicks.ffm", "--checkpoint", "ck")
	if err := p.Run(); err == nil || !strings.Contains(p.err.String(), "another process writes its checkpoints there") {
		t.Errorf("%v: %s", err, &p.err)
	}
}

// lastTrees is a checkpoint of trees, if there is one.
func (c *cast) lastTrees() string {
	all, _ := filepath.Glob(filepath.Join(c.dir, "ck", "*"))
	if len(all) == 0 {
		return ""
	}
	return all[0]
}
