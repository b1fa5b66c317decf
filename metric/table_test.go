package metric

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawn is an input of n examples whose scores have so many values; what a task does not have is left out.
func drawn(t *rapid.T, task Task) *Input {
	n, kinds := rapid.IntRange(0, 60).Draw(t, "n"), rapid.IntRange(1, 40).Draw(t, "kinds")
	return made(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), task, n, kinds)
}

func made(r *rand.Rand, task Task, n, kinds int) *Input {
	in := &Input{Score: make([]float64, n), Label: make([]float64, n), Weight: make([]float32, n), Threshold: 0.25}
	switch task {
	case Classification:
		in.Probability, in.Group = make([]float64, n), make([]int64, n)
	case Ranking:
		in.Group = make([]int64, n)
	case Multiclass:
		in.Classes, in.Probability = 3, make([]float64, 3*n)
	}
	for i := range n {
		in.Weight[i] = float32(r.IntN(4))
		switch task {
		case Classification:
			in.Score[i], in.Label[i] = float64(r.IntN(kinds))/7-2, float64(r.IntN(2)*2-1)
			in.Probability[i], in.Group[i] = 1/(1+math.Exp(-in.Score[i])), int64(r.IntN(5)-2)
		case Ranking:
			in.Score[i], in.Label[i], in.Group[i] = float64(r.IntN(kinds))/7-2, float64(max(0, r.IntN(6)-1)), int64(r.IntN(n/4+1))
		case Multiclass:
			in.Score[i], in.Label[i] = float64(r.IntN(3)), float64(r.IntN(3))
			a, b := r.Float64(), r.Float64()
			copy(in.Probability[3*i:], []float64{a * b, a * (1 - b), 1 - a})
		default:
			in.Score[i], in.Label[i] = float64(r.IntN(kinds))/7-2, float64(r.IntN(kinds))
		}
	}
	return in
}

// of are the examples of the input with those numbers, in that order, without weights.
func (in *Input) of(rows []int) *Input {
	out := &Input{Classes: in.Classes, Threshold: in.Threshold}
	for _, i := range rows {
		out.Score, out.Label = append(out.Score, in.Score[i]), append(out.Label, in.Label[i])
		if in.Group != nil {
			out.Group = append(out.Group, in.Group[i])
		}
		if w := max(1, in.Classes); in.Probability != nil {
			out.Probability = append(out.Probability, in.Probability[i*w:(i+1)*w]...)
		}
	}
	return out
}

func near(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-12*max(1, math.Abs(b))
}

func tasks() []Task { return []Task{Classification, Multiclass, Regression, Ranking} }

// TestDefinitions holds every metric of the table to its definition, written down as it is read, over examples that are repeated as
// often as their weight says and shuffled: weights are how many examples one stands for. Those of rankings are of groups: TestRankings.
func TestDefinitions(t *testing.T) {
	for _, task := range tasks() {
		if task == Ranking {
			continue
		}
		rapid.Check(t, func(t *rapid.T) {
			in := drawn(t, task)
			var rows []int
			for i, w := range in.Weight {
				for range int(w) {
					rows = append(rows, i)
				}
			}
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			plain := in.of(rows)
			for _, m := range Metrics() {
				if !m.For(task) {
					continue
				}
				want := definitions[m.Name](plain)
				if err := plain.Check(); err != nil {
					t.Fatal(err)
				}
				if got := m.Of(plain); !near(got, want) {
					t.Fatalf("%s is %v, want %v", m.Name, got, want)
				}
				if got := m.Of(in); !near(got, want) {
					t.Fatalf("%s with weights is %v, want %v", m.Name, got, want)
				}
			}
		})
	}
}

// definitions are the metrics without weights, one line of a textbook each.
var definitions = map[string]func(*Input) float64{
	"auc":  func(in *Input) float64 { return pairs(in.Score, in.Label) },
	"aupr": averagePrecision,
	"gauc": func(in *Input) float64 {
		sum, n := 0.0, 0.0
		for g := int64(-2); g < 3; g++ {
			var rows []int
			for i := range in.Group {
				if in.Group[i] == g {
					rows = append(rows, i)
				}
			}
			of := in.of(rows)
			if a := pairs(of.Score, of.Label); !math.IsNaN(a) {
				sum, n = sum+a*float64(len(rows)), n+float64(len(rows))
			}
		}
		return sum / n
	},
	"logloss": func(in *Input) float64 {
		return average(in, func(i int) float64 {
			if in.Label[i] > 0 {
				return -math.Log(in.Probability[i])
			}
			return -math.Log(1 - in.Probability[i])
		})
	},
	"multi-logloss": func(in *Input) float64 {
		return average(in, func(i int) float64 { return -math.Log(in.Probability[3*i+int(in.Label[i])]) })
	},
	"accuracy": func(in *Input) float64 {
		if in.Classes > 0 {
			return count(in, func(i int) bool { return in.Score[i] == in.Label[i] }) / float64(len(in.Label))
		}
		return count(in, func(i int) bool { return (in.Score[i] > 0.25) == (in.Label[i] > 0) }) / float64(len(in.Label))
	},
	"precision": func(in *Input) float64 {
		return count(in, func(i int) bool { return in.Score[i] > 0.25 && in.Label[i] > 0 }) / count(in, func(i int) bool { return in.Score[i] > 0.25 })
	},
	"recall": func(in *Input) float64 {
		return count(in, func(i int) bool { return in.Score[i] > 0.25 && in.Label[i] > 0 }) / count(in, func(i int) bool { return in.Label[i] > 0 })
	},
	"f1": func(in *Input) float64 {
		return 2 * count(in, func(i int) bool { return in.Score[i] > 0.25 && in.Label[i] > 0 }) /
			(count(in, func(i int) bool { return in.Score[i] > 0.25 }) + count(in, func(i int) bool { return in.Label[i] > 0 }))
	},
	"ndcg":              func(in *Input) float64 { return ofGroups(in, orderedGain, 1<<30) },
	"ndcg@5":            func(in *Input) float64 { return ofGroups(in, orderedGain, 5) },
	"ndcg@10":           func(in *Input) float64 { return ofGroups(in, orderedGain, 10) },
	"map":               func(in *Input) float64 { return ofGroups(in, orderedPrecision, 1<<30) },
	"map@10":            func(in *Input) float64 { return ofGroups(in, orderedPrecision, 10) },
	"calibration-error": binned,
	"calibration-ratio": func(in *Input) float64 {
		actual := count(in, func(i int) bool { return in.Label[i] > 0 })
		if actual == 0 {
			return math.NaN()
		}
		return average(in, func(i int) float64 { return in.Probability[i] }) * float64(len(in.Label)) / actual
	},
	"rmse": func(in *Input) float64 {
		return math.Sqrt(average(in, func(i int) float64 { return math.Pow(in.Score[i]-in.Label[i], 2) }))
	},
	"mae": func(in *Input) float64 {
		return average(in, func(i int) float64 { return math.Abs(in.Score[i] - in.Label[i]) })
	},
	"r2": func(in *Input) float64 {
		if len(slices.Compact(slices.Sorted(slices.Values(in.Label)))) < 2 {
			return math.NaN()
		}
		m := average(in, func(i int) float64 { return in.Label[i] })
		return 1 - average(in, func(i int) float64 { return math.Pow(in.Score[i]-in.Label[i], 2) })/
			average(in, func(i int) float64 { return math.Pow(in.Label[i]-m, 2) })
	},
}

func average(in *Input, term func(i int) float64) (sum float64) {
	for i := range in.Label {
		sum += term(i)
	}
	return sum / float64(len(in.Label))
}

func count(in *Input, is func(i int) bool) (n float64) {
	for i := range in.Label {
		n += truth(is(i))
	}
	return n
}

// averagePrecision goes through the scores as thresholds: the recall at each less that at the next higher one, times the precision.
func averagePrecision(in *Input) float64 {
	thresholds := slices.Compact(slices.Sorted(slices.Values(in.Score)))
	slices.Reverse(thresholds)
	sum, before := 0.0, 0.0
	all := count(in, func(i int) bool { return in.Label[i] > 0 })
	if all == 0 {
		return math.NaN()
	}
	for _, at := range thresholds {
		hit := count(in, func(i int) bool { return in.Score[i] >= at && in.Label[i] > 0 })
		sum += (hit/all - before) * hit / count(in, func(i int) bool { return in.Score[i] >= at })
		before = hit / all
	}
	return sum
}

// binned is the calibration error: an example is in the bin of the middle of those that have its score.
func binned(in *Input) float64 {
	var predicted, actual, size [Bins]float64
	for i, s := range in.Score {
		above := count(in, func(k int) bool { return in.Score[k] > s })
		same := count(in, func(k int) bool { return in.Score[k] == s })
		at := min(int((above+same/2)/float64(len(in.Label))*Bins), Bins-1)
		predicted[at] += in.Probability[i]
		actual[at] += truth(in.Label[i] > 0)
		size[at]++
	}
	sum := 0.0
	for k, n := range size {
		if n > 0 {
			sum += n / float64(len(in.Label)) * math.Abs(predicted[k]/n-actual[k]/n)
		}
	}
	if len(in.Label) == 0 {
		return math.NaN()
	}
	return sum
}

// TestTable holds the table to what others rely on.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for _, m := range Metrics() {
		if names[m.Name] || m.Help == "" || len(m.Tasks) == 0 || m.Better == "" || m.Of == nil || definitions[m.Name] == nil {
			t.Errorf("%+v", m)
		}
		names[m.Name] = true
		for _, task := range m.Tasks {
			if got := m.Of(&Input{}); !math.IsNaN(got) {
				t.Errorf("%s of nothing (%s): %v, want NaN", m.Name, task, got)
			}
		}
		if found, err := Find(m.Name); err != nil || found.Name != m.Name {
			t.Errorf("%s: found %v, %v", m.Name, found, err)
		}
		bare := &Input{Score: []float64{1, 2}, Label: []float64{0, 1}}
		if got := m.Of(bare); (m.Probability || m.Groups) && !math.IsNaN(got) {
			t.Errorf("%s without probabilities and groups: %v, want NaN", m.Name, got)
		}
	}
	if _, err := Find("aux"); err == nil || !strings.Contains(err.Error(), "did you mean auc?") {
		t.Errorf("aux: %v, want the nearest name", err)
	}
}

func TestWrongInput(t *testing.T) {
	one := []float64{1}
	for want, in := range map[string]*Input{
		"2 scores":         {Score: []float64{1, 2}, Label: one},
		"0 weights":        {Score: one, Label: one, Weight: []float32{}},
		"2 groups":         {Score: one, Label: one, Group: []int64{1, 2}},
		"2 probabilities":  {Score: one, Label: one, Probability: []float64{1, 0}},
		"1 probabilities":  {Score: one, Label: one, Probability: one, Classes: 3},
		"weight -1":        {Score: one, Label: one, Weight: []float32{-1}},
		"weight NaN":       {Score: one, Label: one, Weight: []float32{float32(nan)}},
		"weight +Inf":      {Score: one, Label: one, Weight: []float32{float32(inf)}},
		"probability NaN":  {Score: one, Label: one, Probability: []float64{nan}},
		"example 0 has sc": {Score: []float64{nan}, Label: one},
	} {
		if err := in.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestSameBits measures many examples on any number of processors.
func TestSameBits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, task := range tasks() {
		in := made(rand.New(rand.NewPCG(7, 7)), task, 100_001, 30_000)
		for _, weight := range [][]float32{nil, in.Weight} {
			first := map[string]uint64{}
			for _, n := range []int{1, 2, 5} {
				runtime.GOMAXPROCS(n)
				again := &Input{Score: in.Score, Label: in.Label, Probability: in.Probability, Classes: in.Classes, Group: in.Group, Weight: weight}
				for _, m := range Metrics() {
					if !m.For(task) {
						continue
					}
					got := math.Float64bits(m.Of(again))
					if want, ok := first[m.Name]; ok && got != want {
						t.Errorf("%s on %d processors: bits %x, want %x", m.Name, n, got, want)
					}
					first[m.Name] = got
				}
			}
		}
	}
}

// TestSorted sorts as the standard library does, whatever the numbers, equal ones as they stand.
func TestSorted(t *testing.T) {
	special := []float64{0, math.Copysign(0, -1), inf, -inf, math.MaxFloat64, -math.MaxFloat64, 5e-324, -5e-324, 1, -1}
	r := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{0, 1, 2, 100, 4095, 4096, 4097, 50_001} {
		for _, make := range []func() float64{
			func() float64 { return special[r.IntN(len(special))] },
			func() float64 { return math.Float64frombits(r.Uint64() &^ (1 << 62)) },
			func() float64 { return float64(float32(r.NormFloat64())) },
			func() float64 { return 3 },
		} {
			in := &Input{}
			var rows []int
			for i := range n {
				in.Score, in.Label = append(in.Score, make()), append(in.Label, float64(r.IntN(2)))
				rows = append(rows, i)
			}
			slices.SortStableFunc(rows, func(a, b int) int {
				switch x, y := in.Score[a], in.Score[b]; {
				case x > y:
					return -1
				case x < y:
					return 1
				}
				return 0
			})
			for i, e := range in.sorted() {
				if e.example() != rows[i] || e.positive() != (in.Label[rows[i]] > 0) || scoreOf(e.key) != in.Score[rows[i]] {
					t.Fatalf("%d examples: number %d is example %d of score %v, want %d of %v", n, i, e.example(), scoreOf(e.key), rows[i], in.Score[rows[i]])
				}
			}
		}
	}
}

func TestBins(t *testing.T) {
	// Ten examples, four of them with the score 5: of two bins the first gets what is above, and the four, whose middle is at 4 of 10.
	in := &Input{Score: []float64{9, 8, 5, 5, 5, 5, 4, 3, 2, 1}, Label: []float64{1, 0, 1, 1, 1, 0, 0, 1, 0, 0},
		Probability: []float64{0.9, 0.8, 0.5, 0.5, 0.5, 0.5, 0.4, 0.3, 0.2, 0.1}}
	got := in.Ranks().Bins(2)
	want := []Bin{{High: 9, Low: 5, Weight: 6, Positive: 4, Predicted: 3.7}, {High: 4, Low: 1, Weight: 4, Positive: 1, Predicted: 1}}
	for i := range want {
		if len(got) != 2 || !near(got[i].Predicted, want[i].Predicted) {
			t.Fatalf("%+v, want %+v", got, want)
		}
		got[i].Predicted = want[i].Predicted
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// BenchmarkAll measures a million examples of two classes by all metrics, with scores as networks give them.
func BenchmarkAll(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	n := 1_000_000
	in := Input{Score: make([]float64, n), Label: make([]float64, n), Probability: make([]float64, n), Group: make([]int64, n)}
	for i := range n {
		in.Score[i], in.Label[i], in.Group[i] = float64(float32(r.NormFloat64())), float64(r.IntN(2)), int64(r.IntN(50_000))
		in.Probability[i] = 1 / (1 + math.Exp(-in.Score[i]))
	}
	b.SetBytes(int64(n * 32))
	for b.Loop() {
		fresh := in // nothing is kept from the last time
		if err := fresh.Check(); err != nil {
			b.Fatal(err)
		}
		for _, m := range Metrics() {
			if m.For(Classification) {
				m.Of(&fresh)
			}
		}
	}
}
