package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/data"
)

// TestNegatives: a model of a tenth of the negative examples predicts as many clicks as there are, and tells examples apart about as well
// as that of all; so does what goes on from it. Held-out examples are all there, and are measured as they are.
func TestNegatives(t *testing.T) {
	if testing.Short() {
		t.Skip("trains on many examples")
	}
	dir := t.TempDir()
	file, test := filepath.Join(dir, "train.libsvm"), filepath.Join(dir, "test.libsvm")
	thole(t, "data", "clicks", "--rows", "150000", "--out", file)
	thole(t, "data", "clicks", "--rows", "30000", "--skip", "150000", "--out", test)
	measured := func(model string) (auc, ratio float64) {
		text := thole(t, "evaluate", "--model", model, "--data", test, "--json")
		var m struct {
			Metrics map[string]float64 `json:"metrics"`
		}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		return m.Metrics["auc"], m.Metrics["calibration-ratio"]
	}
	for _, algo := range []string{"lr", "fm"} {
		all, few, more := filepath.Join(dir, algo+"-all"), filepath.Join(dir, algo+"-few"), filepath.Join(dir, algo+"-more")
		args := []string{"train", "--algo", algo, "--data", file, "--epochs", "2"}
		if algo == "lr" {
			args = append(args, "--l2", "1e-3")
		}
		thole(t, append(args, "--model", all)...)
		thole(t, append(args, "--model", few, "--negatives", "0.1")...)
		thole(t, append(args, "--model", more, "--negatives", "0.1", "--load", few)...)
		want, _ := measured(all)
		for _, model := range []string{few, more} {
			auc, ratio := measured(model)
			t.Logf("%s: auc %v (of all %v), predictions %v times as many", filepath.Base(model), auc, want, ratio)
			if math.Abs(ratio-1) > 0.06 || auc < want-0.02 {
				t.Errorf("%s: auc %v, predictions %v times as many as clicks, want about %v and 1", filepath.Base(model), auc, ratio, want)
			}
		}
	}
	log := filepath.Join(dir, "log.jsonl")
	thole(t, "train", "--data", file, "--validate", test, "--negatives", "0.1", "--epochs", "2", "--l2", "1e-3", "--log", log, "--model",
		filepath.Join(dir, "told"))
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	valid := thole(t, "predict", "--model", filepath.Join(dir, "told"), "--data", test, "--json")
	valid = valid[strings.Index(valid, `{"logloss"`):strings.Index(valid, `,"unseen"`)]
	if !strings.Contains(string(text), valid) {
		t.Errorf("the training told\n%s\nwant the metrics of the model, %s", text, valid)
	}
}

// What stays and what is held out is the same as if all examples were read, and then some left out.
func TestThinning(t *testing.T) {
	labels := make([]float32, 1000)
	for i := range labels {
		labels[i] = float32(i*i%3) - 1
	}
	p := &plan{job: &job{holdout: 0.07, seed: 5, weighing: weighing{negatives: 0.3}}}
	th, stays, held := p.thinning(), 0, 0
	k := int(math.Round(1 / 0.07))
	for i, y := range labels {
		hold := i%k == 0
		left := !hold && y <= 0 && data.Uniform(5, int64(i)) >= 0.3
		if th.drop(int64(i), y) != left {
			t.Fatalf("example %d: left out %v, want %v", i, !left, left)
		}
		if hold {
			if th.held[held] != stays {
				t.Fatalf("example %d is held out as number %d, want %d", i, th.held[held], stays)
			}
			held++
		}
		if !left {
			stays++
		}
	}
	if th.seen != 1000 || held != len(th.held) || th.given != int64(1000-stays) {
		t.Errorf("%+v, want %d held out of %d", th, held, stays)
	}
	for _, all := range []float64{0, 1} {
		p.negatives = all
		if p.thinning() != nil || p.offset() != 0 {
			t.Errorf("--negatives %v leaves something out", all)
		}
	}
}

// The least loss of one score, by weights as by copies.
func TestOfOneScore(t *testing.T) {
	label, weight := []float32{-1, 1, 1}, []float32{2, 0, 1}
	copies := []float32{-1, -1, 1}
	for _, name := range []string{"logloss", "hingeloss", "l2loss"} {
		if got, want := ofOneScore(name, label, weight), ofOneScore(name, copies, nil); math.Abs(got-want) > 1e-12 || !(want > 0) {
			t.Errorf("%s: %v by weights, want %v as by copies", name, got, want)
		}
	}
	if got := ofOneScore("logloss", []float32{1, -1}, []float32{1, 0}); got != 0 {
		t.Errorf("loss %v of one class, want 0", got)
	}
}
