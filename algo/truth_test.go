package algo

import (
	"math"
	"slices"
	"testing"

	"thole.example/algo/algotest"
	"thole.example/data"
	"thole.example/metric"
	"thole.example/optim"
	"thole.example/psf"
)

// Sizes of the examples: see clicks.
const (
	clickRows = 40 * 512
	valueRows = 16 * 128
	dims      = 64 // weights and bias of a law
)

// The defaults find the weights that clicks were drawn with, as far as they can be known: by Wilks's theorem twice the sum of the
// losses falls below that of the truth by chi square of as many degrees of freedom as there are weights, 64 with a deviation of
// sqrt(128), and on other examples it is above by as much. Beside the limits that do not follow stands the worst of 100 draws.
func TestLRTruth(t *testing.T) {
	for seed := range *seeds {
		w, b := clicks(clickRows, 2*seed)
		_, held := clicks(clickRows, 2*seed+1)
		got := train(t, lr, b, b.Dim(), nil, nil).weight()
		p, q := &algotest.Problem{Data: b, Loss: algotest.Log}, &algotest.Problem{Data: held, Loss: algotest.Log}
		between(t, "fall of twice the sum of losses below the truth", 2*clickRows*(p.Value(w)-p.Value(got)), dims-60, dims+51)
		between(t, "held-out logloss above the truth", q.Value(got)-q.Value(w), 0, 0.004) // mean 0.0016; 0.0006 to 0.0032
		between(t, "auc below the truth", lacks(t, metric.AUC, held, w, got), 0, 0.004)   // 0.0005 to 0.0026
		between(t, "farthest weight, in standard errors", w.farthest(p, 1, got), 0, 5)    // 4.4
		between(t, "surplus of predictions", measure(t, surplus, b, got), -0.01, 0.01)    // of the optimum 0; 0.0072
		between(t, "surplus, held-out", measure(t, surplus, held, got), -0.015, 0.015)    // 0.0106
	}
}

// The defaults find the weights that values were drawn with, beside the least squares: the mean square of what is left is below
// the noise by 64/rows with a deviation of sqrt(128)/rows, and on other examples above it by as much. R2 is less than that of the
// truth by this times the share of the noise in the labels.
func TestLinRegTruth(t *testing.T) {
	const share, deviation = dims / float64(valueRows), 11.3 / valueRows
	for seed := range *seeds {
		w, b := values(valueRows, 2*seed)
		_, held := values(valueRows, 2*seed+1)
		got := train(t, linreg, b, b.Dim(), nil, nil).weight()
		p, mse := &algotest.Problem{Data: b, Loss: algotest.Squares}, measure(t, metric.MSE, held, got)
		between(t, "mse above the least", p.Value(got)/p.Least(t)-1, -1e-9, 2e-4) // 3e-5
		between(t, "mse over that of the truth", p.Value(got)/p.Value(w), 1-share-4.5*deviation, 1-share+4.5*deviation)
		between(t, "the same, held-out", mse/measure(t, metric.MSE, held, w), 1, 1+2.2*share) // 1.004 to 1.055
		between(t, "mse over the noise, held-out", mse/(noise*noise), 0.9, 1.15)              // 0.94 to 1.10
		between(t, "r2 below the truth", lacks(t, metric.R2, held, w, got), 0, 0.035)         // mean 0.013; 0.002 to 0.024
		between(t, "farthest weight, in standard errors", w.farthest(p, noise, got), 0, 5)    // 4.1
	}
}

// The defaults give as many right answers as the true weights, and all of them where a line divides the classes. How near they
// come to the least hinge loss is seen by TestRulesTruth.
func TestSVMTruth(t *testing.T) {
	for seed := range *seeds {
		w, b := clicks(clickRows, 2*seed)
		_, held := clicks(clickRows, 2*seed+1)
		got := train(t, svm, b, b.Dim(), nil, nil).weight()
		between(t, "accuracy below the truth", lacks(t, accuracy, held, w, got), -0.005, 0.01) // -0.0018 to 0.0041
		between(t, "auc below the truth", lacks(t, metric.AUC, held, w, got), 0, 0.005)        // 0.0007 to 0.0029

		var clear []int
		scores := algotest.Scores(b, w)
		for i, s := range scores {
			if math.Abs(s) > 0.5 {
				clear = append(clear, i)
			}
		}
		apart := rows(b, clear)
		for i, row := range clear {
			apart.Label[i] = float32(side(scores[row] > 0))
		}
		got = train(t, svm, apart, b.Dim(), nil, nil).weight()
		between(t, "accuracy where a line divides the classes", measure(t, accuracy, apart, got), 1, 1)
	}
}

// above is how far above the least loss the rules may end at their own rates, in percent: half as much again as the worst of 100
// draws, and something for what is next to nothing. A rule that is not here may end 5 % above.
var above = map[string]map[string]float64{
	"sgd":      {"lr": 4.5, "svm": 2.8, "linreg": 0.6},
	"momentum": {"lr": 2.3, "svm": 1.1, "linreg": 0.02},
	"nesterov": {"lr": 0.1, "svm": 0.3, "linreg": 0.02},
	"adagrad":  {"lr": 0.1, "svm": 0.2, "linreg": 0.02},
	"rmsprop":  {"lr": 0.1, "svm": 0.2, "linreg": 0.03, "poisson": 10},
	"adadelta": {"lr": 0.1, "svm": 0.2, "linreg": 0.15},
	"adamw":    {"lr": 0.1, "svm": 0.2, "linreg": 0.02},
	"amsgrad":  {"lr": 0.1, "svm": 0.25, "linreg": 0.02},
	"adam":     {"lr": 0.1, "svm": 0.2, "linreg": 0.02},
	"ftrl":     {"lr": 2.4, "svm": 1.2, "linreg": 0.02},
}

// Whatever rule the user chooses, its defaults bring every recipe near the least loss there is.
func TestRulesTruth(t *testing.T) {
	for seed := range *seeds {
		for name, loss := range algotest.Losses() {
			a, b := recipe(t, name), drawn(name, clickRows, 2*seed)
			p := &algotest.Problem{Data: b, Loss: loss, L2: a.Defaults.Hyper["l2"]}
			least := p.Least(t)
			for _, rule := range optim.Rules() {
				limit, ok := above[rule.Name][name]
				if !ok {
					limit = 5
				}
				got := by(t, a, rule.Name, nil, b).weight()
				between(t, name+" with "+rule.Name+", percent above the least", 100*(p.Value(got)/least-1), 0, limit)
			}
		}
	}
}

func recipe(t *testing.T, name string) *Algo {
	t.Helper()
	a, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// by trains with a rule as the user does who chooses nothing else but its settings.
func by(t *testing.T, a *Algo, rule string, hyper map[string]float64, b *data.Batch) *job {
	t.Helper()
	m, err := a.Build(Conf{Dim: b.Dim(), Rule: rule, Hyper: hyper})
	if err != nil {
		t.Fatal(err)
	}
	j := begin(t, m)
	j.fit(b, a.For(nil, rule))
	return j
}

// Penalties weigh as much as they say beside the mean loss, and leave the bias alone: with strong ones the rules end within 0.5 %
// of the least regularised loss (worst of 100 draws: 0.23). For losses without kinks that follows from the slope where they end,
// without any search.
func TestPenaltiesTruth(t *testing.T) {
	const l1, l2 = 0.05, 0.1
	for seed := range *seeds {
		for name, loss := range algotest.Losses() {
			if name == "poisson" {
				continue // other rates say nothing else about penalties
			}
			a, b := recipe(t, name), drawn(name, clickRows/4, 2*seed)
			above := func(p *algotest.Problem, w []float64) float64 { return p.Gap(w) }
			if name == "svm" {
				least := (&algotest.Problem{Data: b, Loss: loss, L2: l2}).Least(t)
				above = func(p *algotest.Problem, w []float64) float64 { return p.Value(w) - least }
			}
			for _, rule := range optim.Rules() {
				if rule.Name == "ftrl" {
					continue // its penalties stand beside the sum of all losses: TestFTRLTruth
				}
				if has(rule, "l2") {
					p := &algotest.Problem{Data: b, Loss: loss, L2: l2}
					got := by(t, a, rule.Name, map[string]float64{"l2": l2}, b).weight()
					between(t, name+" with "+rule.Name+" and l2, percent above the least", 100*above(p, got)/p.Value(got), 0, 0.5)
				}
				if has(rule, "l2") && has(rule, "l1") && name != "svm" {
					p := &algotest.Problem{Data: b, Loss: loss, L1: l1, L2: l2}
					got := by(t, a, rule.Name, map[string]float64{"l1": l1, "l2": l2}, b).weight()
					between(t, name+" with "+rule.Name+" and both, percent above the least", 100*above(p, got)/p.Value(got), 0, 0.5)
					if !slices.Contains(got, 0) {
						t.Errorf("%s with %s: l1 brings no zero", name, rule.Name)
					}
				}
			}
		}
	}
}

func has(rule psf.Rule, setting string) bool {
	return slices.ContainsFunc(rule.Hyper, func(h psf.Hyper) bool { return h.Name == setting })
}

// FTRL takes out what has no effect, exactly, and keeps what has. The gradients of a column without effect add up to a number of
// deviation sqrt(sum of x^2)/2 at most, so 5 of that is an l1 that holds all of them at zero; those of a column with effect have
// to come to about w*p*(1-p)*(sum of x^2), from twice l1 on enough to be told from what the other weights bring while they are
// not yet right (worst of 100 draws: 1.74). By batches, what adds up are means, once in each epoch.
func TestFTRLTruth(t *testing.T) {
	for seed := range *seeds {
		w, b := clicks(16*512, seed)
		square, idle := make([]float64, len(w)), 0.0
		for i, c := range b.Rows().Idx {
			square[c] += float64(b.Rows().Val[i] * b.Rows().Val[i])
		}
		for c, v := range square {
			if w[c] == 0 {
				idle = max(idle, math.Sqrt(v)/2)
			}
		}
		batches := float64(lr.Defaults.Epochs) / float64(lr.Defaults.Batch)
		check := func(what string, l1, times float64, j *job) {
			t.Helper()
			kept := 0.0
			for c, v := range wide(j.weights("input_weight")) {
				switch {
				case w[c] == 0 && v != 0:
					t.Errorf("%s: weight %d, without effect, is %v, want 0", what, c, v)
				case times*0.2*math.Abs(w[c])*square[c] > 2*l1 && v*w[c] <= 0:
					t.Errorf("%s: weight %d is %v, want it to be like %v", what, c, v, w[c])
				case v != 0:
					kept++
				}
			}
			between(t, what+", weights kept", kept, 5, dims) // at least 7
		}
		pass := func(l1 float64) *job {
			m, err := lr.Build(Conf{Dim: b.Dim(), Rule: "ftrl", Hyper: map[string]float64{"l1": l1}})
			if err != nil {
				t.Fatal(err)
			}
			j := begin(t, m)
			j.epoch(cut(b, 1, false), 0.1)
			return j
		}
		check("one pass row by row", 5*idle, 1, pass(5*idle))
		check("by batches", 5*idle*batches, batches, by(t, &lr, "ftrl", map[string]float64{"l1": 5 * idle * batches}, b))

		free := pass(0)
		if slices.Contains(free.weights("input_weight"), 0) {
			t.Error("ftrl brings zeros without l1")
		}
		p := &algotest.Problem{Data: b, Loss: algotest.Log, L2: 1e-5}
		between(t, "one pass without l1, percent above the least loss", 100*(p.Value(free.weight())/p.Least(t)-1), 0, 5)
	}
}
