package curve

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"thole.example/metric"
)

// ten are examples by falling score: 4 positive and 6 negative ones, two pairs of equal scores.
func ten() *metric.Input {
	return &metric.Input{
		Score: []float64{0.1, 0.9, 0.8, 0.8, 0.7, 0.6, 0.5, 0.5, 0.3, 0.2},
		Label: []float64{0, 1, 1, 0, 1, 0, 0, 1, 0, 0},
	}
}

func close(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) < 1e-12 || math.IsNaN(x) && math.IsNaN(y) })
}

func TestCurvesByHand(t *testing.T) {
	r := ten().Ranks()
	// By score .9 .8 .7 .6 .5 .3 .2 .1: positives 1 2 3 3 4 4 4 4, negatives 0 1 1 2 3 4 5 6.
	for _, c := range []struct {
		name string
		got  Points
		x, y []float64
	}{
		{"roc", ROC(r, 100), []float64{0, 0, 1. / 6, 1. / 6, 2. / 6, 3. / 6, 4. / 6, 5. / 6, 1}, []float64{0, 0.25, 0.5, 0.75, 0.75, 1, 1, 1, 1}},
		{"pr", PrecisionRecall(r, 100), []float64{0, 0.25, 0.5, 0.75, 0.75, 1, 1, 1, 1}, []float64{1, 1, 2. / 3, 0.75, 0.6, 4. / 7, 0.5, 4. / 9, 0.4}},
		{"gain", Gain(r, 100), []float64{0, 0.1, 0.3, 0.4, 0.5, 0.7, 0.8, 0.9, 1}, []float64{0, 0.25, 0.5, 0.75, 0.75, 1, 1, 1, 1}},
		// Along the curve, which is 2 long, the points are at 0.25, 0.67, 0.92, 1.08, 1.5 and so on: the first beyond 1 is kept.
		{"roc of three", ROC(r, 3), []float64{0, 2. / 6, 1}, []float64{0, 0.75, 1}},
	} {
		if !close(c.got.X, c.x) || !close(c.got.Y, c.y) {
			t.Errorf("%s: %v, want %v %v", c.name, c.got, c.x, c.y)
		}
	}
}

func TestLiftByHand(t *testing.T) {
	// Five parts: .9 (middle at 0.05 of all), .8 twice (0.2: the second part), .7, .6, then .5 twice, .3, .2 and .1.
	got := Lift(ten().Ranks(), 5)
	want := [][]float64{ // weight, rate, lift, gain, lift of all before
		{1, 1, 2.5, 0.25, 2.5}, {3, 2. / 3, 5. / 3, 0.75, 1.875}, {1, 0, 0, 0.75, 1.5}, {3, 1. / 3, 5. / 6, 1, 1.25}, {2, 0, 0, 1, 1},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, p := range got {
		if !close([]float64{p.Weight, p.Rate, p.Lift, p.Gain, p.AllLift}, want[i]) {
			t.Errorf("part %d: %+v, want %v", i+1, p, want[i])
		}
	}
}

func TestThresholdsByHand(t *testing.T) {
	got := Thresholds(ten().Ranks(), 2)
	// Best is .7: 3 of 4 predicted are positive of 4, as many as 3/4 of both; then .6, where half are predicted positive, and the end.
	want := [][]float64{{0.7, 0.75, 0.75, 0.75, 0.8, 0.4}, {0.6, 0.6, 0.75, 2. / 3, 0.7, 0.5}, {0.1, 0.4, 1, 4. / 7, 0.4, 1}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, x := range got {
		if !close([]float64{x.At, x.Precision, x.Recall, x.F1, x.Accuracy, x.Predicted}, want[i]) || x.Best != (i == 0) ||
			!math.IsNaN(x.Probability) {
			t.Errorf("%+v, want %v", x, want[i])
		}
	}
}

func TestHistogramByHand(t *testing.T) {
	h := Predictions(ten().Ranks(), 4) // 0.1 to 0.9 by 0.2
	if !close(h.Edge, []float64{0.1, 0.3, 0.5, 0.7, 0.9}) || len(h.Weight) != 2 {
		t.Fatalf("%+v", h)
	}
	// Scores at an edge are above it up to rounding; the one on top is in the last bin.
	if n, p := h.Weight[0], h.Weight[1]; n[0]+n[1]+n[2]+n[3] != 6 || p[0]+p[1]+p[2]+p[3] != 4 || p[3] < 2 || n[0] < 2 {
		t.Errorf("%+v", h)
	}
	one := Predictions((&metric.Input{Score: []float64{2, 2}, Label: []float64{1, 0}}).Ranks(), 4)
	if !close(one.Edge, []float64{2, 2}) || !close(one.Weight[1], []float64{1}) {
		t.Errorf("of one number: %+v", one)
	}
}

func TestNumbersByHand(t *testing.T) {
	in := &metric.Input{Score: []float64{1, 2, 3, 4, 4}, Label: []float64{1, 4, 2, 3, 6}, Weight: []float32{1, 1, 1, 2, 0}}
	parts := ByPrediction(in, 2)
	want := []Values{{High: 4, Low: 4, Weight: 2, Predicted: 4, Actual: 3}, {High: 3, Low: 1, Weight: 3, Predicted: 2, Actual: 7. / 3}} // 3 is in the midst
	if len(parts) != 2 {
		t.Fatalf("%+v", parts)
	}
	for i, p := range parts {
		w := want[i]
		if !close([]float64{p.High, p.Low, p.Weight, p.Predicted, p.Actual}, []float64{w.High, w.Low, w.Weight, w.Predicted, w.Actual}) {
			t.Errorf("%+v, want %+v", p, w)
		}
	}
	// Errors 0, 2, -1 and, twice, -1; without the last example, which weighs nothing.
	e, size := ErrorsOf(in, false), ErrorsOf(in, true)
	for share, want := range map[float64][2]float64{0: {-1, 0}, 0.5: {-1, 1}, 0.6: {-1, 1}, 0.61: {0, 1}, 0.8: {0, 1}, 0.81: {2, 2}, 1: {2, 2}} {
		if a, b := e.Quantile(share), size.Quantile(share); a != want[0] || b != want[1] {
			t.Errorf("quantile %v: %v and %v, want %v", share, a, b, want)
		}
	}
	if h := e.Histogram(3, 0); !close(h.Edge, []float64{-1, 0, 1, 2}) || !close(h.Weight[0], []float64{3, 1, 1}) {
		t.Errorf("%+v", h)
	}
	if h := e.Histogram(2, 0.3); !close(h.Edge, []float64{-1, -0.5, 0}) || !close(h.Weight[0], []float64{3, 2}) {
		t.Errorf("without tails %+v", h) // 0 is at the upper end, and 2 beyond it
	}
}

func TestClassesByHand(t *testing.T) {
	in := &metric.Input{Classes: 3, Score: []float64{0, 1, 1, 0, 0}, Label: []float64{0, 0, 1, 1, 7}, Weight: []float32{1, 1, 1, 2, 1}}
	all, confusion := Classes(in)
	want := [][]float64{{2, 3, 1, 1. / 3, 0.5, 0.4}, {3, 2, 1, 0.5, 1. / 3, 0.4}, {0, 0, 0, math.NaN(), math.NaN(), math.NaN()}}
	for k, c := range all {
		if !close([]float64{c.Actual, c.Predicted, c.Hits, c.Precision, c.Recall, c.F1}, want[k]) {
			t.Errorf("class %d: %+v, want %v", k, c, want[k])
		}
	}
	if !close(slices.Concat(confusion...), []float64{1, 1, 0, 2, 1, 0, 0, 0, 0}) {
		t.Errorf("%v", confusion)
	}
	if all, confusion := Classes(&metric.Input{Classes: MatrixLimit + 1}); len(all) != MatrixLimit+1 || confusion != nil {
		t.Errorf("a matrix of %d classes", len(confusion))
	}
}

// TestEmpty draws nothing where there is nothing.
func TestEmpty(t *testing.T) {
	for _, in := range []*metric.Input{{}, {Score: []float64{1, 2}, Label: []float64{0, 0}}, {Score: []float64{1}, Label: []float64{1}, Weight: []float32{0}}} {
		r := in.Ranks()
		if ROC(r, 9).X != nil || PrecisionRecall(r, 9).X != nil || Gain(r, 9).X != nil || Lift(r, 9) != nil || Thresholds(r, 9) != nil {
			t.Errorf("%+v has curves", in)
		}
	}
	e := ErrorsOf(&metric.Input{}, true)
	if Predictions((&metric.Input{}).Ranks(), 4) != nil || e.Histogram(3, 0) != nil || !math.IsNaN(e.Quantile(0.5)) ||
		ByPrediction(&metric.Input{}, 3) != nil {
		t.Error("something of nothing")
	}
}

// TestThinning wants of every curve at most so many points, all of them of the whole curve and in its order, with both ends, and no
// gap that is much longer than the steps.
func TestThinning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n, kinds, most := rapid.IntRange(2, 3000).Draw(t, "n"), rapid.IntRange(1, 3000).Draw(t, "kinds"), rapid.IntRange(2, 300).Draw(t, "most")
		in := &metric.Input{}
		for range n {
			s := r.IntN(kinds)
			in.Score, in.Label = append(in.Score, float64(s)), append(in.Label, float64(r.IntN(2)))
			in.Weight = append(in.Weight, r.Float32())
		}
		for _, make := range []func(*metric.Ranks, int) Points{ROC, PrecisionRecall, Gain} {
			whole, thin := make(in.Ranks(), math.MaxInt), make(in.Ranks(), most)
			if len(whole.X) == 0 {
				continue
			}
			if len(thin.X) > most {
				t.Fatalf("%d points, want at most %d", len(thin.X), most)
			}
			length, widest, k := 0.0, 0.0, 0
			for i := 1; i < len(whole.X); i++ {
				length += whole.step(i)
				widest = max(widest, whole.step(i))
			}
			gap := 0.0
			for i := range whole.X {
				if i > 0 {
					gap += whole.step(i)
				}
				if k < len(thin.X) && whole.X[i] == thin.X[k] && whole.Y[i] == thin.Y[k] {
					if limit := 2*length/float64(most-1) + 2*widest; gap > limit+1e-9 {
						t.Fatalf("%v between points, want at most %v", gap, limit)
					}
					k, gap = k+1, 0
				}
			}
			if k != len(thin.X) || thin.X[k-1] != whole.X[len(whole.X)-1] {
				t.Fatalf("point %d is none of the curve", k)
			}
		}
	})
}

// TestAreas compares the area under curves with the metrics: ROC by trapezia, and steps of precision and recall.
func TestAreas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		in := &metric.Input{}
		for range rapid.IntRange(2, 200).Draw(t, "n") {
			in.Score, in.Label = append(in.Score, float64(r.IntN(40))), append(in.Label, float64(r.IntN(2)))
		}
		ranks := in.Ranks()
		roc, pr := ROC(ranks, math.MaxInt), PrecisionRecall(ranks, math.MaxInt)
		if roc.X == nil {
			return
		}
		area, steps := 0.0, 0.0
		for i := 1; i < len(roc.X); i++ {
			area += (roc.X[i] - roc.X[i-1]) * (roc.Y[i] + roc.Y[i-1]) / 2
			steps += (pr.X[i] - pr.X[i-1]) * pr.Y[i]
		}
		if math.Abs(area-ranks.AUC()) > 1e-12 || math.Abs(steps-ranks.AveragePrecision()) > 1e-12 {
			t.Fatalf("areas %v and %v, want %v and %v", area, steps, ranks.AUC(), ranks.AveragePrecision())
		}
	})
}
