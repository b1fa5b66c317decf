package metric

import "math"

var auc = Metric{Name: "auc", Help: "area under the ROC curve: the share of pairs of a positive and a negative example that are in order",
	Tasks: []Task{Classification}, Better: Larger, Usual: true, Of: func(in *Input) float64 { return in.Ranks().AUC() }}

var aupr = Metric{Name: "aupr", Help: "average precision: the precision at each score, weighted by the recall that it adds",
	Tasks: []Task{Classification}, Better: Larger, Of: func(in *Input) float64 { return in.Ranks().AveragePrecision() }}

// AUC is the area under the ROC curve: the part of all pairs of a positive and a negative example in which the positive
// one has the higher score, pairs of equal scores counting half. It is exact, counted in integers, whatever the ties
// and the order of the examples; infinite scores are fine. It is NaN if a class is missing. Time O(n).
func AUC(score, label []float64) (float64, error) {
	return plain(&auc, &Input{Score: score, Label: label})
}

// AUC is the area under the ROC curve, each pair weighing what its examples weigh together as a product; without weights it is
// exact, as it is counted in integers. It is NaN if a class is missing.
func (r *Ranks) AUC() float64 {
	positive, negative := r.Totals()
	if positive == 0 || negative == 0 {
		return math.NaN()
	}
	if r.whole {
		return float64(r.wins()) / 2 / (positive * negative)
	}
	wins, above, below := 0.0, 0.0, negative
	for i, p := range r.Positive {
		next := negative - r.Negative[i]
		wins += (p - above) * (below + next) / 2
		above, below = p, next
	}
	return wins / (positive * negative)
}

// wins is twice the number of pairs won: each positive wins 2 of every negative below it and 1 of every equal one. It fits for up to
// 2^32 examples.
func (r *Ranks) wins() (n uint64) {
	_, negative := r.Totals()
	above, below := uint64(0), uint64(negative)
	for i, p := range r.Positive {
		next := uint64(negative) - uint64(r.Negative[i])
		n += (uint64(p) - above) * (below + next)
		above, below = uint64(p), next
	}
	return n
}

// AveragePrecision is the sum over the different scores, from the highest one down, of the precision at it times the recall that it
// adds: what scikit-learn calls average_precision_score, without interpolation. It is NaN if no example is positive.
func (r *Ranks) AveragePrecision() float64 {
	positive, _ := r.Totals()
	sum, above := 0.0, 0.0
	for i, p := range r.Positive {
		if p > above {
			sum += (p - above) * (p / (p + r.Negative[i]))
			above = p
		}
	}
	return sum / positive
}
