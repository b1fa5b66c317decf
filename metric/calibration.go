package metric

import "math"

// Bins is how many bins the calibration error is measured in.
const Bins = 20

var calibrationError = Metric{Name: "calibration-error",
	Help:  "mean difference of mean prediction and share of positives in 20 bins of equal counts",
	Tasks: []Task{Classification}, Better: Smaller, Probability: true, Of: func(in *Input) float64 {
		bins := in.Ranks().Bins(Bins)
		var all weighted
		for _, b := range bins {
			all.sum += math.Abs(b.Predicted - b.Positive)
			all.weight += b.Weight
		}
		return all.mean()
	}}

var calibrationRatio = Metric{Name: "calibration-ratio",
	Help:  "sum of the predictions over that of the labels: above 1 too much is predicted",
	Tasks: []Task{Classification}, Better: NearOne, Probability: true, Of: func(in *Input) float64 {
		if in.Probability == nil {
			return math.NaN()
		}
		predicted := in.mean(func(i int) float64 { return in.Probability[i] })
		actual := in.mean(func(i int) float64 { return truth(in.Label[i] > 0) })
		if actual == 0 {
			return math.NaN()
		}
		return predicted / actual
	}}

// Bin is examples of two classes whose scores are next to one another. All but the bounds are sums of weights, without weights
// numbers of examples.
type Bin struct {
	High, Low float64 // the scores at its ends
	Weight    float64
	Positive  float64 // of its positive examples
	Predicted float64 // of the predicted probabilities, each times its weight; NaN if they are not known
}

// Bins cuts the examples, from the highest score down, into n bins of as equal weights as can be without parting equal scores: the
// examples of a score are in the bin that the middle of their weight belongs to. Bins that stay empty are left out.
//
// The calibration error is the sum over the bins of |Predicted - Positive| over the sum of the weights: the expected calibration
// error of Naeini, Cooper and Hauskrecht (Obtaining Well Calibrated Probabilities Using Bayesian Binning, 2015), with bins of equal
// counts.
func (r *Ranks) Bins(n int) []Bin {
	positive, negative := r.Totals()
	total, last, was := positive+negative, -1, [2]float64{}
	var bins []Bin
	for i, s := range r.Score {
		now := [2]float64{r.Positive[i], r.Negative[i]}
		before, after := was[0]+was[1], now[0]+now[1]
		at := min(int((before+after)/2/total*float64(n)), n-1)
		if at != last {
			bins, last = append(bins, Bin{High: s}), at
		}
		b := &bins[len(bins)-1]
		b.Low = s
		b.Weight += after - before
		b.Positive += now[0] - was[0]
		if r.Probability == nil {
			b.Predicted = math.NaN()
		} else {
			b.Predicted += (after - before) * r.Probability[i]
		}
		was = now
	}
	return bins
}
