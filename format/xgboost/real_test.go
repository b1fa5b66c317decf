package xgboost

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"thole.example/format"
	"thole.example/tree"
)

// scores are what a version of XGBoost said of the rows: bits of float32.
type scores struct {
	Margins, Predictions, Contributions [][]uint32
}

func load[T any](t *testing.T, path ...string) (v T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// rows are those that all versions scored.
func rows(t *testing.T) (all [][]float64) {
	for _, bits := range load[[][]uint32](t, "rows.json") {
		row := make([]float64, len(bits))
		for i, b := range bits {
			row[i] = float64(math.Float32frombits(b))
		}
		all = append(all, row)
	}
	return all
}

// models calls f with every model that a version of XGBoost wrote.
func models(t *testing.T, f func(t *testing.T, path string, file []byte, s scores, first bool)) {
	versions, err := filepath.Glob("testdata/*/scores.json")
	if err != nil || len(versions) < 5 {
		t.Fatalf("%v, %v", versions, err)
	}
	for _, v := range versions {
		version := filepath.Base(filepath.Dir(v))
		all := load[map[string]scores](t, version, "scores.json")
		for name, s := range all {
			for _, ending := range []string{".json", ".ubj"} {
				path := filepath.Join("testdata", version, name+ending)
				file, err := os.ReadFile(path)
				if errors.Is(err, os.ErrNotExist) {
					continue
				}
				t.Run(version+"/"+name+ending, func(t *testing.T) { f(t, path, file, s, version > "1.2.9") })
			}
		}
	}
}

// TestMargins scores models of every version to the same bits: XGBoost before 1.3 added the start score last, and may differ in the last one.
func TestMargins(t *testing.T) {
	all := rows(t)
	models(t, func(t *testing.T, path string, file []byte, s scores, first bool) {
		e, notes, err := parse(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(notes) == 0 || !strings.Contains(path, strings.Fields(strings.TrimSuffix(notes[0], ","))[1][:3]) {
			t.Errorf("notes %q", notes)
		}
		got := make([]float64, e.Classes)
		for i, row := range all {
			e.Score(row, got)
			for c, bits := range s.Margins[i] {
				want := math.Float32frombits(bits)
				slack := float32(0)
				if !first {
					slack = 4e-7 * max(1, float32(math.Abs(float64(want))))
				}
				if d := float32(got[c]) - want; d > slack || d < -slack || d != d {
					t.Fatalf("row %d: score %d is %v, want %v", i, c, got[c], want)
				}
			}
			if len(s.Predictions[i]) != e.Classes { // the class alone
				continue
			}
			e.Objective.Predict(got)
			for c, bits := range s.Predictions[i] {
				if want := float64(math.Float32frombits(bits)); math.Abs(got[c]-want) > 2e-6*max(1, want) {
					t.Fatalf("row %d: prediction %d is %v, want %v", i, c, got[c], want)
				}
			}
		}
	})
}

// TestRewrite writes every model in both layouts, and reads it again: the same bits of scores, and the same trees.
func TestRewrite(t *testing.T) {
	all := rows(t)
	models(t, func(t *testing.T, path string, file []byte, s scores, _ bool) {
		e, _, err := parse(file)
		if err != nil {
			t.Fatal(err)
		}
		fitted, err := fit(e, &format.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, ubj := range []bool{false, true} {
			again, err := printed(e, ubj)
			if err != nil {
				t.Fatal(err)
			}
			twice, err := printed(fitted, ubj)
			if err != nil || string(twice) != string(again) {
				t.Fatalf("what is fitted is written as %.300q, want %.300q, %v", twice, again, err)
			}
			g, _, err := parse(again)
			if err != nil {
				t.Fatal(err)
			}
			same(t, g, fitted)
			got, want := make([]float64, e.Classes), make([]float64, e.Classes)
			for i, row := range all {
				g.Score(row, got)
				e.Score(row, want)
				for c := range got {
					if got[c] != want[c] {
						t.Fatalf("row %d: score %d is %v, want %v", i, c, got[c], want[c])
					}
				}
			}
		}
	})
}

// same wants two ensembles to be the same, text and trees.
func same(t *testing.T, got, want *tree.Ensemble) {
	t.Helper()
	a, err := got.JSON()
	b, err2 := want.JSON()
	if err != nil || err2 != nil || string(a) != string(b) {
		t.Fatalf("%s\nwant %s, %v %v", a, b, err, err2)
	}
	am, ab := got.Matrices()
	bm, bb := want.Matrices()
	for i := range max(len(am), len(bm)) {
		if i >= len(am) || i >= len(bm) || am[i].Name != bm[i].Name || !reflect.DeepEqual(ab[i], bb[i]) {
			t.Fatalf("matrices %v, want %v", am, bm)
		}
	}
}

// TestSameTrees writes trees of XGBoost as it wrote them, to the byte: numbers of nodes too, which predict(pred_leaf=True) gives.
func TestSameTrees(t *testing.T) {
	for _, name := range []string{"binary", "start", "squared", "poisson", "early"} {
		file, err := os.ReadFile("testdata/3.2.0/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		e, _, err := parse(file)
		if err != nil {
			t.Fatal(err)
		}
		again, err := printed(e, false)
		if err != nil {
			t.Fatal(err)
		}
		_, want, _ := strings.Cut(string(file), `"gbtree_model_param"`)
		want, _, _ = strings.Cut(want, `"boost_from_average"`)
		_, want, _ = strings.Cut(want, `"iteration_indptr"`)
		want = strings.NewReplacer(`"base_score":"[`, `"base_score":"`, `]",`, `",`).Replace(want)
		if !strings.Contains(string(again), want) {
			t.Errorf("%s: %s\nwant %s", name, again, want)
		}
	}
}

func printed(e *tree.Ensemble, ubj bool) ([]byte, error) {
	var out bytes.Buffer
	err := write(&out, e, ubj)
	return out.Bytes(), err
}

// TestEdges compares scores of probabilities near 0 and 1 with those that XGBoost 3.2.0 prints for files with that base_score.
func TestEdges(t *testing.T) {
	o := &objective{name: "binary:logistic", scale: logit}
	for _, c := range []struct {
		base    float32
		version [3]int
		want    float32 // 0: refused
	}{
		{0, [3]int{3, 2, 0}, -13.81551}, {1e-7, [3]int{3, 2, 0}, -13.81551}, {1, [3]int{3, 2, 0}, 13.74516}, {0.9999999, [3]int{3, 1, 0}, 13.74516},
		{1e-7, [3]int{2, 1, 4}, -16.118095}, {0, [3]int{3, 0, 5}, 0}, {1, [3]int{2, 1, 4}, 0}, {-1, [3]int{3, 2, 0}, 0}, {2, [3]int{3, 2, 0}, 0},
	} {
		got, err := o.margin(c.base, c.version)
		if refused := c.want == 0; refused != (err != nil) || err == nil && math.Abs(float64(got-c.want)) > 2e-6*math.Abs(float64(c.want)) {
			t.Errorf("base_score %v of %v: %v, %v, want %v", c.base, c.version, got, err, c.want)
		}
	}
	for _, score := range []float64{-15, -13.9, -13.8, 0, 13.7, 13.9, 16} { // what is written means the same to all versions
		base := logit.base(score)
		old, err := o.margin(base, [3]int{1, 7, 6})
		now, wrong := o.margin(base, [3]int{3, 2, 0})
		if err != nil || wrong != nil || old != now {
			t.Errorf("score %v: base_score %v is %v to 1.7, %v, and %v to 3.2, %v", score, base, old, err, now, wrong)
		}
	}
}
