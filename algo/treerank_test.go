package algo_test

import (
	"math"
	"slices"
	"testing"

	"thole.example/algo"
	"thole.example/graph"
	"thole.example/train"
	"thole.example/tree"
)

// TestTreeLossOfRankings: the loss is 1 less NDCG of the groups, labels are grades, scores are what is predicted.
func TestTreeLossOfRankings(t *testing.T) {
	for _, name := range []string{"lambdarank", "rank_xendcg", "rank:ndcg", "rank:pairwise", "rank:map"} {
		l, err := algo.TreeLoss(&tree.Objective{Name: name, Link: tree.Identity}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if l.Name() != "ndcgloss" || l.Task() != algo.Ranking || l.Task().Classes() {
			t.Errorf("%s: %s of %s", name, l.Name(), l.Task())
		}
		if l.Check([]float32{0, 4, 30}, 1) != nil || l.Check([]float32{-1}, 1) == nil || l.Check([]float32{31}, 1) == nil ||
			l.Check([]float32{float32(math.NaN())}, 1) == nil {
			t.Errorf("%s takes other labels than grades", name)
		}
		if got := l.Predict(nil, []float32{-3}); !slices.Equal(got, []float64{-3}) || !math.IsNaN(l.(graph.Wide).LossWide([]float64{1}, 2)) {
			t.Errorf("%s predicts %v", name, got)
		}
		s := &train.Scored{Loss: l, Score: []float64{2, 1, 5}, Label: []float32{1, 2, 0}, Group: []int64{4, 4, 7}}
		m, err := train.Measure(s, "ndcg@1", "map@2", "map")
		want := 1 - ((1+3/math.Log2(3))/(3+1/math.Log2(3))+1)/2
		if err != nil || math.Abs(m[0].Value-want) > 1e-15 || math.Abs(m.Get("ndcg@1")-(1./3+1)/2) > 1e-15 || m.Get("map@2") != 1 {
			t.Errorf("%s: %v, %v", name, m, err)
		}
		if loss, err := s.MeanLoss(); err != nil || loss != m[0].Value {
			t.Errorf("%s: loss %v, %v, want %v", name, loss, err, m[0].Value)
		}
	}
}
