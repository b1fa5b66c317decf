package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thole.example/launch/local"
)

// TestAppendLog: a log that a killed process left is gone on with, without half a line at its end.
func TestAppendLog(t *testing.T) {
	for before, want := range map[string]string{
		"":                        `{"event":"x"}` + "\n",
		"{}\n":                    "{}\n" + `{"event":"x"}` + "\n",
		"{}\n{\"ev":               "{}\n" + `{"event":"x"}` + "\n",
		"{\"half":                 `{"event":"x"}` + "\n",
		strings.Repeat("{}\n", 9): strings.Repeat("{}\n", 9) + `{"event":"x"}` + "\n",
	} {
		file := filepath.Join(t.TempDir(), "log.jsonl")
		if err := os.WriteFile(file, []byte(before), 0o666); err != nil {
			t.Fatal(err)
		}
		w, err := newWatcher(t.Context(), &env{err: io.Discard, appends: true}, file, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.log.append(map[string]string{"event": "x"}); err != nil {
			t.Fatal(err)
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%q becomes %q, %v, want %q", before, got, err, want)
		}
	}
}

// TestNameBelow: paths of this machine are names below a folder, whatever links there are at their end.
func TestNameBelow(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := errors.Join(os.MkdirAll("store/sub", 0o777), os.Symlink("store/real", "link"), os.Symlink("/nowhere", "store/out")); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(dir, "store")
	for path, want := range map[string]string{
		"store/m": "m", "store/sub/../m/": "m", filepath.Join(store, "a", "b"): "a/b", "link": "real",
		"store": "", "m": "", "store/../m": "", "/nowhere": "", "store/out": "", "storehouse/m": "",
	} {
		if got, err := nameBelow(store, path); got != want || (err != nil) != (want == "") {
			t.Errorf("%s is %q, %v, want %q", path, got, err, want)
		}
	}
	for want, paths := range map[string][]string{dir: {"m", "", "store/x"}, "/": {"m", "../x"}} {
		if got, err := storeOf(paths...); err != nil || got != want {
			t.Errorf("the folder of %q is %s, %v, want %s", paths, got, err, want)
		}
	}
}

// TestLaunchShares: workers share tasks in order, each has at least one, and none is left out.
func TestLaunchShares(t *testing.T) {
	for tasks := 1; tasks <= 9; tasks++ {
		for workers := 1; workers <= tasks; workers++ {
			l := &launch{job: &job{tasks: tasks}, most: workers}
			var all []int
			for w := range workers {
				mine, err := parseTasks(l.share(w), tasks)
				if err != nil || len(mine) == 0 {
					t.Errorf("worker %d of %d has %v of %d tasks: %v", w, workers, mine, tasks, err)
				}
				if share, err := parseTasks(fmt.Sprintf("%d/%d", w, workers), tasks); err != nil || !slices.Equal(share, mine) {
					t.Errorf("share %d/%d of %d tasks is %v, %v, want %v", w, workers, tasks, share, err, mine)
				}
				all = append(all, mine...)
			}
			for i, task := range all {
				if i != task || len(all) != tasks {
					t.Fatalf("%d workers have the tasks %v of %d", workers, all, tasks)
				}
			}
		}
	}
}

// TestNoShare: a share that is none is refused.
func TestNoShare(t *testing.T) {
	for _, text := range []string{"2/2", "-1/2", "0/0", "0/-1", "a/2", "0/b", "/", "0/4", "0/2/2", "0,1/2"} {
		if mine, err := parseTasks(text, 3); err == nil {
			t.Errorf("%q is %v", text, mine)
		}
	}
}

// TestJobProgress: what of a log says how far a training is.
func TestJobProgress(t *testing.T) {
	start, end := `{"event":"start","epochs":9}`+"\n", `{"event":"end","epochs":7}`+"\n"
	epoch := `{"event":"epoch","epoch":3,"loss":0.5,"valid":{"auc":0.75}}` + "\n"
	for text, want := range map[string]string{
		"":                            "the training has not begun",
		"no JSON\n[":                  "the training has not begun",
		start:                         "the first epoch goes on",
		start + epoch + `{"event":"e`: "epoch 3/9  loss 0.50000  auc 0.75",
		start + `{"event":"epoch","epoch":"three"}` + "\n": "the first epoch goes on",
		start + end:         "ended after epoch 7",
		start + end + start: "the first epoch goes on",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "p"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		p, err := progressOf(&local.Record{Folder: dir, Progress: "p"})
		if got := p.text(); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", text, got, err, want)
		}
	}
	if p, err := progressOf(&local.Record{Folder: t.TempDir(), Progress: "p"}); p != nil || err != nil {
		t.Errorf("without a log: %+v, %v", p, err)
	}
}

// TestProcessLog: lines are printed when they are whole, whatever is there when; at last also what is no whole line.
func TestProcessLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.log")
	var out bytes.Buffer
	l := &processLog{path: file, prefix: "x | "}
	long := strings.Repeat("y", 200<<10)
	for _, step := range []struct {
		add, want string
		last      bool
	}{
		{"", "", false},
		{"one\ntw", "x | one\n", false},
		{"o\nthr", "x | two\n", false},
		{"ee" + "\x1b[31m\r\n", `x | three\x1b[31m` + "\n", false},
		{"", "", false},
		{"\nhalf", "x | \n", false},
		{"", "x | half\n", true},
		{long + "\nafter\n", "", true},
	} {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(step.add); err != nil {
			t.Fatal(err)
		}
		f.Close()
		out.Reset()
		if err := l.print(legible{&out}, step.last); err != nil {
			t.Fatal(err)
		}
		if step.add == long+"\nafter\n" {
			got := strings.ReplaceAll(strings.ReplaceAll(out.String(), "x | ", ""), "\n", "")
			if got != long+"after" || !strings.HasSuffix(out.String(), "x | after\n") {
				t.Errorf("a long line is printed in %d bytes", out.Len())
			}
			continue
		}
		if got := out.String(); got != step.want {
			t.Errorf("after %q it prints %q, want %q", step.add, got, step.want)
		}
	}
}
