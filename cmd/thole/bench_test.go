package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"thole.example/bench"
)

// TestBenchInterrupted: a measurement that is told to end does, and so does the server process that it had started.
func TestBenchInterrupted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the children of a process are found in Linux's /proc")
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		p := newProcess(t, t.TempDir(), "bench", "pull", "--keys", "1K", "--seconds", "1000", "--json")
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		server := child(t, p.Process.Pid)
		p.Process.Signal(sig)
		p.Wait()
		if code := p.ProcessState.ExitCode(); code != exitInterrupted || p.out.Len() > 0 {
			t.Errorf("%v: status %d, %q and %q, want %d and no result", sig, code, &p.out, &p.err, exitInterrupted)
		}
		if runs(server) {
			t.Errorf("%v: the server process is still there", sig)
		}
	}
}

// TestBenchKilled: the server process ends also with a measurement that can do nothing about it any more.
func TestBenchKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the children of a process are found in Linux's /proc")
	}
	for _, kind := range []string{"pull", "barrier"} {
		p := newProcess(t, t.TempDir(), "bench", kind, "--seconds", "1000")
		p.Stdout, p.Stderr = nil, nil // else Wait waits for the server, too, which has them
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		server := child(t, p.Process.Pid)
		p.Process.Kill()
		p.Wait()
		for end := time.Now().Add(limit / 2); runs(server); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				if left, err := os.FindProcess(server); err == nil {
					left.Kill()
				}
				t.Fatalf("%s: the server process is still there", kind)
			}
		}
	}
}

// runs reports whether there is a process that has not ended; one that nobody waited for is none.
func runs(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, ok := strings.Cut(string(text), ") ")
	return err == nil && ok && !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// child waits until a process has a child.
func child(t *testing.T, pid int) int {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(time.Millisecond) {
		lists, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range lists {
			text, _ := os.ReadFile(list) // threads come and go
			if first := strings.Fields(string(text)); len(first) > 0 {
				n, err := strconv.Atoi(first[0])
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
		}
	}
	t.Fatal("the process starts no other")
	return 0
}

// TestBenchBesideJob measures on a server that trains a model: the model has the bits that it has without.
func TestBenchBesideJob(t *testing.T) {
	dir := t.TempDir()
	file := examples(t, dir)
	_, addr := startServer(t, dir)
	settings := []string{"--data", file, "--format", "dummy", "--epochs", "3000"}
	w := newProcess(t, dir, append([]string{"worker", "--servers", addr, "--job", "bench pull", "--model", "beside", "--log", "run.jsonl"},
		settings...)...)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(dir, "run.jsonl"), `"event":"epoch"`)
	var measured []*process
	for _, kind := range []string{"pull --keys 1K --batch 100", "pull --keys 1K --batch 100", "push --keys 1K --batch 100", "barrier",
		"storm --cols 10K"} { // all at once
		p := newProcess(t, dir, append(append([]string{"bench"}, strings.Fields(kind)...), "--servers", addr, "--json")...)
		if !strings.HasPrefix(kind, "storm") {
			p.Args = append(p.Args, "--seconds", "0.2")
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		measured = append(measured, p)
	}
	for _, p := range measured {
		if err := p.Wait(); err != nil {
			t.Errorf("%q: %v: %s", p.Args[1:3], err, &p.err)
		}
		if text := p.out.String(); !strings.Contains(text, `"server":null,"both":null}`) || !strings.Contains(text, `"peakRssBytes":null`) {
			t.Errorf("%q says what servers elsewhere take: %s", p.Args[1:3], text)
		} else if barrier := p.Args[2] == "barrier"; barrier != strings.Contains(text, `"client":null`) {
			t.Errorf("%q does not say what this process takes: %s", p.Args[1:3], text)
		}
	}
	if err := w.Wait(); err != nil {
		t.Fatalf("the job beside it: %v: %s", err, &w.err)
	}
	alone := newProcess(t, dir, append([]string{"train", "--model", "alone"}, settings...)...)
	if err := alone.Run(); err != nil {
		t.Fatalf("train: %v: %s", err, &alone.err)
	}
	for _, name := range []string{"input_weight/0", "input_bias/0"} {
		got, err := os.ReadFile(filepath.Join(dir, "beside", name))
		want, werr := os.ReadFile(filepath.Join(dir, "alone", name))
		if err != nil || werr != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what it is without a measurement beside it: %v, %v", name, err, werr)
		}
	}
}

// TestMemoryOfProcess: --memory bounds what a server process takes, program and garbage included, though twice as much is
// pushed to it at once. The size is one that the 20 MB of any process are little of.
func TestMemoryOfProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the peak memory of a process is found in Linux's /proc")
	}
	if testing.Short() {
		t.Skip("writes a gigabyte to disk")
	}
	const memory = 512 << 20
	p := newProcess(t, t.TempDir(), "bench", "storm", "--memory", strconv.Itoa(memory), "--tasks", "14", "--cols", "20M", "--json")
	if err := p.Run(); err != nil {
		t.Fatalf("%v: %s", err, &p.err)
	}
	var r bench.Result
	if err := json.Unmarshal(p.out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Peak == nil {
		t.Fatalf("no peak in %s", &p.out)
	}
	share := float64(*r.Peak) / memory
	t.Logf("the peak is %.3f of --memory", share)
	if share < 0.25 || share > 1.15 {
		t.Errorf("the server takes %.3f of --memory at most, want at most 1.15, and not so little that nothing was held", share)
	}
}

// TestParseCount: numbers with units, and what is none.
func TestParseCount(t *testing.T) {
	for text, want := range map[string]int{"1": 1, "10000": 10_000, "10K": 10_000, "10k": 10_000, "1.5M": 1_500_000, "2G": 2_000_000_000, "1e3": 1000} {
		if got, err := parseCount("keys", text, 1<<31); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "K", "0", "-1", "1.5", "0.0001K", "3G", "nan", "inf", "1 M", "1T"} {
		if got, err := parseCount("keys", text, 1<<31); err == nil {
			t.Errorf("%q is %d, want an error", text, got)
		}
	}
}

// TestBenchFields: the help says what each field of --json is, and a person can tell a field that is not known.
func TestBenchFields(t *testing.T) {
	for _, of := range []any{bench.Result{}, bench.PerCPU{}, bench.Settings{}} {
		for f := range reflect.TypeOf(of).Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(benchFields) {
				t.Errorf("the help of bench does not say what %q is", name)
			}
		}
	}
}

// TestBenchSays: what measures for longer than a moment says what it does.
func TestBenchSays(t *testing.T) {
	for _, kind := range [][]string{{"row", "--cols", "10K"}, {"barrier"}} {
		p := newProcess(t, t.TempDir(), append(append([]string{"bench"}, kind...), "--seconds", "1000")...)
		said, err := p.linesOf()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		said.wait(t, "measuring  left 16m")
		p.Process.Signal(os.Interrupt)
		said.end()
		p.Wait()
	}
}
