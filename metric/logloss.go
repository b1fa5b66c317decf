package metric

import (
	"fmt"
	"math"
)

var logLoss = Metric{Name: "logloss", Help: "mean of -ln of the probability that was given to the true class",
	Tasks: []Task{Classification}, Better: Smaller, Probability: true, Of: func(in *Input) float64 {
		if in.Probability == nil {
			return math.NaN()
		}
		return in.mean(func(i int) float64 { return surprise(in.Probability[i], in.Label[i]) })
	}}

var multiLogLoss = Metric{Name: "multi-logloss",
	Help:  "mean of -ln of the probability that was given to the true class, of several classes",
	Tasks: []Task{Multiclass}, Better: Smaller, Probability: true, Of: func(in *Input) float64 {
		if in.Probability == nil || in.Classes == 0 {
			return math.NaN()
		}
		return in.mean(func(i int) float64 {
			y := in.Label[i]
			if !(y >= 0 && y < float64(in.Classes)) || y != math.Trunc(y) {
				return math.NaN()
			}
			return surprise(in.Probability[i*in.Classes+int(y)], 1)
		})
	}}

// Tiny is how near to 0 and 1 LogLoss lets a probability come: a certain answer that is wrong costs ln(1e15), about
// 34.5, instead of infinity.
const Tiny = 1e-15

// surprise is -ln of the probability of the true class, p being that of the positive one; NaN if p is none.
func surprise(p, label float64) float64 {
	if !(p >= 0 && p <= 1) {
		return math.NaN()
	}
	p = min(max(p, Tiny), 1-Tiny)
	if label > 0 {
		return -math.Log(p)
	}
	return -math.Log1p(-p)
}

// LogLoss is the mean of -ln of the probability given to the true class. Probabilities, of the positive class, are in
// [0,1], anything else is an error, and are moved to [Tiny, 1-Tiny]. Where margins are at hand, LogLossOfMargins is more
// exact.
func LogLoss(probability, label []float64) (float64, error) {
	for i, p := range probability {
		if p < 0 || p > 1 {
			return 0, fmt.Errorf("metric: example %d has probability %v, want 0 to 1", i, p)
		}
	}
	return plain(&logLoss, &Input{Score: probability, Probability: probability, Label: label})
}

// LogLossOfMargins is the mean of ln(1+exp(-m)) with m the margin, its sign turned for negative examples: the log loss
// of the probabilities 1/(1+exp(-margin)), computed without overflow or cancellation and not clamped.
func LogLossOfMargins(margin, label []float64) (float64, error) {
	in := &Input{Score: margin, Label: label}
	if err := in.Check(); err != nil {
		return 0, err
	}
	return in.mean(func(i int) float64 {
		m := margin[i]
		if label[i] <= 0 {
			m = -m
		}
		return max(-m, 0) + math.Log1p(math.Exp(-math.Abs(m)))
	}), nil
}
