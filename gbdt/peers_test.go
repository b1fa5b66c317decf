package gbdt

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"thole.example/data"
	"thole.example/kernel"
	"thole.example/tree"
)

const sets = "../../shared/data/"

// load reads a set of the tests; every so many rows of it alone, or all others.
func load(t testing.TB, path string, dim int, opt data.Options) *Examples {
	path = filepath.Join(sets, path)
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	b, err := data.LoadFile(context.Background(), path, opt)
	if err != nil {
		t.Fatal(err)
	}
	s, err := data.Pack(b)
	if err != nil {
		t.Fatal(err)
	}
	return &Examples{Set: s, View: NewColumns(dim, 0)}
}

func scores(e *tree.Ensemble, rows *Examples) []float64 {
	out := make([]float64, rows.Len())
	row, one := make([]float64, rows.View.Width()), make([]float64, 1)
	for i := range out {
		rows.View.Fill(rows.Set.Slice(i, i+1), 0, 1, row)
		e.Score(row, one)
		out[i] = one[0]
	}
	return out
}

func logloss(scores []float64, label []float32) (loss, wrong float64) {
	for i, s := range scores {
		if label[i] <= 0 {
			s = -s
		}
		loss += math.Log1p(kernel.Exp(-s))
		if s <= 0 {
			wrong++
		}
	}
	return loss / float64(len(scores)), wrong / float64(len(scores))
}

// TestPeers trains as XGBoost did (shared/reference/angel-ml.md, 6.4), where features have two values and so the trees must be the same.
func TestPeers(t *testing.T) {
	for _, c := range []struct {
		name, train, test string
		format            string
		dim, base         int
		want, wrong       float64
		tolerance         float64
	}{
		{"a9a", "a9a/a9a_123d_train.dummy", "a9a/a9a_123d_test.dummy", "dummy", 123, 0, 0.32104, 0.14753, 1e-5},
		{"census", "census/census_148d_train.dummy", "census/census_148d_test.dummy", "dummy", 148, 0, 0.29981, 0.13748, 1e-5},
		{"agaricus", "agaricus/agaricus_127d_train.libsvm", "agaricus/agaricus_127d_test.libsvm", "libsvm", 128, 1, 0.00095, 0, 1e-5},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := data.Options{Format: c.format}
			train, test := load(t, c.train, c.dim, opt), load(t, c.test, c.dim, opt)
			conf := Defaults()
			conf.Objective, _ = FindObjective("binary")
			conf.Objective.Start = nil // as base_score 0.5
			b, err := Bin(context.Background(), train, nil, conf.Bins, 1)
			if err != nil {
				t.Fatal(err)
			}
			conf.Cores = 1
			e, err := Train(context.Background(), b, &Labels{Label: train.Set.Label}, conf, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Check(); err != nil {
				t.Fatal(err)
			}
			got, wrong := logloss(scores(e, test), test.Set.Label)
			if math.Abs(got-c.want) > c.tolerance || math.Abs(wrong-c.wrong) > 5e-6 {
				t.Errorf("log loss %.5f, %.5f wrong, want %.5f and %.5f", got, wrong, c.want, c.wrong)
			}
		})
	}
}
