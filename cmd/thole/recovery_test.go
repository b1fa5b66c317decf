package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// cast is the processes of a job that goes on from checkpoints, each of which can be killed and started again.
type cast struct {
	t        *testing.T
	dir      string
	settings []string
	roles    bool   // servers are found by their roles, and have other addresses each time
	logs     string // then: the disk on which the next server has its log, which standbys copy; "": it has none
	servers  []*process
	workers  []*process
	said     map[int]*spoken // what the workers of tasks print for people
}

// spoken is what a process prints while it runs. It may be used by many goroutines.
type spoken struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (s *spoken) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, b...)
	return len(b), nil
}

// String is what was printed so far.
func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// roleLease is the lease of servers that are found by their roles. A shorter one lapses while a test has no processor.
const roleLease = 1500 * time.Millisecond

// newCast starts servers and workers, one for each task.
func newCast(t *testing.T, dir string, servers, workers int, settings ...string) *cast {
	c := &cast{t: t, dir: dir, settings: settings, servers: make([]*process, servers), workers: make([]*process, workers)}
	c.start()
	return c
}

func (c *cast) start() {
	for i := range c.servers {
		c.server(i)
	}
	for i := range c.workers {
		c.worker(i)
	}
}

func (c *cast) socket(i int) string { return "unix:" + filepath.Join(c.dir, fmt.Sprintf("s%d", i)) }

// server starts a server at the address that it always has, or for the role.
func (c *cast) server(i int) {
	c.t.Helper()
	args := []string{"--listen", c.socket(i), "--quiet"}
	if c.roles {
		args = []string{"--coordinate", "dir:roles", "--role", fmt.Sprint(i), "--lease", roleLease.String()}
	}
	if c.logs != "" {
		args = append(args, "--log", fmt.Sprintf("log.%d.%s", i, c.logs), "--replicas", "2")
	}
	c.servers[i], _ = startServer(c.t, c.dir, args...)
}

// worker starts the worker of a task, with the command line that it always has.
func (c *cast) worker(i int) {
	c.t.Helper()
	var all []string
	for s := range c.servers {
		all = append(all, c.socket(s))
	}
	servers := []string{"--servers", strings.Join(all, ",")}
	if c.roles {
		servers = []string{"--coordinate", "dir:roles", "--servers", fmt.Sprint(len(c.servers))}
	}
	args := slices.Concat([]string{"worker", "--tasks", fmt.Sprint(len(c.workers)), "--task", fmt.Sprint(i), "--wait", "20s", "--log",
		fmt.Sprintf("run.%d.jsonl", i)}, servers, c.settings)
	w := newProcess(c.t, c.dir, args...)
	if c.said == nil {
		c.said = map[int]*spoken{}
	}
	c.said[i] = &spoken{}
	w.Stderr = io.MultiWriter(&w.err, c.said[i])
	if err := w.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.workers[i] = w
	c.t.Cleanup(func() { w.Process.Kill(); w.Wait() })
}

// kill ends a process as a machine that loses its power does.
func (c *cast) kill(p *process) {
	c.t.Helper()
	if err := p.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	_ = p.Wait() // killed
}

// later waits until checkpoints have been written after the one that was the last.
func (c *cast) later(than string) (last string) {
	c.t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if last = c.last(); last > than {
			return last
		}
		for i, w := range c.workers {
			if w.ProcessState != nil {
				c.t.Fatalf("worker %d ended: %s", i, &w.err)
			}
		}
	}
	c.t.Fatalf("no checkpoint after %q", than)
	return ""
}

// last is the name of the last checkpoint.
func (c *cast) last() string {
	all, _ := filepath.Glob(filepath.Join(c.dir, "ck", "0*", "checkpoint"))
	if len(all) == 0 {
		return ""
	}
	return filepath.Base(filepath.Dir(all[len(all)-1]))
}

// end waits for the workers.
func (c *cast) end() {
	c.t.Helper()
	for i, w := range c.workers {
		if err := w.Wait(); err != nil {
			c.t.Errorf("worker %d: %v: %s", i, err, &w.err)
		}
	}
}

// Whoever is killed, and started again with the same command line, a job that writes checkpoints ends with the bits of one that nothing happened to.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustRun(t, dir, "data", "clicks", "--preset", "criteo", "--rows", "4000", "--out", "clicks.ffm")
	settings := []string{"--algo", "fm", "--data", "clicks.ffm", "--epochs", "12", "--batch", "32", "--holdout", "0.1", "--early-stop", "12"}
	mustRun(t, dir, append([]string{"train", "--tasks", "3", "--model", "alone"}, settings...)...)
	settings = append(settings, "--model", "kept", "--checkpoint", "ck", "--checkpoint-every", "50")
	for name, kill := range map[string]func(c *cast){
		"a server":     func(c *cast) { c.kill(c.servers[1]); c.server(1) },
		"all servers":  func(c *cast) { c.kill(c.servers[0]); c.kill(c.servers[1]); c.server(1); c.server(0) },
		"a worker":     func(c *cast) { c.kill(c.workers[2]); c.worker(2) },
		"first worker": func(c *cast) { c.kill(c.workers[0]); c.worker(0) },
		"one of each": func(c *cast) {
			c.kill(c.servers[0])
			c.kill(c.workers[0])
			time.Sleep(50 * time.Millisecond)
			c.worker(0)
			c.server(0)
		},
		"everything": func(c *cast) {
			for _, p := range append(append([]*process{}, c.servers...), c.workers...) {
				c.kill(p)
			}
			for i := range c.servers {
				c.server(i)
			}
			for i := range c.workers {
				c.worker(i)
			}
		},
	} {
		if !everyCase() && !slices.Contains([]string{"a server", "first worker", "everything"}, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			for _, left := range []string{"ck", "kept"} {
				if err := os.RemoveAll(filepath.Join(dir, left)); err != nil {
					t.Fatal(err)
				}
			}
			c := newCast(t, dir, 2, 3, settings...)
			last := c.later("")
			kill(c)
			last = c.later(last)
			kill(c)
			c.end()
			diff := newProcess(t, dir, "diff", "alone", "kept")
			if err := diff.Run(); err != nil {
				t.Errorf("the model differs: %v: %s%s", err, &diff.out, &diff.err)
			}
			for i := range c.workers { // as if they had been killed after the model was saved: they save it once more
				c.worker(i)
			}
			c.end()
			if other := newProcess(t, dir, "diff", "alone", "kept"); other.Run() != nil {
				t.Errorf("the model that was saved again differs: %s%s", &other.out, &other.err)
			}
			for i, w := range c.workers {
				t.Logf("worker %d:\n%s", i, &w.err)
			}
		})
	}
}

// TestReturnsAfterEnd: a worker that is started again after its job has come to its end finds that out from the store, also on servers that
// know nothing of the job, and as often as it is started.
func TestReturnsAfterEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustRun(t, dir, "data", "clicks", "--rows", "500", "--out", "clicks.libsvm")
	c := &cast{t: t, dir: dir, roles: true, servers: make([]*process, 1), workers: make([]*process, 2), settings: []string{"--data", "clicks.libsvm",
		"--epochs", "2", "--model", "m", "--checkpoint", "ck"}}
	c.start()
	c.end()
	c.kill(c.servers[0])
	c.server(0)
	c.settings = append(c.settings, "--wait", "1s")
	all := c.settings
	without := slices.Clone(all)
	at := slices.Index(without, "--model")
	without = slices.Delete(without, at, at+2) // of another task than the first it may be missing
	for _, settings := range [][]string{all, all, without} {
		c.settings = settings
		c.worker(1)
		if w := c.workers[1]; w.Wait() != nil || !strings.Contains(c.said[1].String(), "has ended already") {
			t.Fatalf("%v: %s", w.ProcessState, &w.err)
		}
	}
	c.settings = append(all, "--epochs", "3") // of another training
	c.worker(1)
	if w := c.workers[1]; w.Wait() == nil || !strings.Contains(c.said[1].String(), "did not join") {
		t.Errorf("%v: %s", w.ProcessState, &w.err)
	}
}
