package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"thole.example/algo"
)

// savedExamples are examples with fields, and rows of a table with a text, by the file that they are in.
func savedExamples() map[string]string {
	var lines, table strings.Builder
	table.WriteString("label,age,city\n")
	for i := range 24 {
		fmt.Fprintf(&lines, "%d 0:%d:1 1:%d:0.5\n", i*i%3%2, i%4, 4+i%5)
		fmt.Fprintf(&table, "%d,%d,%s\n", i*i%3%2, 20+i*7%40, []string{"Bonn", "Rome", "Bath"}[i%3])
	}
	return map[string]string{"examples.libffm": lines.String(), "examples.csv": table.String()}
}

// said runs a command and gives its exit code and what it printed.
func said(t *testing.T, args ...string) (rc int, out string) {
	t.Helper()
	var b bytes.Buffer
	rc = Main(args, &env{in: strings.NewReader(""), out: &b, err: &b})
	return rc, b.String()
}

// TestEveryAlgorithmIsSaved trains every algorithm, dense and keyed, with columns of a table and without, to every format: it is refused
// before the first epoch with a reason, or the stored model gives the same bits as the one in the default format.
func TestEveryAlgorithmIsSaved(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range savedExamples() {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{"gbdt"}
	for _, a := range algo.Algos() {
		names = append(names, a.Name)
	}
	saved, number := map[string]int{}, 0
	for _, name := range names {
		for file := range savedExamples() {
			for _, keyed := range []bool{false, true} {
				if name == "gbdt" && keyed || name != "gbdt" && name != "deepfm" && file == "examples.csv" {
					continue // columns lie next to the matrices of all networks alike
				}
				train := []string{"train", "--algo", name, "--data", file, "--holdout", "0", "--runs", "none"}
				if name == "gbdt" {
					train = append(train, "--trees", "3", "--min-child-weight", "1") // the examples are few
				} else {
					train = append(train, "--epochs", "1")
				}
				if keyed {
					train = append(train, "--sparse")
				}
				number++
				want := ""
				for _, c := range codecs() {
					i := c.Info()
					if i.Writes == "" {
						continue
					}
					what := fmt.Sprintf("%s %s keyed %v as %s", name, file, keyed, i.Name)
					model := fmt.Sprintf("m%d-%s%s", number, i.Name, i.Ext)
					rc, text := said(t, append(train, "--model", model)...)
					if rc != 0 {
						if rc != 2 || strings.Contains(text, "epoch 1") || strings.Contains(text, "-kept") || i.Name == defaultFormat {
							t.Errorf("%s: exit code %d: %s", what, rc, text)
						}
						if _, err := os.Stat(model); err == nil {
							t.Errorf("%s: refused, and written", what)
						}
						continue
					}
					rc, got := said(t, "predict", "--model", model, "--data", file, "--out", "-")
					if rc != 0 {
						t.Errorf("%s: predict: %s", what, got)
						continue
					}
					if saved[i.Name]++; want == "" {
						want = got
					}
					if alike := got == want || i.Name == "xgboost" && near32(got, want); !alike { // whose files have float32
						t.Errorf("%s: scores\n%.200s\nwant\n%.200s", what, got, want)
					}
				}
			}
		}
	}
	for name, least := range map[string]int{"angel": 32, "daphne": 32, "mtx": 32, "npz": 17, "safetensors": 17, "xgboost": 2, "lightgbm": 2} {
		if saved[name] < least {
			t.Errorf("%d models were saved as %s, want at least %d", saved[name], name, least)
		}
	}
}

// near32 reports whether predictions are the same but for the rounding of scores to float32.
func near32(a, b string) bool {
	separate := func(r rune) bool { return r == ',' || r == '\n' }
	as, bs := strings.FieldsFunc(a, separate), strings.FieldsFunc(b, separate)
	return slices.EqualFunc(as, bs, func(a, b string) bool {
		x, err := strconv.ParseFloat(a, 64)
		y, wrong := strconv.ParseFloat(b, 64)
		return a == b || err == nil && wrong == nil && math.Abs(x-y) <= 1e-6*(1+math.Abs(y))
	})
}
