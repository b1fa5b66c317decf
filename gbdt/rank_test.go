package gbdt

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"thole.example/data"
	"thole.example/metric"
)

// changes are |dNDCG| of all pairs of a group for the scores as they are, by writing down both orders; 0 of those that are not compared.
func changes(score []float64, label []float32, cut int, norm bool) [][]float64 {
	n := len(score)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score[b], score[a]) })
	dcg := func(order []int, places int) (sum float64) {
		for at, i := range order[:min(places, n)] {
			sum += (math.Pow(2, float64(label[i])) - 1) / math.Log2(float64(at+2))
		}
		return sum
	}
	ideal := slices.Clone(order)
	slices.SortFunc(ideal, func(a, b int) int { return cmp.Compare(label[b], label[a]) })
	all := make([][]float64, n)
	for i := range all {
		all[i] = make([]float64, n)
	}
	for a := range order {
		for b := a + 1; b < n && a < cut; b++ {
			other := slices.Clone(order)
			other[a], other[b] = other[b], other[a]
			d := math.Abs(dcg(order, n)-dcg(other, n)) / dcg(ideal, cut)
			if label[order[a]] == label[order[b]] {
				d = 0 // whatever the cut: also 0/0
			}
			if norm && score[order[0]] != score[order[n-1]] {
				d /= 0.01 + math.Abs(score[order[a]]-score[order[b]])
			}
			all[order[a]][order[b]], all[order[b]][order[a]] = d, d
		}
	}
	return all
}

// costs is the loss of which derivatives are taken, with those changes.
func costs(score []float64, label []float32, change [][]float64, sigmoid float64) (sum float64) {
	for i := range score {
		for j := range score {
			if label[i] > label[j] {
				sum += change[i][j] * math.Log1p(math.Exp(-sigmoid*(score[i]-score[j])))
			}
		}
	}
	return sum
}

// TestRankDerivatives compares derivatives with central differences of the loss, in which dNDCG stays as it is.
func TestRankDerivatives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		score, label := make([]float64, n), make([]float32, n)
		for i := range n {
			score[i], label[i] = float64(rapid.IntRange(-6, 6).Draw(t, "score"))/4, float32(rapid.IntRange(0, 4).Draw(t, "label"))
		}
		cut, sigmoid := rapid.IntRange(1, 14).Draw(t, "cut"), rapid.SampledFrom([]float64{0.5, 1, 2}).Draw(t, "sigmoid")
		norm := rapid.Bool().Draw(t, "norm")
		o, err := lambdarank.With(map[string]float64{"cut": float64(cut), "sigmoid": sigmoid, "norm": map[bool]float64{true: 1}[norm]})
		if err != nil {
			t.Fatal(err)
		}
		g, h := make([]float32, n), make([]float32, n)
		o.Rank(&o, score, label, g, h)
		change := changes(score, label, cut, norm)
		at := func(i int, by float64) float64 {
			moved := slices.Clone(score)
			moved[i] += by
			return costs(moved, label, change, sigmoid)
		}
		const step = 1e-4
		slope, bend, sum := make([]float64, n), make([]float64, n), 0.0
		for i := range n {
			slope[i] = (at(i, step) - at(i, -step)) / (2 * step)
			bend[i] = (at(i, step) - 2*at(i, 0) + at(i, -step)) / (step * step)
			for j := range n { // of each pair the sizes of both derivatives
				if label[i] > label[j] {
					sum += 2 * sigmoid * change[i][j] / (1 + math.Exp(sigmoid*(score[i]-score[j])))
				}
			}
		}
		scale := 1.0
		if norm && sum > 0 && slices.Max(score) > slices.Min(score) {
			scale = math.Log2(1+sum) / sum
		}
		for i := range n {
			if want := slope[i] * scale; math.Abs(float64(g[i])-want) > 1e-6*max(1, sum) {
				t.Fatalf("first derivative %d of %v, %v is %v, want %v", i, score, label, g[i], want)
			}
			if want := bend[i] * scale; math.Abs(float64(h[i])-want) > 1e-5*max(1, sum) {
				t.Fatalf("second derivative %d of %v, %v is %v, want %v", i, score, label, h[i], want)
			}
		}
	})
}

// TestRankByHand: two rows in the wrong order. NDCG changes by (1 - 1/log2(3)) of a gain of 1, p is 1/(1+exp(-2)).
func TestRankByHand(t *testing.T) {
	score, label, g, h := []float64{3, 1}, []float32{0, 1}, make([]float32, 2), make([]float32, 2)
	o, err := lambdarank.With(map[string]float64{"norm": 0})
	if err != nil {
		t.Fatal(err)
	}
	o.Rank(&o, score, label, g, h)
	p, d := 1/(1+math.Exp(-2)), 1-1/math.Log2(3)
	if math.Abs(float64(g[0])-p*d) > 1e-7 || g[1] != -g[0] || math.Abs(float64(h[0])-p*(1-p)*d) > 1e-7 || h[1] != h[0] {
		t.Errorf("%v, %v, want %v and %v", g, h, p*d, p*(1-p)*d)
	}
	for _, label := range [][]float32{{0, 0}, {2, 2}} {
		if o.Rank(&o, score, label, g, h); g[0] != 0 || g[1] != 0 || h[0] != 0 || h[1] != 0 {
			t.Errorf("labels %v: %v, %v, want nothing to learn", label, g, h)
		}
	}
	for _, wrong := range []map[string]float64{{"cut": 0}, {"norm": 2}, {"sigmoid": -1}, {"sigma": 1}} {
		if _, err := lambdarank.With(wrong); err == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
}

// queries is a ranking of so many groups, of 10 to 40 rows of 20 features, of which the last five are of the group: grades 0 to 4 are
// steps of a function of nine of them, and noise.
func queries(t *testing.T, seed uint64, groups int) *Examples {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	var text strings.Builder
	for q := range groups {
		var of [5]float64
		for k := range of {
			of[k] = r.NormFloat64()
		}
		for range 10 + r.IntN(31) {
			var x [20]float64
			for k := range x {
				if x[k] = r.NormFloat64(); k >= 15 {
					x[k] = of[k-15]
				}
				x[k] = math.Round(x[k]*1e4) / 1e4
			}
			s := x[0] + 0.7*x[1]*x[2] + math.Sin(2*x[3]) + 0.5*math.Abs(x[4]) + 0.5*x[6]*x[15] - 0.3*x[7]*x[7] + 0.8*x[16] + 0.9*r.NormFloat64()
			if x[5] > 0.5 {
				s += 0.6
			}
			grade := 0
			for _, from := range []float64{0.4, 1.3, 2.2, 3.2} {
				if s > from {
					grade++
				}
			}
			fmt.Fprintf(&text, "%d qid:%d", grade, q)
			for k, v := range x {
				if v != 0 {
					fmt.Fprintf(&text, " %d:%g", k+1, v)
				}
			}
			text.WriteByte('\n')
		}
	}
	in := data.Input{Name: "queries", Stream: strings.NewReader(text.String())}
	b, err := data.Load(context.Background(), in, data.Options{Format: "libsvm"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := data.Pack(b)
	if err != nil {
		t.Fatal(err)
	}
	return &Examples{Set: s, View: NewColumns(20, 0)}
}

// TestRankQuality ranks groups that were not learned from as well as LightGBM 4.7 does (lambdarank, 100 trees, rate 0.1, depth 6, 31
// leaves, lambda 1, 1 row and second derivatives of 0.001 in a leaf at least), and better than by the grades as numbers.
func TestRankQuality(t *testing.T) {
	learn, test := queries(t, 1, 400), queries(t, 2, 1000)
	b, err := Bin(context.Background(), learn, nil, 255, 2)
	if err != nil {
		t.Fatal(err)
	}
	ndcg, err := metric.Find("ndcg@10")
	if err != nil {
		t.Fatal(err)
	}
	of := func(objective string) float64 {
		conf := Defaults()
		conf.Objective, _ = FindObjective(objective)
		conf.Leaves, conf.MinWeight, conf.Cores = 31, 0.001, 2
		e, err := Train(context.Background(), b, &Labels{Label: learn.Set.Label, Group: learn.Set.Group}, conf, Options{})
		if err != nil {
			t.Fatal(err)
		}
		in := &metric.Input{Score: scores(e, test), Label: make([]float64, test.Len()), Group: test.Set.Group}
		for i, y := range test.Set.Label {
			in.Label[i] = float64(y)
		}
		return ndcg.Of(in)
	}
	rank, number := of("lambdarank"), of("l2")
	t.Logf("NDCG@10 %.5f, of l2 %.5f", rank, number)
	const lightGBM = 0.82599
	if rank < lightGBM-0.002 || rank <= number {
		t.Errorf("NDCG@10 %.5f, of l2 %.5f; LightGBM has %.5f", rank, number, lightGBM)
	}
}
