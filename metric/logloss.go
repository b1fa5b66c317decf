package metric

import (
	"fmt"
	"math"
)

// Tiny is how near to 0 and 1 LogLoss lets a probability come: a certain answer that is wrong costs ln(1e15), about
// 34.5, instead of infinity.
const Tiny = 1e-15

// LogLoss is the mean of -ln of the probability given to the true class. Probabilities, of the positive class, are in
// [0,1], anything else is an error, and are moved to [Tiny, 1-Tiny]. Where margins are at hand, LogLossOfMargins is more
// exact.
func LogLoss(probability, label []float64) (float64, error) {
	for i, p := range probability {
		if p < 0 || p > 1 {
			return 0, fmt.Errorf("metric: example %d has probability %v, want 0 to 1", i, p)
		}
	}
	return mean(probability, label, func(p, y float64) float64 {
		p = min(max(p, Tiny), 1-Tiny)
		if y > 0 {
			return -math.Log(p)
		}
		return -math.Log1p(-p)
	})
}

// LogLossOfMargins is the mean of ln(1+exp(-m)) with m the margin, its sign turned for negative examples: the log loss
// of the probabilities 1/(1+exp(-margin)), computed without overflow or cancellation and not clamped.
func LogLossOfMargins(margin, label []float64) (float64, error) {
	return mean(margin, label, func(m, y float64) float64 {
		if y <= 0 {
			m = -m
		}
		return max(-m, 0) + math.Log1p(math.Exp(-math.Abs(m)))
	})
}
