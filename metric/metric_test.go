package metric

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

type measure func(score, label []float64) (float64, error)

func at(threshold float64) measure {
	return func(s, y []float64) (float64, error) { return Accuracy(s, y, threshold) }
}

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

func TestByHand(t *testing.T) {
	for _, tt := range []struct {
		name         string
		f            measure
		score, label []float64
		want         float64
	}{
		{"auc perfect", AUC, []float64{1, 2, 3, 4}, []float64{0, 0, 1, 1}, 1},
		{"auc reversed", AUC, []float64{4, 3, 2, 1}, []float64{-1, -1, 1, 1}, 0},
		{"auc one pair wrong", AUC, []float64{0.1, 0.4, 0.35, 0.8}, []float64{0, 0, 1, 1}, 0.75},
		{"auc all equal", AUC, []float64{5, 5, 5}, []float64{0, 1, 1}, 0.5},
		{"auc a tie", AUC, []float64{1, 2, 2, 3}, []float64{0, 0, 1, 1}, 0.875},
		{"auc zeros of both signs", AUC, []float64{math.Copysign(0, -1), 0}, []float64{0, 1}, 0.5},
		{"auc infinite", AUC, []float64{-inf, inf, inf}, []float64{0, 1, 0}, 0.75},
		{"auc no positive", AUC, []float64{1, 2}, []float64{0, -1}, nan},
		{"auc no negative", AUC, []float64{1, 2}, []float64{1, 1}, nan},
		{"auc of nothing", AUC, nil, nil, nan},
		{"logloss", LogLoss, []float64{0.9, 0.2}, []float64{1, 0}, -(math.Log(0.9) + math.Log(0.8)) / 2},
		{"logloss certain", LogLoss, []float64{1, 0}, []float64{1, -1}, 1e-15},
		{"logloss wrong", LogLoss, []float64{0}, []float64{1}, 15 * math.Ln10},
		{"logloss wrong, other class", LogLoss, []float64{1}, []float64{0}, -math.Log(9 * 0x1p-53)},
		{"margin 0", LogLossOfMargins, []float64{0, 0}, []float64{1, -1}, math.Ln2},
		{"margin large", LogLossOfMargins, []float64{800, -800}, []float64{-1, 1}, 800},
		{"margin right", LogLossOfMargins, []float64{800}, []float64{1}, 0},
		{"accuracy", at(0), []float64{1, -1, 0, 0}, []float64{1, 1, 1, -1}, 0.5},
		{"accuracy at half", at(0.5), []float64{0.6, 0.5, 0.4}, []float64{1, 0, 1}, 2. / 3},
		{"matches", Matches, []float64{0, 1, 2, 2}, []float64{0, 1, 2, 1}, 0.75},
		{"mse", MSE, []float64{1, 2, 3}, []float64{1, 4, 0}, 13. / 3},
		{"rmse", RMSE, []float64{1, 2}, []float64{4, 6}, math.Sqrt(12.5)},
		{"mae", MAE, []float64{1, 2, 3}, []float64{1, 4, 0}, 5. / 3},
		{"r2 perfect", R2, []float64{1, 2, 3}, []float64{1, 2, 3}, 1},
		{"r2 of the mean", R2, []float64{2, 2, 2}, []float64{1, 2, 3}, 0},
		{"r2", R2, []float64{1, 2, 5}, []float64{1, 2, 3}, -1},
		{"r2 equal labels", R2, []float64{1, 2}, []float64{0.1, 0.1}, nan},
		{"r2 of nothing", R2, nil, nil, nan},
		{"mae of nothing", MAE, nil, nil, nan},
	} {
		got, err := tt.f(tt.score, tt.label)
		if err != nil || math.Abs(got-tt.want) > 1e-12*max(1, tt.want) ||
			math.IsNaN(got) != math.IsNaN(tt.want) {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

func TestWrongArguments(t *testing.T) {
	for name, f := range map[string]measure{
		"auc": AUC, "logloss": LogLoss, "margins": LogLossOfMargins, "accuracy": at(0), "matches": Matches,
		"mse": MSE, "rmse": RMSE, "mae": MAE, "r2": R2,
	} {
		if _, err := f([]float64{0, 1}, []float64{1}); err == nil {
			t.Errorf("%s took 2 scores for 1 label", name)
		}
		if _, err := f([]float64{0, nan}, []float64{1, 0}); err == nil {
			t.Errorf("%s took a NaN score", name)
		}
		if _, err := f([]float64{0, 1}, []float64{1, nan}); err == nil {
			t.Errorf("%s took a NaN label", name)
		}
	}
	for _, p := range []float64{-0.1, 1.1, inf} {
		if _, err := LogLoss([]float64{p}, []float64{1}); err == nil {
			t.Errorf("logloss took probability %v", p)
		}
	}
}

// pairs is the definition of AUC.
func pairs(score, label []float64) float64 {
	wins, n := 0.0, 0.0
	for i, s := range score {
		for j, r := range score {
			if label[i] <= 0 || label[j] > 0 {
				continue
			}
			n++
			switch {
			case s > r:
				wins++
			case s == r:
				wins += 0.5
			}
		}
	}
	return wins / n
}

func TestAUCIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "n")
		kinds := rapid.IntRange(1, 100).Draw(t, "kinds")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		score, label := make([]float64, n), make([]float64, n)
		for i := range score {
			score[i], label[i] = float64(r.IntN(kinds))/7-3, float64(r.IntN(2)*2-1)
		}
		got, err := AUC(score, label)
		want := pairs(score, label)
		if err != nil || got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("%v, %v, want %v", got, err, want)
		}
		for i := range score { // any rising function of the scores gives the same
			score[i] = math.Atan(score[i])
		}
		if again, _ := AUC(score, label); again != got && !math.IsNaN(got) {
			t.Fatalf("%v behind a rising function, want %v", again, got)
		}
	})
}

func TestLogLossBothWays(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	margin, prob, label := make([]float64, 1000), make([]float64, 1000), make([]float64, 1000)
	for i := range margin {
		margin[i] = r.NormFloat64() * 5
		prob[i] = 1 / (1 + math.Exp(-margin[i]))
		label[i] = float64(r.IntN(2))
	}
	a, _ := LogLoss(prob, label)
	b, _ := LogLossOfMargins(margin, label)
	if math.Abs(a-b) > 1e-12 {
		t.Errorf("%v from probabilities, %v from margins", a, b)
	}
}

func BenchmarkAUC(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	score, label := make([]float64, 1<<20), make([]float64, 1<<20)
	for i := range score {
		score[i], label[i] = r.NormFloat64(), float64(r.IntN(2))
	}
	b.SetBytes(int64(len(score) * 16))
	for b.Loop() {
		if _, err := AUC(score, label); err != nil {
			b.Fatal(err)
		}
	}
}
