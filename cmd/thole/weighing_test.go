package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"thole.example/algo"
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
		return m.Metrics["auc"], m.Metrics["calibrationRatio"]
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

// TestThinning: what stays and what is held out is the same as if all examples were read, some held out, and then some left out.
func TestThinning(t *testing.T) {
	const n = 1000
	for _, by := range []string{holdRandom, holdInterval, "too few to hold some out by default"} {
		p := &plan{job: &job{holdout: 0.07, holdBy: by, seed: 5, weighing: weighing{negatives: 0.3}}, recipe: &algo.Algo{}}
		p.recipe.Task = algo.Classification
		if by != holdRandom && by != holdInterval {
			p.holdout, p.holdBy, p.mayHoldOut = 0, "", true
		}
		in, th := p.heldOut(n), p.thinning()
		var learn, held []int64 // columns, which are the numbers of the examples
		left, text := int64(0), strings.Builder{}
		for i := range int64(n) {
			label := i*i%3 - 1
			fmt.Fprintf(&text, "%d %d:1\n", label, i)
			switch {
			case in(int(i)):
				held = append(held, i)
			case label <= 0 && data.Uniform(5, i) >= 0.3:
				left++
			default:
				learn = append(learn, i)
			}
		}
		var err error
		p.train, err = data.LoadAll(t.Context(), []data.Input{{Name: "x", Stream: strings.NewReader(text.String())}},
			data.Options{Format: "libsvm", Base: data.Base0, Labels: data.NoTrans, Drop: th.drop})
		if err != nil {
			t.Fatal(err)
		}
		kept, apart := slices.Clone(p.train.Batch().Rows().Idx), p.heldRows(th)(p.train.Label, nil)
		for k, i := range kept {
			if _, learns := slices.BinarySearch(learn, i); apart(k) == learns {
				t.Errorf("%s: the columns are fitted to example %d: %t, want those to learn from", by, i, learns)
			}
		}
		if err := p.holdOut(th); err != nil {
			t.Fatal(err)
		}
		if got := p.train.Batch().Rows().Idx; !slices.Equal(got, learn) {
			t.Errorf("%s: examples to learn from are %v, want %v", by, got, learn)
		}
		if p.valid == nil {
			p.valid = &data.Examples{Set: &data.Set{}}
		}
		if got := p.valid.Batch().Rows().Idx; !slices.Equal(got, held) {
			t.Errorf("%s: held-out examples are %v, want %v", by, got, held)
		}
		if th.given != left || th.seen != n {
			t.Errorf("%s: %d of %d left out, want %d of %d", by, th.given, th.seen, left, n)
		}
	}
	p := &plan{job: &job{}}
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
