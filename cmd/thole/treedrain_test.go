//go:build unix

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestTreesDrained: trees that are asked to end do so with a checkpoint of the tree that they were at, whoever is asked, and go on from it to
// the trees of a training that nothing happened to.
func TestTreesDrained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustRun(t, dir, "data", "clicks", "--rows", "2000", "--out", "clicks.libsvm")
	settings := []string{"--algo", "gbdt", "--data", "clicks.libsvm", "--trees", "200", "--subsample", "0.6"}
	mustRun(t, dir, append([]string{"train", "--model", "alone"}, settings...)...)
	for name, tasks := range map[string][]string{"one": nil, "two tasks": {"--tasks", "2"}} {
		t.Run("train: "+name, func(t *testing.T) {
			ck, log := "ck."+name, filepath.Join(dir, "run."+name)
			args := append(append([]string{"train"}, settings...), tasks...)
			args = append(args, "--model", "kept-"+name, "--checkpoint", ck, "--checkpoint-every", "1000000", "--log", log)
			p := newProcess(t, dir, args...)
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, log, `"event":"epoch"`)
			c := &cast{t: t, dir: dir}
			c.asked(syscall.SIGTERM, exitTemporary, p)
			if want := "ended as it was asked to, with the checkpoint " + ck + "/0000"; !strings.Contains(p.err.String(), want) {
				t.Errorf("it says %q, want %q", &p.err, want)
			}
			again := newProcess(t, dir, args...)
			if err := again.Run(); err != nil || !strings.Contains(again.err.String(), "going on after ") {
				t.Errorf("%v, want that it goes on: %s", err, &again.err)
			}
			mustRun(t, dir, "diff", "alone", "kept-"+name)
		})
	}
	t.Run("processes", func(t *testing.T) {
		newer := func(than int) int {
			t.Helper()
			all, err := listTreeCheckpoints(t.Context(), nil, filepath.Join(dir, "ck"))
			if err != nil || len(all) == 0 || all[len(all)-1] <= than {
				t.Fatalf("checkpoints of %v trees, %v, want a later one than of %d", all, err, than)
			}
			return all[len(all)-1]
		}
		c := newCast(t, dir, 2, 2, append(settings, "--model", "kept", "--checkpoint", "ck", "--checkpoint-every", "1000000")...)
		c.runs()
		c.asked(syscall.SIGTERM, exitTemporary, c.workers[1])
		last := newer(0)
		c.worker(1)
		c.runs()
		c.asked(syscall.SIGTERM, exitTemporary, c.servers[0])
		last = newer(last)
		c.server(0)
		c.runs()
		c.asked(syscall.SIGTERM, exitTemporary, c.workers[0])
		last = newer(last)
		c.worker(0)
		c.runs()
		c.asked(syscall.SIGTERM, exitTemporary, slices.Concat(c.servers, c.workers)...)
		newer(last)
		c.start()
		c.end()
		mustRun(t, dir, "diff", "alone", "kept")
		for i, w := range c.workers {
			t.Logf("worker %d:\n%s", i, &w.err)
		}
	})
}
