package data

import "math"

// A rate of clicks is reached by the mean of the true probabilities of some rows that no training has, by the term that is added to all
// log-odds: it is a function of the seed and the rate alone. Terms are multiples of rateStep, so that it is the same on every machine.
const (
	rateRows  = 100_000
	rateFirst = 1 << 39
	rateStep  = 1.0 / 4096
)

// WithRate has the share of positive labels be about the rate, which is above 0 and below 1.
func (m *ClickModel) WithRate(rate float64) { m.Bias += toRate(m, rate) }

// WithRate has the share of positive labels be about the rate, which is above 0 and below 1.
func (m *DeepClickModel) WithRate(rate float64) { m.bias += toRate(m, rate) }

// toRate is what the log-odds of all rows have to grow by.
func toRate(m interface {
	Batch(lo, hi int64) *Batch
	Truth(*Batch) []float64
}, rate float64) float64 {
	truth := m.Truth(m.Batch(rateFirst, rateFirst+rateRows))
	lo, hi := -64.0, 64.0
	for hi-lo > rateStep {
		by, sum := (lo+hi)/2, 0.0
		for _, p := range truth {
			sum += sigmoid(math.Log(p/(1-p)) + by)
		}
		if sum < rate*rateRows {
			lo = by
		} else {
			hi = by
		}
	}
	return hi
}
