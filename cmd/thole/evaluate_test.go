package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// TestSameMetrics wants the same digits from train --validate, predict and evaluate, whatever the algorithm and the tasks; evaluate has
// more metrics behind them.
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
	}{{"lr", 1}, {"lr", 3}, {"svm", 2}, {"linreg", 5}, {"softmax", 2}, {"robust", 2}} {
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
			want := string(end.Valid)
			if command == "evaluate" {
				want = strings.TrimSuffix(want, "}")
			}
			if got := run(command, "--model", model, "--data", file, "--json"); !strings.Contains(got, want) {
				t.Errorf("%s: %s says %s, want %s of train --validate", name, command, got, end.Valid)
			}
		}
	}
}

// TestFirstColumn scores with models whose columns do not begin at 0: each value meets its own weight, and what lies outside counts as
// zero. Training goes on from the same weights.
func TestFirstColumn(t *testing.T) {
	const cols = 5
	for _, lo := range []int64{0, 7, -2, -6} {
		for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
			dir := t.TempDir()
			weight := matrix.Meta{Name: "input_weight", Rows: 1, Cols: cols, ColLo: lo, DType: matrix.F32, Layout: layout}
			bias := matrix.Meta{Name: "input_bias", Rows: 1, Cols: 1, DType: matrix.F32}
			w := &matrix.Dense[float32]{Val: []float32{1, 10, 100, 1000, 10000}}
			model := filepath.Join(dir, "model")
			save(t, model, map[string]matrix.Block{
				"input_weight": {At: matrix.At(0, 1, lo, lo+cols), Data: w},
				"input_bias":   {At: matrix.At(0, 1, 0, 1), Data: &matrix.Dense[float32]{Val: []float32{0.5}}},
			}, weight, bias)
			var lines, want strings.Builder
			want.WriteString("row,margin,prediction,label\n")
			for col := range int64(14) {
				score := 0.5
				if at := col - lo; at >= 0 && at < cols {
					score += 2 * float64(w.Val[at])
				}
				fmt.Fprintf(&lines, "%v %d:2\n", score, col) // as predicted, so that the bias stays as it is
				fmt.Fprintf(&want, "%d,%v,%v,%[2]v\n", col, score, score)
			}
			file := filepath.Join(dir, "a.libsvm")
			if err := os.WriteFile(file, []byte(lines.String()), 0o666); err != nil {
				t.Fatal(err)
			}
			args := []string{"--data", file, "--algo", "linreg", "--index-base", "0"}
			models := []string{model}
			if lo >= 0 {
				on := filepath.Join(dir, "on")
				thole(t, append([]string{"train", "--load", model, "--model", on, "--dim", "14", "--epochs", "1", "--rate", "1e-30",
					"--save-state"}, args...)...)
				models = append(models, on)
			}
			for _, from := range models {
				if got := thole(t, append([]string{"predict", "--model", from, "--out", "-"}, args...)...); got != want.String() {
					t.Errorf("%s, %v from column %d: %s, want %s", from, layout, lo, got, &want)
				}
			}
		}
	}
}

// save writes matrices in Angel's format.
func save(t *testing.T, path string, blocks map[string]matrix.Block, ms ...matrix.Meta) {
	t.Helper()
	codec, err := codecs().Lookup("angel")
	if err != nil {
		t.Fatal(err)
	}
	w, err := format.Create(t.Context(), codec, blob.NewPaths(), path, ms, format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var parts []format.Part
	for name, b := range blocks {
		part, err := w.Put(t.Context(), name, b)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	if err := w.Commit(t.Context(), parts); err != nil {
		t.Fatal(err)
	}
}
