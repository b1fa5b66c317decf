package train

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"thole.example/graph"
	"thole.example/loss"
	"thole.example/metric"
)

// bound is the loss of that name with its defaults.
func bound(t *testing.T, name string) graph.Loss {
	t.Helper()
	k, err := loss.Find(nil, name)
	if err != nil {
		t.Fatal(err)
	}
	l, err := k.Bind(nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestMetricNames wants of every loss the metrics that fit: those of probabilities only where the loss predicts some.
func TestMetricNames(t *testing.T) {
	const ranked, graded = "auc accuracy aupr precision recall f1 gauc", " ndcg ndcg@5 ndcg@10 map map@10"
	for name, want := range map[string]string{
		"logloss":          "logloss " + ranked + " calibration-error calibration-ratio",
		"hingeloss":        "hingeloss " + ranked,
		"crossentropyloss": "crossentropyloss auc accuracy logloss aupr precision recall f1 gauc calibration-error calibration-ratio",
		"softmaxloss":      "softmaxloss accuracy multi-logloss",
		"l2loss":           "l2loss rmse mae r2" + graded,
		"huberloss":        "huberloss rmse mae r2" + graded,
		"poissonloss":      "poissonloss rmse mae r2" + graded,
	} {
		l := bound(t, name)
		if got := strings.Join(MetricNames(l), " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if got := (&Scored{Loss: l}).Names(); slices.Contains(got, "gauc") {
			t.Errorf("%s without groups has %v", name, got)
		}
	}
	if Larger("logloss") || Larger("rmse") || Larger("hingeloss") || !Larger("auc") || !Larger("aupr") || !Larger("r2") {
		t.Error("Larger is not what the table says")
	}
}

// TestMeasureOne wants each metric by itself as it is among all, and errors for others.
func TestMeasureOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"logloss", "hingeloss", "softmaxloss", "l2loss"} {
		s := &Scored{Loss: bound(t, name)}
		width := 1
		if name == "softmaxloss" {
			width = 3
		}
		for i := range 50 {
			y := float32(i % 3)
			if name == "logloss" || name == "hingeloss" {
				y = float32(2*(i%2) - 1)
			}
			s.Label, s.Weight, s.Group = append(s.Label, y), append(s.Weight, r.Float32()), append(s.Group, int64(i/10))
			for range width {
				s.Score = append(s.Score, r.NormFloat64())
			}
		}
		all, err := Measure(s, s.Names()...)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if got, err := MeasureOne(s, m.Name); err != nil || got != m.Value {
				t.Errorf("%s: %s by itself is %v, %v, want %v", name, m.Name, got, err, m.Value)
			}
		}
		for _, wrong := range []string{"", "none", "ndcg@0"} {
			if v, err := MeasureOne(s, wrong); err == nil {
				t.Errorf("%s: %q is %v", name, wrong, v)
			}
		}
	}
}

// ordering is a loss of rankings.
type (
	other    = graph.Loss
	ordering struct{ other }
)

func (ordering) Name() string     { return "ndcgloss" }
func (ordering) Task() graph.Task { return graph.Ranking }

// TestRankings wants metrics of any number of places, those of the table first, and NaN without groups.
func TestRankings(t *testing.T) {
	l := ordering{bound(t, "l2loss")}
	if got := strings.Join(MetricNames(l), " "); got != "ndcgloss gauc ndcg ndcg@5 ndcg@10 map map@10" {
		t.Errorf("metrics %s", got)
	}
	s := &Scored{Loss: l, Score: []float64{3, 1, 2, 1}, Label: []float32{0, 1, 1, 0}, Group: []int64{1, 1, 2, 2}}
	m, err := Measure(s, "ndcg@7", "map@1", "ndcg@7", "map")
	if got := strings.Join(m.names(), " "); err != nil || got != "ndcgloss ndcg ndcg@10 map ndcg@7 map@1" {
		t.Errorf("%s, %v", got, err)
	}
	want := (1 + 1/math.Log2(3)) / 2
	if m.Get("ndcg") != want || m.Get("ndcgloss") != 1-want || m.Get("map@1") != 0.5 || m.Get("ndcg@7") != want {
		t.Errorf("%v, want ndcg %v", m, want)
	}
	for _, wrong := range []string{"ndcg@0", "auc@3", "rmse", "auc"} {
		if _, err := Measure(s, wrong); err == nil || HasMetric(l, wrong) {
			t.Errorf("%s is measured", wrong)
		}
	}
	if HasMetric(bound(t, "logloss"), "ndcg@7") || !HasMetric(bound(t, "logloss"), "auc") {
		t.Error("log loss has metrics of rankings, or none")
	}
	s.Loss = bound(t, "l2loss")
	if m, err = Measure(s, s.Names()...); err != nil || m.Get("ndcg") != want || len(m) != 9 {
		t.Errorf("grades as numbers: %v, %v", m, err)
	}
	if m, err = Measure(s); err != nil || strings.Join(m.names(), " ") != "l2loss rmse mae r2" {
		t.Errorf("usual metrics of numbers: %v, %v", m, err)
	}
	s.Label = []float32{0.5, 1, 1, -1}
	if got := strings.Join(s.Names(), " "); got != "l2loss rmse mae r2" {
		t.Errorf("numbers that are no grades have %s", got)
	}
	s.Loss, s.Label, s.Group = l, []float32{0, 1, 1, 0}, nil
	if loss, err := s.MeanLoss(); err != nil || !math.IsNaN(loss) {
		t.Errorf("loss without groups: %v, %v", loss, err)
	}
}

// TestMeasureWeights measures examples by weights as it measures them repeated, and by weights of 1 as without.
func TestMeasureWeights(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, k := range loss.Losses() {
		l, width := bound(t, k.Name), 1
		if l.Task() == graph.Multiclass {
			width = 3
		}
		s, ones, repeated := Scored{Loss: l}, Scored{Loss: l}, Scored{Loss: l}
		for range 300 {
			y, g, w := float32(r.IntN(2)), int64(r.IntN(20)), r.IntN(4)
			row := make([]float64, width)
			for j := range row {
				row[j] = float64(float32(r.Float64()))
			}
			s.Score, s.Label, s.Group, s.Weight = append(s.Score, row...), append(s.Label, y), append(s.Group, g), append(s.Weight, float32(w))
			for range w {
				repeated.Score, repeated.Label, repeated.Group = append(repeated.Score, row...), append(repeated.Label, y), append(repeated.Group, g)
			}
		}
		got, err := Measure(&s, s.Names()...)
		want, errWant := Measure(&repeated, repeated.Names()...)
		if err != nil || errWant != nil || len(got) != len(MetricNames(l)) {
			t.Fatalf("%s: %v, %v, %v", k.Name, got, err, errWant)
		}
		for i := range got {
			if strings.HasPrefix(got[i].Name, "ndcg") || strings.HasPrefix(got[i].Name, "map") {
				continue // of groups, which weights are of
			}
			if got[i].Name != want[i].Name || !(math.Abs(got[i].Value-want[i].Value) <= 1e-9*max(1, math.Abs(want[i].Value))) {
				t.Errorf("%s: %v by weights, want %v", k.Name, got[i], want[i])
			}
		}
		ones = s
		ones.Weight = slices.Repeat([]float32{1}, len(s.Label))
		s.Weight = nil
		a, _ := Measure(&s, s.Names()...)
		b, _ := Measure(&ones, s.Names()...)
		for i := range a {
			if !(math.Abs(a[i].Value-b[i].Value) <= 1e-12*max(1, math.Abs(a[i].Value))) {
				t.Errorf("%s: %v by weights of 1, want %v", k.Name, b[i], a[i])
			}
		}
	}
}

// TestWeighedLoss: the mean of the losses of parts, by their weights, is the loss of all; groups are in one part.
func TestWeighedLoss(t *testing.T) {
	for _, l := range []graph.Loss{bound(t, "logloss"), bound(t, "l2loss"), ordering{bound(t, "l2loss")}} {
		all := Scored{Loss: l, Score: []float64{3, 1, 2, 1, 5, 4, 2}, Label: []float32{0, 1, 1, 0, 0, 1, 1}, Group: []int64{1, 1, 2, 2, 3, 3, 3}}
		for _, weight := range [][]float32{nil, {0, 0, 1, 2, 4, 4, 4}} {
			all.Weight = weight
			var sum, weights float64
			for _, at := range [][2]int{{0, 2}, {2, 4}, {4, 7}} {
				lo, hi := at[0], at[1]
				s := Scored{Loss: l, Score: all.Score[lo:hi], Label: all.Label[lo:hi], Group: all.Group[lo:hi]}
				if weight != nil {
					s.Weight = weight[lo:hi]
				}
				loss, w, err := s.WeighedLoss()
				if err != nil {
					t.Fatal(err)
				}
				if w > 0 {
					sum, weights = sum+w*loss, weights+w
				}
			}
			want, whole, err := all.WeighedLoss()
			if err != nil || !(math.Abs(sum/weights-want) < 1e-12) || weights != whole {
				t.Errorf("%s, weights %v: %v of weight %v, want %v of %v: %v", l.Name(), weight, sum/weights, weights, want, whole, err)
			}
		}
	}
}

// TestMeasureMore measures by what is asked for beside the usual metrics, in the order of the table, and refuses what does not fit.
func TestMeasureMore(t *testing.T) {
	s := Scored{Loss: bound(t, "logloss"), Score: []float64{1, -1, 2, -2}, Label: []float32{1, 1, -1, -1}, Group: []int64{1, 1, 2, 2}}
	m, err := Measure(&s, "f1", "gauc", "aupr")
	if err != nil || strings.Join(m.names(), " ") != "logloss auc accuracy aupr f1 gauc" {
		t.Fatalf("%v, %v", m, err)
	}
	// By score 2 (no), 1 (yes), -1 (yes), -2 (no): precision 1/2 at the first positive and 2/3 at the second. Two are predicted
	// positive, of which one is. No group has both classes.
	if !(math.Abs(m.Get("aupr")-(0.5+2./3)/2) < 1e-15) || m.Get("f1") != 0.5 || !math.IsNaN(m.Get("gauc")) {
		t.Errorf("%v", m)
	}
	if _, err := Measure(&s, "aucc"); err == nil || !strings.Contains(err.Error(), "did you mean auc?") {
		t.Errorf("aucc: %v", err)
	}
	if _, err := Measure(&s, "rmse"); err == nil {
		t.Error("rmse of classes is taken")
	}
	s.Weight = []float32{1, 1, 1, -1}
	if _, err := Measure(&s); err == nil || !strings.Contains(err.Error(), "weight -1") {
		t.Errorf("weight -1: %v", err)
	}
}

// A training tells of the metrics that it was asked for, and stops by any of the table.
func TestWatchedMetrics(t *testing.T) {
	o := Options{Data: set(examples(60, 1)), Valid: set(examples(41, 2)), Epochs: 2, Batch: 10, Rate: rate(0.3), Seed: 7, Watch: true,
		Metrics: []string{"f1"}, Early: &Early{Metric: "aupr", Largest: true, Patience: 5}}
	reports, _ := (world{servers: 1, tasks: 2}).trained(t, o)
	if got := strings.Join(reports[0].Valid.names(), " "); got != "logloss auc accuracy aupr f1" {
		t.Errorf("valid %s", got)
	}
	o.Metrics = []string{"rmse"}
	if _, _, errs := (world{servers: 1, tasks: 1}).job(t, o); errs[0] == nil || !strings.Contains(errs[0].Error(), `"rmse"`) {
		t.Errorf("rmse of classes: %v", errs[0])
	}
}

// The names of tasks are one in both packages.
func TestTasksAlike(t *testing.T) {
	for a, b := range map[graph.Task]metric.Task{
		graph.Classification: metric.Classification, graph.Multiclass: metric.Multiclass, graph.Regression: metric.Regression,
	} {
		if string(a) != string(b) {
			t.Errorf("%s is %s", a, b)
		}
	}
}

// BenchmarkMeasure measures a million scores of two classes by all metrics, the loss and the probabilities among them.
func BenchmarkMeasure(b *testing.B) {
	r, n := rand.New(rand.NewPCG(1, 1)), 1_000_000
	k, err := loss.Find(nil, "logloss")
	if err != nil {
		b.Fatal(err)
	}
	l, err := k.Bind(nil)
	if err != nil {
		b.Fatal(err)
	}
	s := Scored{Loss: l, Score: make([]float64, n), Label: make([]float32, n), Group: make([]int64, n)}
	for i := range n {
		s.Score[i], s.Label[i], s.Group[i] = float64(float32(r.NormFloat64())), float32(r.IntN(2)), int64(r.IntN(50_000))
	}
	b.SetBytes(int64(n * 20))
	for b.Loop() {
		if _, err := Measure(&s, s.Names()...); err != nil {
			b.Fatal(err)
		}
	}
}
