package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSameMetrics wants the same digits from train --validate, predict and evaluate, whatever the algorithm and the tasks.
func TestSameMetrics(t *testing.T) {
	dir := t.TempDir()
	file := examples(t, dir)
	run := func(args ...string) string {
		t.Helper()
		var out, log bytes.Buffer
		if code := Main(args, &env{in: strings.NewReader(""), out: &out, err: &log}); code != 0 {
			t.Fatalf("thole %s: status %d, %s", strings.Join(args, " "), code, &log)
		}
		return out.String()
	}
	for _, c := range []struct {
		algo  string
		tasks int
	}{{"lr", 1}, {"lr", 3}, {"svm", 2}, {"linreg", 5}} {
		name := fmt.Sprint(c.algo, c.tasks)
		model, log := filepath.Join(dir, name), filepath.Join(dir, name+".jsonl")
		run("train", "--algo", c.algo, "--data", file, "--validate", file, "--tasks", fmt.Sprint(c.tasks), "--servers", "2", "--epochs", "3",
			"--model", model, "--log", log)
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		var end struct {
			Valid json.RawMessage `json:"valid"`
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil || len(end.Valid) < 10 {
			t.Fatalf("%s: last line of the log %q: %v", name, lines[len(lines)-1], err)
		}
		for _, command := range []string{"predict", "evaluate"} {
			if got := run(command, "--model", model, "--data", file, "--json"); !strings.Contains(got, string(end.Valid)) {
				t.Errorf("%s: %s says %s, want %s of train --validate", name, command, got, end.Valid)
			}
		}
	}
}
