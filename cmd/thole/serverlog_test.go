package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestServerLog kills a server with a log again and again while two workers train: they go on with it, no attempt is made anew, and under
// BSP the model has the bytes of a training that nobody disturbed.
func TestServerLog(t *testing.T) {
	t.Parallel()
	for name, staleness := range map[string]string{"BSP": "0", "ASP": "-1"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := examples(t, dir)
			calm, addr := startServer(t, dir)
			<-trainTwo(t, dir, addr, file, "calm", staleness)
			calm.Process.Kill() // its address is free
			calm.Wait()
			logs := []string{"--listen", addr, "--log", filepath.Join(dir, "log")}
			p, _ := startServer(t, dir, logs...)
			ended := trainTwo(t, dir, addr, file, "killed", staleness)
			kills := 0
			for over := false; !over; {
				select {
				case <-ended:
					over = true
				case <-time.After(300 * time.Millisecond):
					p.Process.Kill()
					p.Wait()
					p, _ = startServer(t, dir, logs...)
					kills++
				}
			}
			if t.Logf("%d kills", kills); kills == 0 {
				t.Error("the server was never killed")
			}
			if staleness == "0" {
				sameFiles(t, filepath.Join(dir, "calm"), filepath.Join(dir, "killed"))
			}
			other := newProcess(t, dir, "server", "--listen", "127.0.0.1:0", "--log", filepath.Join(dir, "log"))
			if err := other.Run(); err == nil || !strings.Contains(other.err.String(), "does another process have the log open?") {
				t.Errorf("a second server with the folder ends with %v: %s", err, &other.err)
			}
			p.Process.Kill()
			p.Wait()
			other = newProcess(t, dir, "server", "--listen", "127.0.0.1:0", "--log", filepath.Join(dir, "log"))
			if err := other.Run(); err == nil || !strings.Contains(other.err.String(), "are those of the server at "+addr) {
				t.Errorf("another server with the folder ends with %v: %s", err, &other.err)
			}
		})
	}
}

// trainTwo has two workers train a model; ended is closed when they have.
func trainTwo(t *testing.T, dir, addr, file, name, staleness string) (ended chan struct{}) {
	ended = make(chan struct{})
	var workers []*process
	for task := range 2 {
		w := worker(t, dir, addr, file, task, "--epochs", "60", "--batch", "8", "--staleness", staleness, "--retry", "1m", "--model", name)
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		workers = append(workers, w)
	}
	go func() {
		defer close(ended)
		for task, w := range workers {
			if err := w.Wait(); err != nil {
				t.Errorf("worker %d: %v: %s", task, err, &w.err)
			}
			if text := w.err.String(); strings.Contains(text, "attempt") || strings.Contains(text, "checkpoint") {
				t.Errorf("worker %d went back: %s", task, text)
			}
		}
	}()
	return ended
}
