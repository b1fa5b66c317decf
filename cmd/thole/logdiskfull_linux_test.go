package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"thole.example/coord"
	"thole.example/coord/all"
)

// smallDisk is a disk of 2 MiB for the log of a server, which can be filled. It is skipped where the system does not mount one.
type smallDisk struct {
	dir  string
	stop context.CancelFunc
	done chan struct{}
}

func newSmallDisk(t *testing.T) *smallDisk {
	d := &smallDisk{dir: t.TempDir()}
	if err := unix.Mount("tmpfs", d.dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skip("no disk can be mounted here: ", err)
	}
	t.Cleanup(func() {
		d.free()
		if err := unix.Unmount(d.dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

// fill takes all room there is, and what becomes free, until free.
func (d *smallDisk) fill(t *testing.T) {
	f, err := os.Create(filepath.Join(d.dir, "other"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	d.stop, d.done = stop, make(chan struct{})
	go func() {
		defer close(d.done)
		defer f.Close()
		page := make([]byte, os.Getpagesize())
		for ctx.Err() == nil {
			if _, err := f.Write(page); err != nil {
				time.Sleep(time.Millisecond)
			}
		}
	}()
}

// free makes room again.
func (d *smallDisk) free() {
	if d.stop != nil {
		d.stop()
		<-d.done
		_ = os.Remove(filepath.Join(d.dir, "other"))
		d.stop = nil
	}
}

// within calls a function until it is true.
func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > limit/3 {
			t.Fatalf("%s: not within %v", what, limit/3)
		}
	}
}

// TestLogDiskFull fills the disk of a server's log while two workers train. They wait while the server does, and thole status says why. If
// room is freed in time, they continue; if it is freed later, they go back to the last checkpoint; if it is not freed within --wait, they
// exit with status 75, and the same command lines train to the end once there is room. In each case the model has the bytes of an
// undisturbed training.
func TestLogDiskFull(t *testing.T) {
	dir := t.TempDir()
	file := examples(t, dir)
	train := func(t *testing.T, addr, name string, more ...string) (workers []*process) {
		for task := range 2 {
			w := worker(t, dir, addr, file, task, append([]string{"--epochs", "300", "--batch", "8", "--retry", "1m", "--model", name}, more...)...)
			if err := w.Start(); err != nil {
				t.Fatal(err)
			}
			workers = append(workers, w)
		}
		return workers
	}
	ends := func(t *testing.T, workers []*process, status int, says ...string) {
		t.Helper()
		for task, w := range workers {
			if err := w.Wait(); w.ProcessState.ExitCode() != status {
				t.Errorf("worker %d: %v, want status %d: %s", task, err, status, &w.err)
			}
			for _, text := range says {
				if !strings.Contains(w.err.String(), text) {
					t.Errorf("worker %d does not say %q: %s", task, text, &w.err)
				}
			}
		}
	}
	_, calm := startServer(t, dir)
	ends(t, train(t, calm, "calm"), 0)
	for _, c := range []struct {
		name, wait, workers string // --log-wait, and --wait of workers
		checkpoint          bool
		freed               string // when; "": when the workers have ended
	}{
		{"room in time", "1m", "1m", false, "seen"},
		{"room later", "500ms", "1m", true, "failed"},
		{"no room within wait", "500ms", "10s", true, ""},
		{"no room and no checkpoint", "500ms", "1m", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk := newSmallDisk(t)
			name := strings.ReplaceAll(c.name, " ", "-")
			admin := "unix:" + filepath.Join(t.TempDir(), "a.sock")
			p, addr := startServer(t, dir, "--log", filepath.Join(disk.dir, "log"), "--log-base", "4KiB", "--log-wait", c.wait, "--admin", admin)
			more := []string{"--wait", c.workers, "--job", name}
			if c.checkpoint {
				more = append(more, "--checkpoint", "ck-"+name, "--checkpoint-every", "20")
			}
			workers := train(t, addr, name, more...)
			within(t, "a log", func() bool {
				_, err := os.Stat(filepath.Join(disk.dir, "log", "000001"))
				return err == nil
			})
			if c.checkpoint {
				within(t, "a checkpoint", func() bool {
					all, _ := filepath.Glob(filepath.Join(dir, "ck-"+name, "*[0-9]"))
					return len(all) > 0
				})
			}
			disk.fill(t)
			if c.wait == "1m" {
				within(t, "the status", func() bool {
					s := newProcess(t, dir, "status", admin)
					if err := s.Run(); err != nil {
						t.Fatalf("%v: %s", err, &s.err)
					}
					text := s.out.String()
					return strings.Contains(text, "DISK FULL for ") && strings.Contains(text, "no space left on device")
				})
			}
			if c.freed == "failed" {
				within(t, "the failed job's log is removed", func() bool {
					_, err := os.Stat(filepath.Join(disk.dir, "log", "000001"))
					return errors.Is(err, fs.ErrNotExist)
				})
			}
			if c.freed != "" {
				disk.free()
				ends(t, workers, 0)
				for task, w := range workers {
					if back := strings.Contains(w.err.String(), "goes back to the last checkpoint"); back != c.checkpoint {
						t.Errorf("worker %d went back: %v, want %v: %s", task, back, c.checkpoint, &w.err)
					}
				}
			} else {
				says := []string{"the disk is full", "no space left on device"}
				if c.checkpoint {
					says = append(says, "--wait is how long to wait", `: log of job "`+name+`": the disk is full: `)
				}
				ends(t, workers, exitTemporary, says...)
				disk.free()
				ends(t, train(t, addr, name, more...), 0)
			}
			sameFiles(t, filepath.Join(dir, "calm"), filepath.Join(dir, name))
			p.Process.Kill()
			p.Wait()
			if text := p.err.String(); !strings.Contains(text, "the disk of a log is full") {
				t.Errorf("the server does not say that the disk is full: %s", text)
			}
		})
	}
}

// TestLogDiskHandedOver fills the disk of a server's log while two workers train and a standby has a copy. The server exits with status 75
// and says why, the standby has its role, and the training continues there without going back: the model has the bytes of an undisturbed
// training. Started again on the disk that is still full, the server waits as a standby, and takes nothing over.
func TestLogDiskHandedOver(t *testing.T) {
	dir := t.TempDir()
	file := examples(t, dir)
	disk := newSmallDisk(t)
	store, err := all.Open("dir:" + filepath.Join(dir, "roles"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c := &cast{t: t, dir: dir}
	start := func(logs string) *process {
		p, _ := startServer(t, dir, "--coordinate", "dir:roles", "--role", "0", "--lease", "3s", "--log", logs, "--log-base", "4KiB",
			"--log-wait", "500ms", "--replicas", "2")
		return p
	}
	first := start(filepath.Join(disk.dir, "log"))
	c.role(store, 0, "held", func(h *coord.Holder) bool { return h.ID != "" })
	start(filepath.Join(dir, "log"))
	for _, model := range []string{"calm", "kept"} {
		for task := range 2 {
			w := worker(t, dir, "1", file, task, "--coordinate", "dir:roles", "--epochs", "300", "--batch", "8", "--model", model)
			if err := w.Start(); err != nil {
				t.Fatal(err)
			}
			c.workers = append(c.workers, w)
		}
		if model == "kept" {
			within(t, "a log", func() bool {
				_, err := os.Stat(filepath.Join(disk.dir, "log", "000002"))
				return err == nil
			})
			before := c.role(store, 0, "copied", func(h *coord.Holder) bool { return len(h.Copies) == 1 })
			disk.fill(t)
			c.role(store, 0, "taken", func(h *coord.Holder) bool { return h.ID != "" && h.Epoch > before.Epoch && h.Since == 1 })
			_ = first.Wait()
			text := first.err.String()
			if code := first.ProcessState.ExitCode(); code != exitTemporary || !strings.Contains(text, "a standby continues its jobs") ||
				!strings.Contains(text, "no space left on device") {
				t.Errorf("the server ends with status %d, want %d: %s", code, exitTemporary, text)
			}
			first = start(filepath.Join(disk.dir, "log"))
		}
		for task, w := range c.workers {
			if err := w.Wait(); err != nil || strings.Contains(w.err.String(), "attempt") {
				t.Errorf("worker %d: %v: %s", task, err, &w.err)
			}
		}
		c.workers = nil
	}
	sameFiles(t, filepath.Join(dir, "calm"), filepath.Join(dir, "kept"))
	if h := c.role(store, 0, "held", func(h *coord.Holder) bool { return h.ID != "" }); h.Epoch != 2 || len(h.Copies) != 0 {
		t.Errorf("%+v has the role, want epoch 2, and that the server on the full disk has no copy", h)
	}
	if first.ProcessState != nil {
		t.Errorf("the server on the full disk ends: %s", &first.err)
	}
}
