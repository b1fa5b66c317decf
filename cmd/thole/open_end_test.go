package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenEnd wants workers that are not told how many epochs to make to stop at the same one as training in one process does.
func TestOpenEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := examples(t, dir)
	_, server := startServer(t, dir)
	var workers []*process
	for task := range 2 {
		w := newProcess(t, dir, "worker", "--servers", server, "--tasks", "2", "--task", fmt.Sprint(task), "--data", file, "--model", "many")
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		workers = append(workers, w)
	}
	alone := newProcess(t, dir, "train", "--data", file, "--tasks", "2", "--servers", "3", "--model", "alone")
	if err := alone.Run(); err != nil {
		t.Fatalf("train: %v: %s", err, &alone.err)
	}
	told, _, _ := strings.Cut(alone.out.String(), "model")
	for task, w := range workers {
		if err := w.Wait(); err != nil {
			t.Fatalf("worker %d: %v: %s", task, err, &w.err)
		}
		if !strings.HasPrefix(w.out.String(), told) {
			t.Errorf("worker %d says %s, want %s", task, &w.out, told)
		}
	}
	for _, name := range []string{"input_weight/0", "input_bias/0"} {
		want, err := os.ReadFile(filepath.Join(dir, "alone", name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "many", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s of the workers is not that of one process: %v", name, err)
		}
	}
}
