//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"thole.example/launch/local"
)

// TestLaunchServerLog kills servers of a launch that keep logs, with checkpoints and without, under BSP and ASP, up to the end: the job ends by
// itself, nobody goes back or begins another attempt, and under BSP the model has the bytes of a training that nobody disturbed.
func TestLaunchServerLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	examples(t, dir)
	settings := []string{"--data", "small.dummy", "--format", "dummy", "--epochs", "60", "--batch", "8", "--servers", "2"}
	alone := newProcess(t, dir, append([]string{"train", "--tasks", "2", "--model", "alone"}, settings...)...)
	if err := alone.Run(); err != nil {
		t.Fatalf("%v: %s", err, &alone.err)
	}
	for name, more := range map[string][]string{
		"BSP":                  {"--staleness", "0"},
		"ASP":                  {"--staleness", "-1"},
		"BSP with checkpoints": {"--staleness", "0", "--checkpoint", "ck0", "--checkpoint-every", "40"},
		"ASP with checkpoints": {"--staleness", "-1", "--checkpoint", "ck1", "--checkpoint-every", "40"},
	} {
		t.Run(name, func(t *testing.T) {
			model := strings.ReplaceAll(name, " ", "-")
			folder := filepath.Join(dir, model+".launch")
			args := append([]string{"launch", "--workers", "2", "--server-log", "--dir", folder, "--model", model}, settings...)
			p := newProcess(t, dir, append(args, more...)...)
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- p.Wait() }()
			kills, err := killServers(folder, ended)
			if err != nil {
				t.Fatalf("%v: %s", err, &p.err)
			}
			if t.Logf("%d kills", kills); kills == 0 {
				t.Error("no server was killed")
			}
			for _, worker := range []string{"worker.0", "worker.1"} {
				text, err := os.ReadFile(filepath.Join(folder, worker+".log"))
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(text), "attempt") || strings.Contains(string(text), "goes back") {
					t.Errorf("%s went back: %s", worker, text)
				}
			}
			if strings.HasPrefix(name, "BSP") {
				sameFiles(t, filepath.Join(dir, "alone"), filepath.Join(dir, model))
			}
		})
	}
}

// killServers kills the servers of a launch in turn, some times until it ends: each time the pause before they start again is longer.
func killServers(folder string, ended <-chan error) (kills int, err error) {
	wait := 50 * time.Millisecond // workers may not have joined yet
	for ; ; wait = 300 * time.Millisecond {
		select {
		case err := <-ended:
			return kills, err
		case <-time.After(wait):
		}
		if kills == 6 {
			return kills, <-ended
		}
		r, err := local.Open(folder)
		if err != nil || r.State != local.Going || len(r.Processes) < 2 {
			continue
		}
		if s := r.Processes[kills%2]; s.Pid > 0 && s.Phase == local.Running {
			if syscall.Kill(s.Pid, syscall.SIGKILL) == nil {
				kills++
			}
		}
	}
}
