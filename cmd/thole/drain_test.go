//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asked asks processes to end, all at once, and wants their status.
func (c *cast) asked(by syscall.Signal, want int, all ...*process) {
	c.t.Helper()
	for _, p := range all {
		if err := p.Process.Signal(by); err != nil {
			c.t.Fatal(err)
		}
	}
	for _, p := range all {
		_ = p.Wait() // the status says it
		if code := p.ProcessState.ExitCode(); code != want {
			c.t.Errorf("%v ends with %v, want status %d: %s", p.Args[1:], p.ProcessState, want, &p.err)
		}
	}
}

// runs waits until the first worker has made an epoch more than before.
func (c *cast) runs() {
	c.t.Helper()
	log := filepath.Join(c.dir, "run.0.jsonl")
	before, _ := os.ReadFile(log)
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if now, _ := os.ReadFile(log); strings.Count(string(now), `"event":"epoch"`) > strings.Count(string(before), `"event":"epoch"`) {
			return
		}
	}
	c.t.Fatalf("no epoch more: %s", c.said[0])
}

// newer wants a checkpoint that was not there before, and answers which it is.
func (c *cast) newer(than string) string {
	c.t.Helper()
	last := c.last()
	if last <= than {
		c.t.Errorf("the last checkpoint is %q after %q, want a later one", last, than)
	}
	return last
}

// frozen stops a process until what is to be done has been.
func (c *cast) frozen(p *process, do func()) {
	c.t.Helper()
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		c.t.Fatal(err)
	}
	do()
	if err := p.Process.Signal(syscall.SIGCONT); err != nil {
		c.t.Fatal(err)
	}
}

// drainCase is processes that are asked to end while the job runs.
type drainCase struct {
	always bool // not only where all cases are
	every  string
	ask    func(c *cast)
}

var drainCases = map[string]drainCase{
	"a server": {true, "1000000", func(c *cast) {
		c.asked(syscall.SIGTERM, exitTemporary, c.servers[1])
		last := c.newer("")
		c.server(1)
		c.runs()
		if want := "goes on from ck/" + last; !strings.Contains(c.said[0].String(), want) {
			c.t.Errorf("the first worker says %q, want %q", c.said[0], want)
		}
		c.asked(syscall.SIGTERM, exitTemporary, c.servers[0])
		c.newer(last)
		c.server(0)
	}},
	"workers": {true, "1000000", func(c *cast) {
		c.asked(syscall.SIGTERM, exitTemporary, c.workers[2])
		last := c.newer("")
		c.worker(2)
		c.runs()
		c.asked(syscall.SIGUSR1, exitTemporary, c.workers[0])
		last = c.newer(last)
		c.worker(0)
		c.runs()
		if text := c.said[2].String(); strings.Contains(text, "goes back") {
			c.t.Errorf("worker 2 says %q, want nobody to go back as one takes the place of another", text)
		}
		c.asked(syscall.SIGINT, exitInterrupted, c.workers[1])
		c.newer(last)
		c.worker(1)
	}},
	"everything": {true, "1000000", func(c *cast) {
		c.asked(syscall.SIGTERM, exitTemporary, slices.Concat(c.servers, c.workers)...)
		c.newer("")
		c.start()
	}},
	"a server and the first worker": {false, "1000000", func(c *cast) {
		c.asked(syscall.SIGTERM, exitTemporary, c.servers[0], c.workers[0])
		c.newer("")
		c.server(0)
		c.worker(0)
	}},
	"one after the other": {false, "1000000", func(c *cast) {
		for _, p := range slices.Concat(c.workers, c.servers) {
			c.asked(syscall.SIGTERM, exitTemporary, p)
		}
		c.newer("")
		c.start()
	}},
	"amid a checkpoint": {false, "3", func(c *cast) {
		for end := time.Now().Add(time.Second); time.Now().Before(end); {
			if left, _ := filepath.Glob(filepath.Join(c.dir, "ck", "_tmp.*")); len(left) > 0 {
				break
			}
		}
		c.asked(syscall.SIGTERM, exitTemporary, c.servers[0], c.workers[0])
		c.server(0)
		c.worker(0)
	}},
	"a server while another is dead": {false, "1000000", func(c *cast) {
		c.kill(c.servers[0])
		c.asked(syscall.SIGTERM, exitTemporary, c.servers[1])
		c.server(0)
		c.server(1)
	}},
	"a worker while a server is dead": {false, "1000000", func(c *cast) {
		c.kill(c.servers[0])
		c.asked(syscall.SIGTERM, exitTemporary, c.workers[1], c.workers[0])
		c.worker(1)
		c.worker(0)
		c.server(0)
	}},
}

// Whoever is asked to end, and started again with the same command line, ends with a checkpoint, and the job with the bits of one that
// nothing happened to.
func TestDrained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustRun(t, dir, "data", "clicks", "--preset", "criteo", "--rows", "4000", "--out", "clicks.ffm")
	settings := []string{"--algo", "fm", "--data", "clicks.ffm", "--epochs", "30", "--batch", "32"}
	mustRun(t, dir, append([]string{"train", "--tasks", "3", "--model", "alone"}, settings...)...)
	for name, one := range drainCases {
		if !everyCase() && !one.always {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, left := range []string{"ck", "kept", "run.0.jsonl"} {
				if err := os.RemoveAll(filepath.Join(dir, left)); err != nil {
					t.Fatal(err)
				}
			}
			c := newCast(t, dir, 2, 3, append(settings, "--model", "kept", "--checkpoint", "ck", "--checkpoint-every", one.every)...)
			c.runs()
			one.ask(c)
			c.end()
			diff := newProcess(t, dir, "diff", "alone", "kept")
			if err := diff.Run(); err != nil {
				t.Errorf("the model differs: %v: %s%s", err, &diff.out, &diff.err)
			}
			c.asked(syscall.SIGTERM, 0, c.servers...) // with nothing to be kept
			for i, w := range c.workers {
				t.Logf("worker %d:\n%s", i, &w.err)
			}
		})
	}
}

// TestDrainForced: nobody waits longer than --grace, or asked once more at all, for a checkpoint that does not come.
func TestDrainForced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustRun(t, dir, "data", "clicks", "--rows", "4000", "--out", "clicks.libsvm")
	settings := []string{"--data", "clicks.libsvm", "--epochs", "100000", "--batch", "32", "--model", "m", "--checkpoint", "ck"}
	c := newCast(t, dir, 1, 2, append(settings, "--grace", "300ms")...)
	c.runs()
	c.frozen(c.workers[0], func() {
		c.asked(syscall.SIGTERM, exitTemporary, c.workers[1])
		if want := "it was not there after 300ms (--grace)"; !strings.Contains(c.workers[1].err.String(), want) {
			t.Errorf("worker 1 says %q, want %q", &c.workers[1].err, want)
		}
		s := c.servers[0]
		if err := s.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // it may have ended, else the second signal counts
		c.asked(syscall.SIGTERM, -1, s)
	})
	c.kill(c.workers[0])

	c = &cast{t: t, dir: dir, settings: settings, servers: make([]*process, 1), workers: make([]*process, 2)}
	c.servers[0], _ = startServer(t, dir, "--listen", c.socket(0), "--grace", "300ms")
	c.worker(0)
	c.worker(1)
	c.runs()
	c.frozen(c.workers[0], func() {
		c.asked(syscall.SIGTERM, exitTemporary, c.servers[0])
		if want := "--grace 300ms is over"; !strings.Contains(c.servers[0].err.String(), want) {
			t.Errorf("the server says %q, want %q", &c.servers[0].err, want)
		}
	})
	c.workers[1].Process.Signal(syscall.SIGTERM)
	c.asked(syscall.SIGTERM, exitTemporary, c.workers...)
}

// A launch that is asked to end does so with a checkpoint, and goes on from it.
func TestLaunchDrained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustRun(t, dir, "data", "clicks", "--rows", "4000", "--out", "clicks.libsvm")
	settings := []string{"--data", "clicks.libsvm", "--epochs", "40", "--batch", "32"}
	mustRun(t, dir, append([]string{"train", "--tasks", "2", "--model", "alone"}, settings...)...)
	launch := append([]string{"launch", "--workers", "2", "--servers", "2", "--dir", "jobs", "--model", "kept", "--checkpoint", "ck",
		"--checkpoint-every", "1000000"}, settings...)
	c := &cast{t: t, dir: dir}
	last := ""
	for _, by := range []struct {
		signal syscall.Signal
		status int
	}{{syscall.SIGTERM, exitTemporary}, {syscall.SIGINT, exitInterrupted}} {
		p := newProcess(t, dir, launch...)
		said, err := p.linesOf()
		if err == nil {
			err = p.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		said.wait(t, "  loss ")
		go said.end()
		c.asked(by.signal, by.status, p)
		last = c.newer(last)
	}
	mustRun(t, dir, launch...)
	mustRun(t, dir, "diff", "alone", "kept")
}

// A training in one process does the same.
func TestTrainDrained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustRun(t, dir, "data", "clicks", "--rows", "4000", "--out", "clicks.libsvm")
	settings := []string{"train", "--data", "clicks.libsvm", "--epochs", "40", "--batch", "32", "--tasks", "2"}
	mustRun(t, dir, append(settings, "--model", "alone")...)
	settings = append(settings, "--model", "kept", "--checkpoint", "ck", "--checkpoint-every", "1000000")
	c := &cast{t: t, dir: dir}
	p := newProcess(t, dir, append(settings, "--log", "run.jsonl")...)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(dir, "run.jsonl"), `"event":"epoch"`)
	c.asked(syscall.SIGTERM, exitTemporary, p)
	if want := "with the checkpoint ck/" + c.newer(""); !strings.Contains(p.err.String(), want) {
		t.Errorf("it says %q, want %q", &p.err, want)
	}
	mustRun(t, dir, settings...)
	mustRun(t, dir, "diff", "alone", "kept")
}
