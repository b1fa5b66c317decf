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

	"thole.example/coord"
	"thole.example/coord/all"
)

// Of servers that are found by their roles one is killed, one is frozen for longer than its lease and wakes up, one ends, and the store is away
// for a while: standbys take over, who was replaced ends and says so, and the jobs of the cluster end with the bits of trainings that
// nothing happened to.
func TestStandby(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustRun(t, dir, "data", "clicks", "--preset", "criteo", "--rows", "4000", "--out", "clicks.ffm")
	settings := []string{"--algo", "fm", "--data", "clicks.ffm", "--epochs", "30", "--batch", "32"}
	mustRun(t, dir, append([]string{"train", "--tasks", "2", "--model", "alone"}, settings...)...)
	settings = append(settings, "--checkpoint-every", "50")
	c := &cast{t: t, dir: dir, roles: true, servers: make([]*process, 2), workers: make([]*process, 2)}
	c.settings = append(settings, "--model", "kept", "--checkpoint", "ck")
	c.start()
	other := newProcess(t, dir, append([]string{"worker", "--coordinate", "dir:roles", "--servers", "2", "--tasks", "1", "--job", "other",
		"--model", "other", "--checkpoint", "other-ck", "--wait", "20s"}, settings...)...)
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	standby := func(i int) (before *process) {
		before = c.servers[i]
		c.server(i)
		return before
	}
	last := c.later("")

	c.kill(standby(1))
	last = c.later(last)

	frozen := standby(0)
	tell(t, frozen, syscall.SIGSTOP)
	store, err := all.Open("dir:" + filepath.Join(dir, "roles"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c.role(store, 0, "another's", func(h *coord.Holder) bool { return h.ID != "" && h.Epoch == 2 })
	last = c.later(last)
	tell(t, frozen, syscall.SIGCONT)
	if err := frozen.Wait(); frozen.ProcessState.ExitCode() != exitTemporary || !strings.Contains(frozen.err.String(), "server 0 has epoch 2 at ") {
		t.Errorf("the frozen server ends with %v: %s", err, &frozen.err)
	}

	ended := standby(1)
	tell(t, ended, os.Interrupt)
	if err := ended.Wait(); err != nil && ended.ProcessState.ExitCode() != exitTemporary { // it may have jobs, or none just then
		t.Errorf("the server that was interrupted ends with %v: %s", err, &ended.err)
	}
	last = c.later(last)

	roles := filepath.Join(dir, "roles")
	if err := os.Rename(roles, roles+".away"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(roleLease) // it is away for longer than servers may go on without it
	if err := os.Rename(roles+".away", roles); err != nil {
		t.Fatal(err)
	}
	c.later(last)
	c.end()
	if err := other.Wait(); err != nil {
		t.Errorf("the other job: %v: %s", err, &other.err)
	}
	mustRun(t, dir, "diff", "alone", "kept")
	mustRun(t, dir, "train", "--tasks", "1", "--model", "alone1", "--algo", "fm", "--data", "clicks.ffm", "--epochs", "30", "--batch", "32")
	mustRun(t, dir, "diff", "alone1", "other")
	wanted := []string{"  server 0  127.0.0.1:", "epoch 2  held: renewed", "epoch 3  held: renewed", `  job "job": attempt `, `  job "other": attempt `,
		"on 2 servers, complete, checkpoint ck/0"}
	for end := time.Now().Add(limit); ; { // a busy machine renews late
		status := newProcess(t, dir, "status", "--coordinate", "dir:roles")
		if err := status.Run(); err != nil {
			t.Error(err)
		}
		lack := slices.DeleteFunc(slices.Clone(wanted), func(want string) bool { return strings.Contains(status.out.String(), want) })
		if len(lack) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the status has no %q: %s", lack, &status.out)
		}
	}
	for i, w := range append(c.workers, other) {
		t.Logf("worker %d:\n%s", i, &w.err)
	}
}

func tell(t *testing.T, p *process, s os.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
