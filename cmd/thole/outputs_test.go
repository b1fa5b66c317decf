package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const xgboostModels = "../../format/xgboost/testdata"

// writtenRows writes the rows that XGBoost scored as a table, and gives what it said of each of its models.
func writtenRows(t *testing.T, path string) (said map[string]struct{ Margins, Predictions, Contributions [][]uint32 }) {
	t.Helper()
	var rows [][]uint32
	for _, f := range []struct {
		path string
		to   any
	}{{"rows.json", &rows}, {"3.2.0/scores.json", &said}} {
		text, err := os.ReadFile(filepath.Join(xgboostModels, f.path))
		if err == nil {
			err = json.Unmarshal(text, f.to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out := "f0,f1,f2,f3,f4,label\n"
	for i, row := range rows {
		for _, bits := range row {
			if v := float64(math.Float32frombits(bits)); v == v {
				out += strconv.FormatFloat(v, 'g', -1, 32)
			}
			out += ","
		}
		out += fmt.Sprintf("%d\n", i%3)
	}
	if err := os.WriteFile(path, []byte(out), 0o666); err != nil {
		t.Fatal(err)
	}
	return said
}

// runInside runs a command in this process.
func runInside(args ...string) (out, log string, code int) {
	var to, err bytes.Buffer
	code = Main(args, &env{in: strings.NewReader(""), out: &to, err: &err})
	return to.String(), err.String(), code
}

// TestOutputs predicts and explains models of several targets and quantiles, with the numbers of XGBoost.
func TestOutputs(t *testing.T) {
	dir := t.TempDir()
	rows := filepath.Join(dir, "rows.csv")
	said := writtenRows(t, rows)
	for _, c := range []struct {
		file, of, columns string
		measured          bool
	}{
		{"quantiles.json", "quantiles", "margin_0.2 margin_0.8 prediction_0.2 prediction_0.8 label", true},
		{"many.ubj", "many", "margin_0 margin_1 prediction_0 prediction_1 label", false},
		{"labels.json", "labels", "margin_0 margin_1 prediction_0 prediction_1 label", false},
		{"counts.ubj", "counts", "margin_0 margin_1 prediction_0 prediction_1 label", false},
		{"hinges.ubj", "hinges", "margin_0 margin_1 prediction_0 prediction_1 label", false},
	} {
		model, to := filepath.Join(xgboostModels, "3.2.0", c.file), filepath.Join(dir, c.of+".csv")
		want := said[c.of]
		report, log, code := runInside("predict", "--model", model, "--data", rows, "--label-column", "label", "--contrib", "--out", to)
		if code != 0 {
			t.Fatalf("%s: %s", c.file, log)
		}
		if !c.measured && !strings.Contains(log, "2 outputs (targets), and the rows have one label") {
			t.Errorf("%s: %q, want it to say that nothing is measured", c.file, log)
		}
		text, err := os.ReadFile(to)
		if err != nil {
			t.Fatal(err)
		}
		table, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
		if err != nil || len(table) != len(want.Margins)+1 || !strings.HasPrefix(strings.Join(table[0], " "), "row "+c.columns+" contrib_f") {
			t.Fatalf("%s: %d rows, head %v, %v", c.file, len(table), table[0], err)
		}
		at := func(i, k int) float64 {
			v, err := strconv.ParseFloat(table[i+1][k], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		loss := [2]float64{}
		for i := range want.Margins {
			for k := range 2 {
				margin, p := math.Float32frombits(want.Margins[i][k]), float64(math.Float32frombits(want.Predictions[i][k]))
				if float32(at(i, 1+k)) != margin || math.Abs(at(i, 3+k)-p) > 1e-6*max(1, math.Abs(p)) {
					t.Fatalf("%s: row %d, output %d: %v and %v, want %v and %v", c.file, i, k, at(i, 1+k), at(i, 3+k), margin, p)
				}
				d, alpha := float64(i%3)-at(i, 3+k), [2]float64{.2, .8}[k]
				loss[k] += max(alpha*d, (alpha-1)*d) / float64(len(want.Margins))
				for f := range 6 {
					if i >= len(want.Contributions) {
						break
					}
					w, got := float64(math.Float32frombits(want.Contributions[i][6*k+f])), 0.0
					output := strings.TrimPrefix(strings.Fields(c.columns)[k], "margin_")
					name := fmt.Sprintf("contrib_f%d_%s", f, output)
					if f == 5 {
						name = "base_" + output
					}
					if column := slices.Index(table[0], name); column >= 0 { // features without splits have none
						got = at(i, column)
					} else if f == 5 {
						t.Fatalf("%s: no column %s", c.file, name)
					}
					if math.Abs(got-w) > 1e-5 {
						t.Fatalf("%s: row %d, output %d: feature %d contributes %v, want %v", c.file, i, k, f, got, w)
					}
				}
			}
		}
		measured, log, code := runInside("evaluate", model, rows, "--label-column", "label", "--json")
		if !c.measured {
			if code == 0 || !strings.Contains(log, "thole predict --no-label") {
				t.Errorf("%s: evaluate: %d, %s", c.file, code, log)
			}
			continue
		}
		var got struct{ Metrics map[string]float64 }
		if err := json.Unmarshal([]byte(measured), &got); err != nil {
			t.Fatalf("%s: %v", log, err)
		}
		for name, w := range map[string]float64{"quantileloss": (loss[0] + loss[1]) / 2, "quantileloss_0.2": loss[0], "quantileloss_0.8": loss[1]} {
			if v, ok := got.Metrics[name]; !ok || math.Abs(v-w) > 1e-9 {
				t.Errorf("%s is %v, want %v", name, v, w)
			}
		}
		if !strings.Contains(report, "quantileloss_0.8") {
			t.Errorf("predict reports %q", report)
		}
		if _, log, code := runInside("evaluate", model, rows, "--label-column", "label", "--report", filepath.Join(dir, "r.html")); code == 0 ||
			!strings.Contains(log, "leave out --report") {
			t.Errorf("a report: %d, %s", code, log)
		}
	}
	model := filepath.Join(xgboostModels, "3.2.0", "quantiles.json")
	out, log, code := runInside("explain", model, "--data", rows, "--row", "3", "--label-column", "label", "--json")
	var f scoreFinding
	if err := json.Unmarshal([]byte(out), &f); code != 0 || err != nil {
		t.Fatalf("%d, %v, %s", code, err, log)
	}
	if len(f.Outputs) != 2 || f.Outputs[1] != "0.8" || len(f.Classes) > 0 || len(f.Outcomes) != 2 || f.Outcomes[0] != f.Margin[0] || !strings.Contains(f.Predicted, ", ") {
		t.Errorf("explained as %+v", f)
	}
	for _, of := range []string{"npz", "safetensors", "xgboost"} { // the quantiles stay with the model
		other := filepath.Join(dir, "other."+of)
		if _, log, code := runInside("convert", model, other, "--to", of); code != 0 {
			t.Fatal(log)
		}
		if out, log, _ := runInside("evaluate", other, rows, "--label-column", "label"); !strings.Contains(out, "quantileloss_0.8") {
			t.Errorf("%s: %s%s", of, out, log)
		}
	}
}
