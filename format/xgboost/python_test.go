package xgboost

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"thole.example/tree"
)

// TestPython has XGBoost load and score what we write, and reads what it saves of that. PYTHON names a python that has xgboost.
func TestPython(t *testing.T) {
	python := cmp.Or(os.Getenv("PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import xgboost, numpy").Run(); err != nil {
		t.Skipf("no xgboost for %s (PYTHON=...): %v", python, err)
	}
	dir, all := t.TempDir(), map[string]*tree.Ensemble{}
	put := func(name string, e *tree.Ensemble) {
		for _, ubj := range []bool{false, true} {
			file, err := printed(e, ubj)
			if err != nil {
				t.Fatal(name, err)
			}
			n := name + map[bool]string{false: ".json", true: ".ubj"}[ubj]
			if err := os.WriteFile(filepath.Join(dir, n), file, 0o644); err != nil {
				t.Fatal(err)
			}
			all[n] = e
		}
	}
	models(t, func(t *testing.T, path string, file []byte, _ scores, _ bool) {
		if strings.Contains(path, "named.") { // whose levels want names, and rows.json has numbers
			return
		}
		e, _, err := parse(file)
		if err != nil {
			t.Fatal(err)
		}
		put(strings.ReplaceAll(strings.TrimPrefix(path, "testdata/"), "/", "-"), e)
	})
	for i := range 40 {
		put(fmt.Sprint("own-", i), random(uint64(i)))
	}
	rowsPath, err := filepath.Abs("testdata/rows.json")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(python, "testdata/score.py", dir, rowsPath).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got map[string]json.RawMessage
	text, err := os.ReadFile(filepath.Join(dir, "scores.json"))
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	old := strings.HasPrefix(string(got["version"]), `"1.`)
	for name, e := range all {
		t.Run(name, func(t *testing.T) {
			var s struct {
				scores
				Error string
			}
			if err := json.Unmarshal(got[name], &s); err != nil {
				t.Fatal(err)
			}
			if s.Error != "" && old && strings.Contains(s.Error, "reg:quantileerror") {
				t.Skip("1.7 has no reg:quantileerror")
			}
			if s.Error != "" {
				t.Fatal(s.Error)
			}
			compareRows(t, e, &s.scores, 1e-6)
			saved, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			again, _, err := parse(saved)
			if err != nil {
				t.Fatal(err)
			}
			compareRows(t, again, &s.scores, 1e-6)
		})
	}
}

// compareRows wants the scores of XGBoost to be those of the ensemble, and contributions that add up to them.
func compareRows(t *testing.T, e *tree.Ensemble, s *scores, slack float64) {
	t.Helper()
	near := func(a, b float64) bool { return math.Abs(a-b) <= slack*max(1, math.Abs(a), math.Abs(b)) }
	got := make([]float64, e.Classes)
	for i, row := range rows(t) {
		row = append(row, make([]float64, max(0, e.Features.Width-len(row)))...)[:e.Features.Width]
		e.Score(row, got)
		for c := range got {
			want := float64(math.Float32frombits(s.Margins[i][c]))
			if !near(got[c], want) {
				t.Fatalf("row %d: score %d is %v for XGBoost, want %v", i, c, want, got[c])
			}
			sum, n := 0.0, e.Features.Width+1
			for _, bits := range s.Contributions[i][c*n : (c+1)*n] {
				sum += float64(math.Float32frombits(bits))
			}
			if math.Abs(sum-want) > 2e-5*max(1, math.Abs(want)) || sum != sum {
				t.Fatalf("row %d: contributions to score %d are %v together, want %v", i, c, sum, want)
			}
		}
		if len(s.Predictions[i]) != len(got) {
			continue
		}
		e.Objective.Predict(got)
		for c, p := range got {
			if want := float64(math.Float32frombits(s.Predictions[i][c])); !near(p, want) && math.Abs(p-want) > 1e-5*math.Abs(p) {
				t.Fatalf("row %d: prediction %d is %v for XGBoost, want %v", i, c, want, p)
			}
		}
	}
}
