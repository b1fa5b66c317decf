package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"thole.example/algo"
	"thole.example/loss"
	"thole.example/optim"
)

// continuedLabels are labels that every loss of the task takes.
func continuedLabels(task algo.Task, i int) string {
	switch task {
	case algo.Multiclass:
		return fmt.Sprint(i * i % 3)
	case algo.Regression:
		return fmt.Sprint(float64(i*i%7) + 0.5)
	}
	return fmt.Sprint(i * i % 3 % 2)
}

// TestContinues trains every algorithm with every loss that it takes, and linreg with every update rule: two epochs, and two more with
// --load, are four epochs to the bit at a constant rate.
func TestContinues(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, task := range []algo.Task{algo.Classification, algo.Multiclass, algo.Regression} {
		var lines strings.Builder
		for i := range 40 {
			fmt.Fprintf(&lines, "%s 0:%d:1 1:%d:0.5 2:%d:1\n", continuedLabels(task, i), i%4, 4+i%5, 9+i%3)
		}
		if err := os.WriteFile(fmt.Sprintf("%v.libffm", task), []byte(lines.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tried := 0
	for _, a := range algo.Algos() {
		if a.Trees != "" {
			continue
		}
		for _, kind := range loss.Losses() {
			with, err := a.WithLoss(nil, kind.Name, nil)
			if err != nil || (with.Task == algo.Multiclass) != (a.Task == algo.Multiclass) {
				continue // it does not take the loss
			}
			rules := []string{""}
			if a.Name == "linreg" && kind.Name == "l2loss" {
				for _, rule := range optim.Rules() {
					rules = append(rules, rule.Name)
				}
			}
			for _, rule := range rules {
				continues(t, fmt.Sprintf("%v.libffm", with.Task), "--algo", a.Name, "--loss", kind.Name, "--rule", rule)
				tried++
			}
		}
	}
	if least := 30 + len(optim.Rules()); tried < least {
		t.Errorf("%d combinations, want at least %d", tried, least)
	}
}

// continues trains four epochs at once and by twos.
func continues(t *testing.T, file string, args ...string) {
	t.Helper()
	run := func(more ...string) {
		all := append([]string{"train", "--data", file, "--holdout", "0", "--runs", "none", "--save-state", "--schedule", "constant", "--rate", "0.02",
			"--batch", "16", "--force"}, more...)
		if rc, text := said(t, all...); rc != 0 {
			t.Errorf("%v: exit code %d: %s", all, rc, text)
		}
	}
	run(append(args, "--epochs", "4", "--model", "four")...)
	run(append(args, "--epochs", "2", "--model", "two")...)
	run("--load", "two", "--epochs", "2", "--model", "more")
	if rc, text := said(t, "diff", "four", "more"); rc != 0 {
		t.Errorf("%v: four epochs differ from two epochs and two more: %s", args, text)
	}
}

// TestNewField continues a model that has weights of fields on examples with one more field: the message names the field. Examples with
// fewer fields are trained on.
func TestNewField(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"two.libffm":   strings.Repeat("0 0:1:1 1:2:1\n1 0:2:1 1:3:1\n", 4),
		"three.libffm": strings.Repeat("0 0:1:1 1:2:1 2:5:1\n1 0:2:1 1:3:1 2:6:1\n", 4),
		"one.libffm":   strings.Repeat("0 0:1:1\n1 0:2:1\n", 4),
		"three.libsvm": strings.Repeat("0 1:1 2:1 5:1\n1 2:1 3:1 6:1\n", 4),
	} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, a := range algo.Algos() {
		if a.Sizes.Fields == 0 {
			continue
		}
		for _, state := range []bool{false, true} {
			args := []string{"train", "--epochs", "1", "--holdout", "0", "--runs", "none", "--force"}
			model := fmt.Sprint(a.Name, state)
			if state {
				args = append(args, "--save-state")
			}
			if rc, text := said(t, append(args, "--algo", a.Name, "--data", "two.libffm", "--model", model)...); rc != 0 {
				t.Fatalf("%s: %s", a.Name, text)
			}
			for _, file := range []string{"three.libffm", "three.libsvm"} {
				rc, text := said(t, append(args, "--load", model, "--data", file, "--model", "n")...)
				want := file + ": field 2 is new (" + model + " has weights of fields 0 to 1); remove the field"
				if file == "three.libsvm" { // whose values have fields by their places
					want = "3 values, want 2, one of each field"
				}
				if rc == 0 || !strings.Contains(text, want) || strings.Contains(text, "are added") {
					t.Errorf("%s, state %v, %s: exit code %d: %s", a.Name, state, file, rc, text)
				}
			}
			if rc, text := said(t, append(args, "--load", model, "--data", "one.libffm", "--model", "n")...); rc != 0 {
				t.Errorf("%s, state %v: %s", a.Name, state, text)
			}
		}
	}
}

// TestLoadOnOtherRates continues models of 30 % positives on examples with 1 % for one epoch: the bias is moved before the first step, so
// that the other weights keep what they know. With a saved state it is not.
func TestLoadOnOtherRates(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(8, 30))
	draw := func(bias float64) string {
		var lines strings.Builder
		for range 6000 {
			x := [4]float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
			y := btoi(rng.Float64() < 1/(1+math.Exp(-(bias+x[0]+x[1]-x[2]-x[3]))))
			fmt.Fprintf(&lines, "%d 1:%.3f 2:%.3f 3:%.3f 4:%.3f\n", y, x[0], x[1], x[2], x[3])
		}
		return lines.String()
	}
	for name, bias := range map[string]float64{"often.libsvm": -1.3, "rare.libsvm": -6.3, "test.libsvm": -6.3} {
		if err := os.WriteFile(name, []byte(draw(bias)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"lr", "fm", "softmax", "lr --rule ftrl", "lr --save-state"} {
		args := append([]string{"train", "--runs", "none", "--force", "--algo"}, strings.Fields(name)...)
		if rc, text := said(t, append(args, "--data", "often.libsvm", "--model", "often")...); rc != 0 {
			t.Fatalf("%s: %s", name, text)
		}
		rc, text := said(t, append(args, "--data", "rare.libsvm", "--load", "often", "--epochs", "1", "--model", "more", "--tasks", "2")...)
		state := strings.HasSuffix(name, "--save-state")
		if moves := strings.Contains(text, "at the start: the mean prediction of the training examples was"); rc != 0 || moves == state {
			t.Errorf("%s: exit code %d: %s", name, rc, text)
		}
		rc, text = said(t, "evaluate", "more", "test.libsvm", "--json")
		var measured struct{ Metrics map[string]float64 }
		if err := json.Unmarshal([]byte(text[max(0, strings.IndexByte(text, '{')):]), &measured); rc != 0 || err != nil {
			t.Fatalf("%s: exit code %d, %v: %s", name, rc, err, text)
		}
		if auc := measured.Metrics["auc"]; name != "softmax" && !state && auc < 0.85 {
			t.Errorf("%s: AUC %v after the epoch, want 0.85 or more, as before it", name, auc)
		}
	}
}
