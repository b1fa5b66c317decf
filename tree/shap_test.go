package tree

import (
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// expectation is the mean of a tree over rows of training that agree with the row in the known features.
func (t *Tree) expectation(child int32, row []float64, known uint, byWeight bool) float64 {
	if child < 0 {
		return t.LeafValue[^child]
	}
	f := t.Feature[child]
	l, r := t.Left[child], t.Right[child]
	if known>>f&1 == 1 {
		if t.GoesLeft(int(child), row[f]) {
			return t.expectation(l, row, known, byWeight)
		}
		return t.expectation(r, row, known, byWeight)
	}
	n, m, all := t.rows(l, byWeight), t.rows(r, byWeight), t.rows(child, byWeight)
	return n/all*t.expectation(l, row, known, byWeight) + m/all*t.expectation(r, row, known, byWeight)
}

// shapley is by its definition: the mean over all orders in which features become known of what each one changes.
func (e *Ensemble) shapley(row []float64) []float64 {
	n := e.Features.Width
	seen := make([]float64, len(row))
	for i, v := range row {
		seen[i] = e.Numbers.Value(v)
	}
	out := make([]float64, e.Classes*(n+1))
	orders := make([]float64, n+1)
	for i := range orders {
		orders[i] = 1
		for k := 2; k <= i; k++ {
			orders[i] *= float64(k)
		}
	}
	for c := range e.Classes {
		worth := make([]float64, 1<<n)
		for known := range worth {
			for _, t := range e.Scoring() {
				root := int32(0)
				if len(t.Feature) == 0 {
					root = ^0
				}
				if t.Class == c {
					worth[known] += t.expectation(root, seen, uint(known), e.Single)
				}
			}
			worth[known] += e.Start[c]
			if e.Mean && len(e.Scoring()) > 0 {
				worth[known] /= float64(len(e.Scoring()) / e.Group)
			}
		}
		phi := out[c*(n+1):]
		phi[n] = worth[0]
		for f := range n {
			for known := range worth {
				if k := bits.OnesCount(uint(known)); known>>f&1 == 0 {
					phi[f] += orders[k] * orders[n-k-1] / orders[n] * (worth[known|1<<f] - worth[known])
				}
			}
		}
	}
	return out
}

// TestContributions holds them to the definition of Shapley values, and their sum to the score.
func TestContributions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := drawing{features: 7, trees: 2, leaves: 24, sets: rapid.Bool().Draw(t, "sets"), levels: 40}.ensemble(t)
		if rapid.Bool().Draw(t, "empty leaves") {
			for i := range e.Trees {
				e.Trees[i].empty()
			}
		}
		x, err := NewExplainer(e)
		if err != nil {
			t.Fatal(err)
		}
		n := e.Features.Width
		for range 3 {
			row := drawRows(t, 1, n)
			want, got, score := e.shapley(row), make([]float64, e.Classes*(n+1)), make([]float64, e.Classes)
			x.Contributions(row, got)
			for i := range got {
				if !(math.Abs(got[i]-want[i]) < 1e-11) {
					t.Fatalf("row %v: %v, want %v", row, got, want)
				}
			}
			e.Score(row, score)
			for c := range score {
				sum, most := 0.0, 1e-11
				if e.Single {
					most = 1e-5
				}
				for _, v := range got[c*(n+1) : (c+1)*(n+1)] {
					sum += v
				}
				if !(math.Abs(sum-score[c]) < most) {
					t.Fatalf("row %v: contributions of class %d add up to %v, and the score is %v", row, c, sum, score[c])
				}
			}
		}
	})
}

// empty makes the lowest left child that is a leaf one to which no row came.
func (t *Tree) empty() {
	for n := len(t.Feature) - 1; n > 0; n-- {
		if l := ^t.Left[n]; l >= 0 && t.Right[n] < 0 {
			t.LeafCount[l], t.LeafWeight[l] = 0, 0
			t.Count[n], t.Weight[n] = t.LeafCount[^t.Right[n]], t.LeafWeight[^t.Right[n]]
			for up := n - 1; up >= 0; up-- {
				t.Count[up] = t.count(t.Left[up]) + t.count(t.Right[up])
				t.Weight[up] = t.weight(t.Left[up]) + t.weight(t.Right[up])
			}
			return
		}
	}
}

// TestContributionsByHand is a tree of one split and one of two of the same feature.
func TestContributionsByHand(t *testing.T) {
	e := two()
	x, err := NewExplainer(e)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float64, 3)
	x.Contributions([]float64{31, 1}, got)
	// Of 10 rows 4 come to the leaf of 2, 2 to that of -1 (of 6), 4 to that of 0.5. Known age: 2. Known town 1 (not in the set):
	// (6*0.5 + 4*2)/10 = 1.1.
	// None: (-2 + 2 + 8)/10 = 0.8. Age is worth (1.2 + 0.9)/2, the town (0.3 + 0)/2.
	for i, want := range []float64{1.05, 0.15, 0.8 + 0.125 + 0.25} {
		if math.Abs(got[i]-want) > 1e-15 {
			t.Errorf("%v, want %v at %d", got, want, i)
		}
	}
}

// TestContributionsRefused: without counts there is nothing to go by, and of what is too deep the time and memory are not spent.
func TestContributionsRefused(t *testing.T) {
	e := two()
	clear(e.Trees[0].Count)
	if _, err := NewExplainer(e); !errors.Is(err, ErrCounts) {
		t.Errorf("no counts: %v", err)
	}
	e = two()
	e.Single = true
	e.Trees[0].LeafWeight[1] = math.NaN()
	if _, err := NewExplainer(e); !errors.Is(err, ErrCounts) {
		t.Errorf("a weight that is none: %v", err)
	}
	e = chain(pathLimit + 1)
	if _, err := NewExplainer(e); err == nil {
		t.Error("a path that is too long is taken")
	}
	e = chain(pathLimit)
	x, err := NewExplainer(e)
	if err != nil {
		t.Fatal(err)
	}
	out, score := make([]float64, e.Features.Width+1), []float64{0}
	row := make([]float64, e.Features.Width)
	for i := range row {
		row[i] = -1
	}
	x.Contributions(row, out)
	sum := 0.0
	for _, v := range out {
		sum += v
	}
	if e.Score(row, score); math.Abs(sum-score[0]) > 1e-9 {
		t.Errorf("contributions of a long path add up to %v, and the score is %v", sum, score[0])
	}
}

// chain is a tree that asks for as many features one after the other as it has splits.
func chain(n int) *Ensemble {
	e := &Ensemble{Objective: Objective{Link: Identity}, Classes: 1, Group: 1, Start: []float64{0}, Features: Features{Width: n}}
	t := Tree{Threshold: make([]float64, n), Kind: make([]Kind, n), Gain: make([]float64, n), Value: make([]float64, n),
		Weight: make([]float64, n), LeafWeight: make([]float64, n+1)}
	for i := range n {
		t.Feature, t.Left, t.Right = append(t.Feature, int32(i)), append(t.Left, int32(i+1)), append(t.Right, int32(^i))
		t.LeafValue, t.LeafCount, t.Count = append(t.LeafValue, float64(i%3)), append(t.LeafCount, 1), append(t.Count, int64(n+1-i))
	}
	t.Left[n-1] = int32(^n)
	t.LeafValue, t.LeafCount = append(t.LeafValue, 5), append(t.LeafCount, 1)
	e.Trees = []Tree{t}
	return e
}

func BenchmarkContributions(b *testing.B) {
	for name, e := range map[string]*Ensemble{"depth=6": grown(28, 100, 6, 0), "leaves=31": grown(28, 100, 0, 31)} {
		b.Run(name, func(b *testing.B) {
			x, err := NewExplainer(e)
			if err != nil {
				b.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(7, 8))
			row, out := make([]float64, 28), make([]float64, 29)
			for i := range row {
				row[i] = float64(float32(rng.NormFloat64()))
			}
			for b.Loop() {
				x.Contributions(row, out)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
