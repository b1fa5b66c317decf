package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"thole.example/runlog"
	"thole.example/train"
)

// noon is the time of the tests of runs.
var noon = time.Date(2026, 11, 25, 12, 30, 0, 0, time.UTC)

// at runs a command at a time that stands still.
func at(t *testing.T, now time.Time, args ...string) (out, log string) {
	t.Helper()
	var o, l bytes.Buffer
	e := &env{in: strings.NewReader(""), out: &o, err: &l, clock: func() time.Time { return now }}
	if code := Main(args, e); code != 0 {
		t.Fatalf("thole %s: exit %d\n%s", strings.Join(args, " "), code, &l)
	}
	return o.String(), l.String()
}

// TestRunsAtOneTime: runs that begin in one second have folders of their own, and the list has them by their times.
func TestRunsAtOneTime(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv(runsVariable, "")
	examples(t, dir)
	for _, now := range []time.Time{noon, noon, noon.Add(time.Hour)} {
		at(t, now, "train", "--data", "small.dummy", "--epochs", "2", "--holdout", "0.2")
	}
	out, _ := at(t, noon, "runs", "--json")
	var rows []runRow
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range rows {
		names = append(names, r.Name)
		if r.State != runlog.Finished || r.Epochs != 2 || r.Metric != "logloss" || !(r.Value > 0) || r.Seconds != 0 {
			t.Errorf("%+v", r)
		}
	}
	if want := []string{"20261125-133000-lr", "20261125-123000-lr-2", "20261125-123000-lr"}; !slices.Equal(names, want) {
		t.Errorf("runs %v, want %v", names, want)
	}
	out, _ = at(t, noon, "runs", "show", "lr-2")
	if want := "began     2026-11-25 12:30:00 +00:00, for 0.0s"; !strings.Contains(out, want) {
		t.Errorf("%s\nwant %s", out, want)
	}
}

// TestRunsOfDeadProcess: a training that was killed is dead, and one that goes on is running and cannot be removed.
func TestRunsOfDeadProcess(t *testing.T) {
	dir := t.TempDir()
	file := examples(t, dir)
	root := filepath.Join(dir, "runs")
	p := newProcess(t, dir, "train", "--data", file, "--format", "dummy", "--epochs", "1000000", "--log", "run.jsonl", "--runs", root)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(dir, "run.jsonl"), `"event":"epoch"`)
	out, _ := at(t, noon, "runs", "--runs", root)
	if !strings.Contains(out, " running ") || !strings.Contains(out, " of 1000000 ") {
		t.Errorf("while it goes on:\n%s", out)
	}
	if code := Main([]string{"runs", "remove", "last", "--runs", root}, &env{out: io.Discard, err: io.Discard}); code != exitError {
		t.Errorf("a run that goes on is removed with status %d, want %d", code, exitError)
	}
	p.Process.Kill()
	p.Wait()
	if out, _ = at(t, noon, "runs", "--runs", root); !strings.Contains(out, " dead ") {
		t.Errorf("after it was killed:\n%s", out)
	}
	at(t, noon, "runs", "remove", "last", "--runs", root)
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestRunsOfWorkers: a worker records only if it is told where, and of several that with the first task.
func TestRunsOfWorkers(t *testing.T) {
	dir := t.TempDir()
	file := examples(t, dir)
	_, addr := startServer(t, dir)
	var all []*process
	for task := range 2 {
		w := worker(t, dir, addr, file, task, "--epochs", "2", "--runs", "kept")
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	for _, w := range all {
		if err := w.Wait(); err != nil {
			t.Fatalf("%v: %s", err, &w.err)
		}
	}
	runs, err := runlog.List(filepath.Join(dir, "kept"))
	if err != nil || len(runs) != 1 || runs[0].State != runlog.Finished || runs[0].Start.Tasks != 2 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// TestWeigh: what is said of the held-out examples of an epoch, and of the best one.
func TestWeigh(t *testing.T) {
	w := &watcher{metric: "auc"}
	for _, c := range []struct {
		v           float64
		epoch, best int
		held, than  string
	}{
		{0.7, 1, 1, "  auc 0.7 (best)", "  (the best so far)"},
		{0.6, 2, 1, "  auc 0.6 (best 0.7)", "  (best auc 0.7 of epoch 1)"},
		{0.75, 3, 3, "  auc 0.75 (best)", "  (the best so far)"},
		{0.8, 4, 0, "  auc 0.8", ""},
	} {
		w.weigh(&train.Event{Epoch: c.epoch, Best: c.best, Valid: train.Metrics{{Name: "logloss", Value: 1}, {Name: "auc", Value: c.v}}})
		if w.held != c.held || w.than != c.than {
			t.Errorf("epoch %d: %q and %q, want %q and %q", c.epoch, w.held, w.than, c.held, c.than)
		}
	}
	w = &watcher{}
	if w.weigh(&train.Event{Epoch: 1}); w.held+w.than != "" {
		t.Errorf("without held-out examples: %q and %q", w.held, w.than)
	}
}

// TestSortRuns: every key has an order in which runs without a value come last, and a metric sorts the better way.
func TestSortRuns(t *testing.T) {
	var runs []*runlog.Run
	for i, auc := range []float64{0.6, 0.8, math.NaN(), 0.7} {
		r := &runlog.Run{Name: string(rune('a' + i)), Start: runlog.Start{Metric: "auc", Better: "max"}}
		r.Began, r.Ended, r.State = noon.Add(-time.Duration(i)*time.Hour), noon.Add(time.Duration(i)*time.Hour), runlog.Finished
		r.Algorithm = string(rune('z' - i))
		loss := auc
		r.Epochs = []runlog.Epoch{{Epoch: i + 1, Loss: runlog.Number(loss), RowsPerSecond: runlog.Number(auc), Valid: runlog.Values{{Name: "auc", Value: auc}}}}
		runs = append(runs, r)
	}
	for key, want := range map[string]string{
		"": "abcd", "began": "abcd", "name": "abcd", "algo": "dcba", "state": "abcd", "epochs": "dcba", "loss": "adbc", "time": "abcd",
		"speed": "bdac", "auc": "bdac",
	} {
		f := &runsFlags{env: &env{}, sort: key}
		var rows []*runRow
		for _, r := range runs {
			rows = append(rows, f.row(r, ""))
		}
		rows, err := f.sorted(runs, rows)
		got := ""
		for _, r := range rows {
			got += r.Name
		}
		if err != nil || got != want {
			t.Errorf("by %q: %s, %v, want %s", key, got, err, want)
		}
	}
}

// TestFlatten: settings have the paths of their keys as names.
func TestFlatten(t *testing.T) {
	root := t.TempDir()
	rec, err := runlog.Begin(root, "", runlog.Environment{Began: noon}, []byte("a: {b: 1, c: [1, 2]}\nd: [{e: x}, {e: null}]\nf: 1e-3\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := runlog.Open(rec.Folder())
	if err != nil {
		t.Fatal(err)
	}
	all, err := jobSettings(r)
	var got []string
	for key, text := range all {
		got = append(got, key+"="+text)
	}
	slices.Sort(got)
	if text := strings.Join(got, " "); err != nil || text != "a.b=1 a.c=1,2 d.1.e=x d.2.e=null f=0.001" {
		t.Errorf("%s, %v", text, err)
	}
}
