package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// thole runs a command line in this process and gives what it prints.
func thole(t *testing.T, args ...string) string {
	t.Helper()
	var out, log bytes.Buffer
	if code := Main(args, &env{in: strings.NewReader(""), out: &out, err: &log}); code != 0 {
		t.Fatalf("thole %s: exit %d\n%s", strings.Join(args, " "), code, log.String())
	}
	return out.String()
}

// exampleFeeds are examples of the dummy format in the two forms of feeds.
func exampleFeeds(t *testing.T, text string, features int) (feeds map[string]string) {
	t.Helper()
	var x [][]float32
	var ids [][]int
	var vals [][]float32
	for line := range strings.Lines(text) {
		row, list, ones := make([]float32, features), make([]int, features), make([]float32, features)
		for i, word := range strings.Fields(line)[1:] {
			id, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			row[id], list[i], ones[i] = 1, id, 1 // the rest of the list is id 0 with value 0
		}
		x, ids, vals = append(x, row), append(ids, list), append(vals, ones)
	}
	feeds = map[string]string{}
	for name, v := range map[string]any{"x": x, "ids": ids, "vals": vals} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		feeds[name] = name + "=" + string(data)
	}
	return feeds
}

// TestExportPredicts checks that an exported model gives what predict gives.
func TestExportPredicts(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("small.dummy"), []byte(smallExamples()), 0o666); err != nil {
		t.Fatal(err)
	}
	feeds := exampleFeeds(t, smallExamples(), 40)
	for _, algo := range []string{"lr", "linreg", "svm"} {
		thole(t, "train", "--algo", algo, "--data", at("small.dummy"), "--dim", "40", "--epochs", "3", "--model", at(algo))
		thole(t, "predict", "--model", at(algo), "--data", at("small.dummy"), "--out", at(algo+".csv"))
		predicted, err := os.ReadFile(at(algo + ".csv"))
		if err != nil {
			t.Fatal(err)
		}
		for i, layout := range []string{"pdmodel", "pir", "pdmodel", "pir"} {
			feed, names := "dense", []string{"x"}
			if i < 2 {
				feed, names = "sparse", []string{"ids", "vals"}
			}
			model := at(algo + "-" + feed + "-" + layout)
			thole(t, "export", at(algo), model, "--feed", feed, "--layout", layout)
			args := []string{"run", model}
			for _, name := range names {
				args = append(args, "--feed", feeds[name])
			}
			var got map[string][][]float64
			if err := json.Unmarshal([]byte(thole(t, args...)), &got); err != nil {
				t.Fatal(err)
			}
			if _, ok := got["score"]; !ok {
				got["score"] = got["prediction"]
			}
			lines := strings.Split(strings.TrimSpace(string(predicted)), "\n")[1:]
			if len(lines) != len(got["score"]) {
				t.Fatalf("%s: %d examples, want %d", model, len(got["score"]), len(lines))
			}
			for i, line := range lines {
				words := strings.Split(line, ",")
				for k, name := range []string{"score", "prediction"} {
					want, err := strconv.ParseFloat(words[1+k], 64)
					if v := got[name][i][0]; err != nil || math.Abs(v-want) > 1e-6*(1+math.Abs(want)) {
						t.Errorf("%s: example %d has %s %v, want %s (%v)", model, i, name, v, words[1+k], err)
					}
				}
			}
		}
	}
}
