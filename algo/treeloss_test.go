package algo

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/graph"
	"thole.example/loss"
	"thole.example/tree"
)

// TestTreeLossAgrees compares objectives with the losses of networks that are the same.
func TestTreeLossAgrees(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		for _, c := range []struct {
			o    tree.Objective
			name string
			set  map[string]float64
		}{
			{tree.Objective{Name: "binary:logistic", Link: tree.Logistic}, "logloss", nil},
			{tree.Objective{Name: "of somebody", Link: tree.Softmax}, "softmaxloss", nil},
			{tree.Objective{Name: "regression", Link: tree.Identity}, "l2loss", nil},
			{tree.Objective{Name: "poisson", Link: tree.Exp}, "poissonloss", nil},
			{tree.Objective{Name: "huber", Link: tree.Identity, Set: map[string]float64{"alpha": 0.5}}, "huberloss", map[string]float64{"delta": 0.5}},
			{tree.Objective{Name: "binary:hinge", Link: tree.Identity}, "hingeloss", nil},
		} {
			kind, err := loss.Find(nil, c.name)
			if err != nil {
				rt.Fatal(err)
			}
			other, err := kind.Bind(c.set)
			if err != nil {
				rt.Fatal(err)
			}
			width := max(1, 3*(1-kind.Width))
			l, err := TreeLoss(&c.o, width)
			if err != nil {
				rt.Fatal(err)
			}
			row := rapid.SliceOfN(rapid.Float32Range(-20, 20), width, width).Draw(rt, "score")
			label := []float32{float32(rapid.IntRange(0, 2).Draw(rt, "label"))}
			score := &graph.Tensor{Rows: 1, Cols: width, Val: row}
			got, want := l.Loss(score, label, nil), other.Loss(score, label, &graph.Tensor{Rows: 1, Cols: width, Val: make([]float32, width)})
			if l.Name() != c.name || l.Task() != other.Task() || math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
				rt.Errorf("%s: %v, %s has %v", c.o.Name, got, c.name, want)
			}
			said, saying := l.Predict(nil, row), other.Predict(nil, row)
			for i := range saying {
				if len(said) != len(saying) || math.Abs(said[i]-saying[i]) > 1e-6*max(1, math.Abs(saying[i])) {
					rt.Errorf("%s predicts %v, %s %v", c.o.Name, said, c.name, saying)
				}
			}
		}
	})
}

// TestTreeLoss has values computed by hand.
func TestTreeLoss(t *testing.T) {
	for _, c := range []struct {
		o     tree.Objective
		score float64
		label float32
		want  float64
		says  float64
	}{
		{tree.Objective{Name: "binary", Link: tree.Logistic, Sigmoid: 2}, 0.5, 1, math.Log(1 + math.Exp(-1)), 1 / (1 + math.Exp(-1))},
		{tree.Objective{Name: "cross_entropy", Link: tree.Logistic}, 0, 0.25, math.Ln2, 0.5},
		{tree.Objective{Name: "l1", Link: tree.Identity}, 3, 5, 2, 3},
		{tree.Objective{Name: "quantile", Link: tree.Identity, Set: map[string]float64{"alpha": 0.9}}, 3, 5, 1.8, 3},
		{tree.Objective{Name: "quantile", Link: tree.Identity, Set: map[string]float64{"alpha": 0.9}}, 5, 3, 0.2, 5},
		{tree.Objective{Name: "mape", Link: tree.Identity}, 3, 4, 0.25, 3},
		{tree.Objective{Name: "gamma", Link: tree.Exp}, 0, 2, 2, 1},
		{tree.Objective{Name: "tweedie", Link: tree.Exp}, 0, 1, 4, 1},
		{tree.Objective{Name: "regression", Link: tree.Square}, -3, -8, 0.5, -9},
	} {
		l, err := TreeLoss(&c.o, 1)
		if err != nil {
			t.Fatal(err)
		}
		w := l.(graph.Wide)
		if got := w.LossWide([]float64{c.score}, c.label); math.Abs(got-c.want) > 1e-15*max(1, c.want)*4 {
			t.Errorf("%s: %v, want %v", c.o.Name, got, c.want)
		}
		if got := w.PredictWide(nil, []float64{c.score}); len(got) != 1 || math.Abs(got[0]-c.says) > 1e-15 {
			t.Errorf("%s predicts %v, want %v", c.o.Name, got, c.says)
		}
	}
	ova := tree.Objective{Name: "multiclassova", Link: tree.Each}
	l, err := TreeLoss(&ova, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.(graph.Wide).LossWide([]float64{0, 7}, 0); got != math.Ln2 {
		t.Errorf("one of two classes: %v, want log 2", got)
	}
	if got := l.(graph.Wide).PredictWide(nil, []float64{0, 0}); got[0] != 0 || got[1] != 0.5 || got[2] != 0.5 {
		t.Errorf("%v, want the first class, and 0.5 of each", got)
	}
	if !math.IsNaN(l.(graph.Wide).LossWide([]float64{0, 0}, 2)) {
		t.Error("a class that there is not, want NaN")
	}
}

func TestTreeLossRefuses(t *testing.T) {
	for _, c := range []struct {
		o       tree.Objective
		classes int
		want    string
	}{
		{tree.Objective{Name: "lambdarank", Link: tree.Identity}, 2, "2 scores of a row, want one"}, {tree.Objective{Link: tree.Softmax}, 1, "want one for each class"},
	} {
		if _, err := TreeLoss(&c.o, c.classes); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v", err)
		}
	}
	for name, bad := range map[string]float32{"gamma": 0, "poisson": -1, "cross_entropy": 2, "softmax": 3} {
		classes := 1
		if name == "softmax" {
			classes = 3
		}
		l, err := TreeLoss(&tree.Objective{Name: name}, classes)
		if err != nil || l.Check([]float32{0.5, 1}[classes/2:], classes) != nil || l.Check([]float32{bad}, classes) == nil {
			t.Errorf("%s: takes %v", name, bad)
		}
	}
}
