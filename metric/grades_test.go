package metric

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// ofGroups is the mean over the groups, by the mean weights of their examples, of the mean over all orders in which no score stands before
// a higher one.
func ofGroups(in *Input, of func(label []float64, k int) float64, k int) float64 {
	rows := map[int64][]int{}
	for i, g := range in.Group {
		rows[g] = append(rows[g], i)
	}
	sum, weights := 0.0, 0.0
	for _, rows := range rows {
		w := 0.0
		for _, i := range rows {
			w += in.weight(i) / float64(len(rows))
		}
		all, orders := 0.0, 0.0
		permuted(rows, 0, func(order []int) {
			label := make([]float64, len(order))
			for at, i := range order {
				if label[at] = in.Label[i]; at > 0 && in.Score[i] > in.Score[order[at-1]] {
					return
				}
			}
			all, orders = all+of(label, k), orders+1
		})
		sum, weights = sum+w*all/orders, weights+w
	}
	return sum / weights
}

// permuted calls each with all orders of the rows.
func permuted(rows []int, from int, each func([]int)) {
	if from == len(rows) {
		each(rows)
		return
	}
	for i := from; i < len(rows); i++ {
		rows[from], rows[i] = rows[i], rows[from]
		permuted(rows, from+1, each)
		rows[from], rows[i] = rows[i], rows[from]
	}
}

// orderedGain is NDCG of labels in the order of their scores.
func orderedGain(label []float64, k int) float64 {
	dcg := func(label []float64) (sum float64) {
		for i := 0; i < min(k, len(label)); i++ {
			sum += (math.Pow(2, label[i]) - 1) / math.Log2(float64(i+2))
		}
		return sum
	}
	best := slices.Sorted(slices.Values(label))
	slices.Reverse(best)
	if dcg(best) == 0 {
		return 1
	}
	return dcg(label) / dcg(best)
}

// orderedPrecision is the average precision of labels in the order of their scores.
func orderedPrecision(label []float64, k int) float64 {
	hits, sum, all := 0.0, 0.0, 0.0
	for i, y := range label {
		if y <= 0 {
			continue
		}
		if all++; i < k {
			hits++
			sum += hits / float64(i+1)
		}
	}
	if all == 0 {
		return 1
	}
	return sum / min(all, float64(k))
}

// TestRankings holds the metrics of rankings to what they say, with all orders of equal scores written out.
func TestRankings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 14).Draw(t, "n")
		in := &Input{Score: make([]float64, n), Label: make([]float64, n), Group: make([]int64, n), Weight: make([]float32, n)}
		size := map[int64]int{}
		for i := range n {
			in.Score[i], in.Label[i] = float64(rapid.IntRange(-2, 3).Draw(t, "score")), float64(rapid.IntRange(0, 4).Draw(t, "grade"))
			in.Group[i], in.Weight[i] = rapid.Int64Range(-1, 3).Draw(t, "group"), float32(rapid.IntRange(0, 3).Draw(t, "weight"))
			if size[in.Group[i]]++; size[in.Group[i]] > 6 { // orders are many
				in.Group[i] = int64(10 + i)
			}
		}
		for _, weight := range [][]float32{in.Weight, nil} {
			in := &Input{Score: in.Score, Label: in.Label, Group: in.Group, Weight: weight}
			for name, of := range map[string]func([]float64, int) float64{"ndcg": orderedGain, "map": orderedPrecision} {
				for text, k := range map[string]int{"": 1 << 30, "@1": 1, "@2": 2, "@3": 3, "@5": 5, "@10": 10} {
					m, err := Find(name + text)
					if err != nil {
						t.Fatal(err)
					}
					if got, want := m.Of(in), ofGroups(in, of, k); m.Name != name+text || !near(got, want) {
						t.Fatalf("%s is %v, want %v", m.Name, got, want)
					}
				}
			}
		}
	})
}

// TestRankingsOfOthers: values that scikit-learn 1.9 (ndcg_score of gains, ties included), LightGBM 4.7 and XGBoost 3.2 have.
func TestRankingsOfOthers(t *testing.T) {
	in := &Input{ // the second group is of nothing that is relevant; the third has two equal scores
		Score: []float64{0.9, 0.8, 0.7, 0.6, 0.5, 3, 2, 1, 0.5, 0.5, 0.4, 0.1},
		Label: []float64{0, 3, 1, 4, 0, 0, 0, 0, 2, 0, 1, 0},
		Group: []int64{1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 3},
	}
	first := &Input{Score: in.Score[:5], Label: in.Label[:5], Group: in.Group[:5]}
	two := &Input{Score: in.Score[:8], Label: in.Label[:8], Group: in.Group[:8]}
	tied := &Input{Score: in.Score[8:], Label: in.Label[8:], Group: in.Group[8:]}
	for _, c := range []struct {
		name string
		in   *Input
		want float64
	}{
		{"ndcg", first, 0.5712174287}, {"ndcg@1", first, 0}, {"ndcg@2", first, 0.2274615092}, {"ndcg@3", first, 0.2468559351}, // all three
		{"map@1", first, 0}, {"map@2", first, 0.25}, {"map@3", first, 0.3888888889}, {"map@10", first, 0.6388888889}, // LightGBM
		{"ndcg", two, 0.7856087144}, {"ndcg@1", two, 0.5}, {"ndcg@2", two, 0.6137307546}, {"ndcg@3", two, 0.6234279676},
		{"map@1", two, 0.5}, {"map@2", two, 0.625}, {"map@3", two, 0.6944444444}, {"map", two, 0.8194444444},
		{"ndcg", tied, 0.8114711191}, {"ndcg@1", tied, 0.5}, {"ndcg@2", tied, 0.6737653429}, // scikit-learn
	} {
		m, err := Find(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Of(c.in); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s of %d examples is %.7f, want %v", c.name, len(c.in.Score), got, c.want)
		}
	}
}

// TestNoGrades: labels below 0 and above 30 have no gains.
func TestNoGrades(t *testing.T) {
	for label, want := range map[float64]bool{-1: false, 0: true, 30: true, 31: false} {
		in := &Input{Score: []float64{1, 2}, Label: []float64{1, label}, Group: []int64{1, 1}}
		if got, _ := NDCG(in); math.IsNaN(got) == want {
			t.Errorf("NDCG of label %v is %v", label, got)
		}
	}
}

// TestPlaces: names of metrics of any number of places, and what is none.
func TestPlaces(t *testing.T) {
	for _, name := range []string{"ndcg@0", "ndcg@-1", "ndcg@", "ndcg@07", "ndcg@+7", "ndcg@7.0", "auc@5", "@5", "ndcg@99999999999999999999"} {
		if m, err := Find(name); err == nil {
			t.Errorf("%s is %s", name, m.Name)
		}
	}
	for _, name := range []string{"ndcg@7", "map@3", "ndcg@5"} {
		if m, err := Find(name); err != nil || m.Name != name || !m.For(Ranking) || !m.For(Regression) || !m.Groups || m.Better != Larger {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}
