package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMakeRoom wants what is there to come back if what takes its place does not stay, and nothing else to be left.
func TestMakeRoom(t *testing.T) {
	for _, c := range []struct {
		before, stays bool
		want          string
	}{{true, true, "new"}, {true, false, "old"}, {false, true, "new"}, {false, false, ""}} {
		dir := t.TempDir()
		path := filepath.Join(dir, "m.state")
		write := func(text string) {
			if err := os.Mkdir(path, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(path, "checkpoint"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if c.before {
			write("old")
		}
		end, err := makeRoom(t.Context(), nil, path)
		if err != nil {
			t.Fatal(err)
		}
		write("new")
		if err := end(t.Context(), c.stays); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		has, _ := os.ReadFile(filepath.Join(path, "checkpoint")) // nothing if it is not there
		names, err := os.ReadDir(dir)
		if err != nil || string(has) != c.want || len(names) > 1 {
			t.Errorf("%+v: %q beside %v, %v", c, has, names, err)
		}
	}
}

// TestNoModelWithoutState saves a model whose state cannot be saved: then the model is not there either.
func TestNoModelWithoutState(t *testing.T) {
	dir := t.TempDir()
	file := examples(t, dir)
	_, addr := startServer(t, dir)
	if err := os.MkdirAll(filepath.Join(dir, "m.state", "mine"), 0o777); err != nil {
		t.Fatal(err)
	}
	w := newProcess(t, dir, "worker", "--servers", addr, "--data", file, "--epochs", "1", "--model", "m", "--save-state")
	if err := w.Run(); err == nil {
		t.Error("the worker writes over a folder that is no checkpoint of its own")
	}
	if _, err := os.Stat(filepath.Join(dir, "m")); err == nil {
		t.Errorf("there is a model without the state that was asked for; the worker says %q", &w.err)
	}
}
