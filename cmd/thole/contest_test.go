package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWorkerWaits: a worker whose peers do not come says for whom it waits, and gives up.
func TestWorkerWaits(t *testing.T) {
	dir := t.TempDir()
	file := examples(t, dir)
	_, addr := startServer(t, dir)
	w := worker(t, dir, addr, file, 1, "--wait", "1500ms")
	if err := w.Run(); err == nil || w.ProcessState.ExitCode() != exitTemporary {
		t.Errorf("the worker ends with %v, want status %d", err, exitTemporary)
	}
	text := w.err.String()
	for _, want := range []string{"waiting for 1 of 2 tasks (0) to join job \"job\"\n", "1 of 2 tasks (0) did not join within 1.5s"} {
		if !strings.Contains(text, want) {
			t.Errorf("the worker says %q, want %q in it", text, want)
		}
	}
	if strings.Contains(text, "epoch") {
		t.Errorf("the worker has begun: %q", text)
	}
}

// TestTwoJobsAtOnce starts two whole jobs of the default name on the same servers at the same moment, again and again: one
// of them does its work, and the other is told why not.
func TestTwoJobsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := examples(t, dir)
	_, one := startServer(t, dir)
	_, two := startServer(t, dir)
	for round := range 8 {
		var jobs [2]*process
		for i := range jobs {
			jobs[i] = newProcess(t, dir, "worker", "--servers", one+","+two, "--tasks", "8", "--data", file, "--format", "dummy",
				"--epochs", "300", "--model", fmt.Sprintf("m%d-%d", round, i))
			if err := jobs[i].Start(); err != nil {
				t.Fatal(err)
			}
		}
		failed := 0
		for i, j := range jobs {
			if err := j.Wait(); err == nil {
				if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("m%d-%d", round, i))); err != nil {
					t.Errorf("round %d, job %d ends well: %v", round, i, err)
				}
				continue
			}
			failed++
			if !strings.Contains(j.err.String(), "a second job needs another name") {
				t.Errorf("round %d, job %d: %s", round, i, &j.err)
			}
		}
		if failed > 1 {
			t.Fatalf("round %d: both jobs failed", round)
		}
	}
}

// TestOneTarget: two jobs must not save to one path, be they in processes of their own or on the same servers.
func TestOneTarget(t *testing.T) {
	dir := t.TempDir()
	file := examples(t, dir)
	_, addr := startServer(t, dir)
	for _, c := range []struct {
		name, want    string
		first, second []string
	}{
		{"train", "m: another process will save its model there", []string{"train"}, []string{"train", "--force"}},
		{"worker", `n: job "a" will save there`, []string{"worker", "--servers", addr, "--job", "a"},
			[]string{"worker", "--servers", addr, "--job", "b", "--force"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := "run-" + c.name + ".jsonl"
			model := strings.SplitN(c.want, ":", 2)[0]
			common := []string{"--data", file, "--format", "dummy", "--model", model}
			first := newProcess(t, dir, append(append(c.first, common...), "--epochs", "1000000", "--log", log)...)
			if err := first.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, filepath.Join(dir, log), `"event":"epoch"`)
			second := newProcess(t, dir, append(c.second, common...)...)
			if err := second.Run(); err == nil || !strings.Contains(second.err.String(), c.want) {
				t.Errorf("the second job ends with %v and %q, want %q", err, &second.err, c.want)
			}
			first.Process.Signal(os.Interrupt)
			first.Wait()
			third := newProcess(t, dir, append(c.second, common...)...)
			if err := third.Run(); err != nil {
				t.Errorf("after the first has ended: %v: %s", err, &third.err)
			}
		})
	}
	left, err := filepath.Glob(filepath.Join(dir, "_tmp*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestDifferentStores: servers that keep models in different folders are found out before the training.
func TestDifferentStores(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	file := examples(t, here)
	_, one := startServer(t, here)
	_, two := startServer(t, there)
	w := newProcess(t, here, "worker", "--servers", one+","+two, "--data", file, "--format", "dummy", "--model", "m")
	if err := w.Run(); err == nil || !strings.Contains(w.err.String(), "1 of 2 servers keep models here") {
		t.Errorf("the worker ends with %v and %q", err, &w.err)
	}
	for _, dir := range []string{here, there} {
		if left, err := filepath.Glob(filepath.Join(dir, "*m*")); err != nil || len(left) > 1 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// TestMemoryBound: without a bound of the user's it is a share of the machine's memory.
func TestMemoryBound(t *testing.T) {
	for text, want := range map[string]int64{"": defaultMemory(), "1MiB": 1 << 20, "1": 1} {
		m, err := memoryBound(text)
		if got := int64(0); m != nil {
			got = m.Total()
			if err != nil || got != want {
				t.Errorf("--memory %q: %d, %v, want %d", text, got, err, want)
			}
		} else if err != nil || want != 0 {
			t.Errorf("--memory %q: no bound, %v, want %d", text, err, want)
		}
	}
}

// TestServerMemory: a model that is larger than a server may hold is refused in one line with both numbers.
func TestServerMemory(t *testing.T) {
	dir := t.TempDir()
	file := examples(t, dir)
	_, addr := startServer(t, dir, "--memory", "600KiB")
	w := newProcess(t, dir, "worker", "--servers", addr, "--data", file, "--format", "dummy", "--dim", "65536", "--epochs", "3")
	err := w.Run()
	if text := w.err.String(); err == nil || !strings.Contains(text, "would take 768 KiB") || !strings.Contains(text, "--memory is 600 KiB") ||
		strings.Count(text[strings.Index(text, "thole: "):], "\n") != 1 {
		t.Errorf("the worker ends with %v and %q", err, text)
	}
}

// TestOneSeries: of two trainings that write checkpoints into one folder the second is refused: each would remove what the other needs.
func TestOneSeries(t *testing.T) {
	dir := t.TempDir()
	common := []string{"train", "--data", examples(t, dir), "--format", "dummy", "--checkpoint", "ck"}
	first := newProcess(t, dir, append(common, "--epochs", "1000000", "--log", "run.jsonl")...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(dir, "run.jsonl"), `"event":"epoch"`)
	second := newProcess(t, dir, common...)
	if err := second.Run(); err == nil || !strings.Contains(second.err.String(), "ck: another process writes its checkpoints there") {
		t.Errorf("the second ends with %v and %q", err, &second.err)
	}
	first.Process.Signal(os.Interrupt)
	first.Wait()
	third := newProcess(t, dir, common...)
	if err := third.Run(); err != nil {
		t.Errorf("after the first has ended: %v: %s", err, &third.err)
	}
}
