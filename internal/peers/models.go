package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	benchProgram = "train.test" // the benchmarks of package train
	clicks       = "ctr"        // folder of the examples in a form that the peer reads; thole's are the same, made as they run
	steps        = "12"         // steps of the peer, of which the fastest counts
	networkRows  = "120000"     // examples that its steps are drawn from
	scoredRows   = "60000"      // examples that it scores
)

// buildModels builds the benchmarks of package train and lets the peer make its examples.
func buildModels(ctx context.Context, o *options, bin string) error {
	dir, err := o.sources("learn", "torch_ctr.py")
	if err != nil {
		return err
	}
	if _, err := run(ctx, ".", []string{o.python, "-c", "import numpy, torch"}); err != nil {
		return fmt.Errorf("-python %s has to have numpy and torch: %w", o.python, err)
	}
	if _, err := run(ctx, ".", []string{"go", "test", "-c", "-o", filepath.Join(bin, benchProgram), "./train"}); err != nil {
		return err
	}
	_, err = run(ctx, ".", []string{o.python, filepath.Join(dir, "gen_ctr.py"), "--out", filepath.Join(bin, clicks), "--text", ""})
	return err
}

// modelComparisons is the table of networks that are trained, and scored, beside PyTorch.
func modelComparisons(o *options, bin string) []comparison {
	peer := func(args ...string) []string {
		return append([]string{o.python, filepath.Join(o.dir, "learn", "torch_ctr.py"), "--data", filepath.Join(bin, clicks, "ctr.npz")}, args...)
	}
	thole := func(bench, time string) []string {
		return []string{filepath.Join(bin, benchProgram), "-test.run", "^$", "-test.bench", bench, "-test.benchtime", time}
	}
	var all []comparison
	for _, x := range []struct{ peer, thole, factors, hidden string }{
		{"lr", "lr", "16", "128-64"}, {"fm", "fm", "16", "128-64"}, {"fm", "fm", "8", "128-64"}, {"nfm", "nfm", "16", "128-64"},
		{"dnn", "dnn", "16", "128-64"}, {"wd", "wdl", "16", "128-64"}, {"deepfm", "deepfm", "16", "128-64"}, {"pnn", "pnn", "16", "128-64"},
		{"deepfm", "deepfm", "16", "400-400-400"}, {"dcn", "dcn", "16", "128-64"},
	} {
		name, bench := x.thole, "Steps/^"+x.thole+"$/^k"+x.factors+"$/"
		switch {
		case x.thole == "lr":
			bench = "Steps/^lr$/"
		case x.hidden != "128-64":
			name, bench = name+" "+x.hidden, bench+strings.ReplaceAll(x.hidden, "-", "_")
		default:
			name, bench = name+", k = "+x.factors, bench+`^\[\]$`
		}
		all = append(all, comparison{name,
			peer("--bench", steps, "--batches", "4096", "--rows", networkRows, "--test-rows", "1000", "--models", x.peer, "--dim", x.factors,
				"--mlp", x.hidden),
			thole(bench, "1x"),
			[]measured{{"trained, k rows per CPU-second", torchTrains, stepsTrain}},
		})
	}
	for _, name := range []string{"lr", "fm", "deepfm"} {
		all = append(all, comparison{name + ", k = 8",
			peer("--epochs", "1", "--rows", "20000", "--test-rows", scoredRows, "--model", name, "--dim", "8"),
			thole("Score/^"+name+"$/clicks", "1s"),
			[]measured{{"scored, k rows per CPU-second", torchScores, scoreRate}},
		})
	}
	return all
}

var (
	stepsLine = regexp.MustCompile(`first-rows/CPU-s\s+([\d.e+]+) rows/CPU-s`)
	scoreLine = regexp.MustCompile(`([\d.e+]+) rows/CPU-s`)
)

func thousands(rows float64, err error) (float64, error) { return rows / 1000, err }

func stepsTrain(text string) (float64, error) { return thousands(found(stepsLine, text, 1)) }
func scoreRate(text string) (float64, error)  { return thousands(found(scoreLine, text, 1)) }

// torchTrains is the peer's fastest step, torchScores what it scores.
func torchTrains(text string) (float64, error) { return torch(text, "best_rows_cpu_s") }
func torchScores(text string) (float64, error) { return torch(text, "predict_rows_cpu_s") }

// torch is a figure of the first line that the peer prints, in thousands.
func torch(text, name string) (float64, error) {
	line, _, _ := strings.Cut(text, "\n")
	var all map[string]any
	if err := json.Unmarshal([]byte(line), &all); err != nil {
		return 0, fmt.Errorf("prints %q: %w", text, err)
	}
	n, ok := all[name].(float64)
	if !ok || n <= 0 {
		return 0, fmt.Errorf("prints %q, want %s above 0", text, name)
	}
	return n / 1000, nil
}
