//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"thole.example/coord"
	"thole.example/coord/all"
)

// TestReplicas: of servers whose logs standbys copy one is killed, one freezes for longer than its lease and wakes up, one is asked to end, and one
// is killed while it has no standby and comes back with its log. Without a checkpoint the job goes on each time where it was, and has the
// bits of one that nothing happened to.
func TestReplicas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustRun(t, dir, "data", "clicks", "--preset", "criteo", "--rows", "4000", "--out", "clicks.ffm")
	settings := []string{"--algo", "fm", "--data", "clicks.ffm", "--epochs", "60", "--batch", "32"}
	mustRun(t, dir, append([]string{"train", "--tasks", "2", "--model", "alone"}, settings...)...)
	c := &cast{t: t, dir: dir, roles: true, logs: "a", servers: make([]*process, 2), workers: make([]*process, 2)}
	c.settings = append(settings, "--model", "kept")
	store, err := all.Open("dir:" + filepath.Join(dir, "roles"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	until := func(role int, what string, is func(h *coord.Holder) bool) *coord.Holder {
		t.Helper()
		return c.role(store, role, what, is)
	}
	// another starts another server for a role, on a disk, and gives the one before.
	another := func(role int, disk string) (before *process) {
		before, c.logs = c.servers[role], disk
		c.server(role)
		return before
	}
	copied := func(role int) *coord.Holder {
		t.Helper()
		return until(role, "copied", func(h *coord.Holder) bool { return len(h.Copies) == 1 })
	}
	taken := func(role int, from *coord.Holder) {
		t.Helper()
		until(role, "another's", func(h *coord.Holder) bool { return h.Epoch > from.Epoch && h.ID != "" && h.Since == 1 })
	}
	c.server(0)
	c.server(1)
	first := []*process{another(0, "b"), another(1, "b")}

	before := copied(1)
	c.kill(first[1])
	c.worker(0) // while nobody has the role
	c.worker(1)
	taken(1, before)

	c.says(0, "epoch ") // all have joined
	before = copied(0)
	tell(t, first[0], syscall.SIGSTOP)
	taken(0, before)
	tell(t, first[0], syscall.SIGCONT)
	if err := first[0].Wait(); first[0].ProcessState.ExitCode() != exitTemporary {
		t.Errorf("the frozen server ends with %v: %s", err, &first[0].err)
	}

	second := another(1, "a") // on the disk of the one that was killed
	before = copied(1)
	tell(t, second, os.Interrupt)
	if err := second.Wait(); second.ProcessState.ExitCode() != exitTemporary {
		t.Errorf("the server that was interrupted ends with %v: %s", err, &second.err)
	}
	taken(1, before)

	before = until(0, "alone", func(h *coord.Holder) bool { return len(h.Copies) == 0 })
	c.kill(c.servers[0])
	another(0, "b")
	taken(0, before)

	c.end()
	mustRun(t, dir, "diff", "alone", "kept")
	for i, w := range c.workers {
		if text := w.err.String(); strings.Contains(text, "attempt") || strings.Contains(text, "checkpoint") {
			t.Errorf("worker %d went back: %s", i, text)
		}
	}
}

// role waits until what is known of a role is as it should be.
func (c *cast) role(store coord.Store, role int, what string, is func(h *coord.Holder) bool) *coord.Holder {
	c.t.Helper()
	var h *coord.Holder
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		var err error
		if h, _, err = coord.Who(c.t.Context(), store, usualCluster, coord.Server(role)); err != nil {
			c.t.Fatal(err)
		}
		if h != nil && is(h) {
			return h
		}
		for i, w := range c.workers {
			if w != nil && w.ProcessState != nil {
				c.t.Fatalf("worker %d ended: %s", i, &w.err)
			}
		}
	}
	c.t.Fatalf("server %d is never %s, but %+v", role, what, h)
	return nil
}

// replicated is a job on a server with a log, in the midst of its training, and a standby that copies that. The model alone is of the same
// training, undisturbed.
func replicated(t *testing.T) (c *cast, store coord.Store, holder, standby *process) {
	dir := t.TempDir()
	mustRun(t, dir, "data", "clicks", "--preset", "criteo", "--rows", "4000", "--out", "clicks.ffm")
	settings := []string{"--algo", "fm", "--data", "clicks.ffm", "--epochs", "30", "--batch", "32"}
	mustRun(t, dir, append([]string{"train", "--model", "alone"}, settings...)...)
	c = &cast{t: t, dir: dir, roles: true, logs: "a", servers: make([]*process, 1), workers: make([]*process, 1)}
	c.settings = append(settings, "--model", "kept")
	store, err := all.Open("dir:" + filepath.Join(dir, "roles"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	c.server(0)
	holder = c.servers[0]
	c.logs = "b"
	c.server(0)
	c.worker(0)
	c.says(0, "epoch ")
	return c, store, holder, c.servers[0]
}

// TestReplicaFails: a server is killed, and its standby cannot write its log when it takes over: it ends and says what to do, and the one
// before, started again, has its role back at once with all that it had acknowledged.
func TestReplicaFails(t *testing.T) {
	t.Parallel()
	c, store, first, second := replicated(t)
	dir := c.dir
	before := c.role(store, 0, "copied", func(h *coord.Holder) bool { return len(h.Copies) == 1 })
	c.kill(first)
	log := filepath.Join(dir, "log.0.b")
	if err := errors.Join(os.Rename(log, log+".away"), os.WriteFile(log, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	const advice = "start the server again that had the role before, with its --log: "
	if err := second.Wait(); second.ProcessState.ExitCode() != 1 || !strings.Contains(second.err.String(), advice) {
		t.Errorf("the standby ends with %v: %s", err, &second.err)
	}
	given := c.role(store, 0, "given back", func(h *coord.Holder) bool { return h.ID == "" })
	if given.Epoch != before.Epoch+1 || given.Log != before.Log || given.Since != 1 {
		t.Errorf("%+v is given back, after %+v", given, before)
	}
	c.logs = "a"
	c.server(0)
	c.role(store, 0, "back", func(h *coord.Holder) bool { return h.ID != "" && h.Log == before.Log && h.Since == 1 })
	c.end()
	mustRun(t, dir, "diff", "alone", "kept")
	if text := c.workers[0].err.String(); strings.Contains(text, "attempt") || strings.Contains(text, "checkpoint") {
		t.Errorf("the worker went back: %s", text)
	}
}

// TestReplicaLogDamaged: a server is killed, its log is damaged, and it is started again before its standby, which is frozen, could take
// over: it cannot go on from its log and gives the role back, and the standby has it with all that was acknowledged.
func TestReplicaLogDamaged(t *testing.T) {
	t.Parallel()
	c, store, first, standby := replicated(t)
	dir := c.dir
	before := c.role(store, 0, "copied", func(h *coord.Holder) bool { return len(h.Copies) == 1 })
	tell(t, standby, syscall.SIGSTOP) // from now on nothing is acknowledged
	c.kill(first)
	damage(t, filepath.Join(dir, "log.0.a"))
	c.logs = "a"
	c.server(0)
	again := c.servers[0]
	if err := again.Wait(); again.ProcessState.ExitCode() != 1 || !strings.Contains(again.err.String(), "the log is damaged") {
		t.Errorf("the server with the damaged log ends with %v: %s", err, &again.err)
	}
	given := c.role(store, 0, "given back", func(h *coord.Holder) bool { return h.ID == "" })
	if given.Epoch != before.Epoch+1 || given.Log != before.Log || !slices.Equal(given.Copies, before.Copies) || given.Since != 1 {
		t.Errorf("%+v is given back, after %+v", given, before)
	}
	tell(t, standby, syscall.SIGCONT)
	c.servers[0] = standby
	c.role(store, 0, "taken", func(h *coord.Holder) bool { return h.ID != "" && h.Log != before.Log && h.Since == 1 })
	c.end()
	mustRun(t, dir, "diff", "alone", "kept")
	if text := c.workers[0].err.String(); strings.Contains(text, "attempt") || strings.Contains(text, "checkpoint") {
		t.Errorf("the worker went back: %s", text)
	}
}

// damage changes bytes in the middle of the largest file of a folder.
func damage(t *testing.T, folder string) {
	t.Helper()
	largest, size := "", int64(0)
	err := filepath.WalkDir(folder, func(file string, e fs.DirEntry, err error) error {
		if info, ierr := e.Info(); err == nil && ierr == nil && info.Mode().IsRegular() && info.Size() > size {
			largest, size = file, info.Size()
		}
		return err
	})
	if err != nil || size < 1<<16 {
		t.Fatalf("%s of %d bytes: %v", largest, size, err)
	}
	f, err := os.OpenFile(largest, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1<<10)
	for i := range b {
		b[i] = 0x5a
	}
	for at := int64(4096); at < 1<<16; at += 1 << 13 {
		if _, err := f.WriteAt(b, at); err != nil {
			t.Fatal(err)
		}
	}
}
