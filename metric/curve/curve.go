// Package curve has what reports on predictions draw and list: curves over all thresholds, tables of tenths, histograms, quantiles
// and what becomes of classes. It computes; package chart draws. All are exact sums over the examples, with their weights where there
// are any, and the same whatever processors there are. Curves of many points are thinned: what is left are points of the curve.
package curve

import (
	"math"

	"thole.example/metric"
)

// Points is a curve.
type Points struct{ X, Y []float64 }

func (p *Points) add(x, y float64) { p.X, p.Y = append(p.X, x), append(p.Y, y) }

// thin keeps the two ends and of the others those that lie about evenly along the curve, most points at most (2 or more). Lengths
// are those along the axes, by each of which a curve goes about as far as 1.
func (p Points) thin(most int) Points {
	n := len(p.X)
	if n <= most {
		return p
	}
	length := 0.0
	for i := 1; i < n; i++ {
		length += p.step(i)
	}
	var out Points
	out.add(p.X[0], p.Y[0])
	step, along, next := length/float64(most-1), 0.0, 1.0
	for i := 1; i < n-1; i++ {
		if along += p.step(i); along >= next*step && len(out.X) < most-1 {
			out.add(p.X[i], p.Y[i])
			next = math.Floor(along/step) + 1
		}
	}
	out.add(p.X[n-1], p.Y[n-1])
	return out
}

func (p Points) step(i int) float64 { return math.Abs(p.X[i]-p.X[i-1]) + math.Abs(p.Y[i]-p.Y[i-1]) }

// ROC is the receiver operating characteristic: over all thresholds, X the share of the negative examples that are predicted
// positive, Y that of the positive ones, from 0,0 to 1,1. It is empty if a class is missing.
func ROC(r *metric.Ranks, most int) (p Points) {
	positive, negative := r.Totals()
	if positive == 0 || negative == 0 {
		return p
	}
	p.add(0, 0)
	for i := range r.Score {
		p.add(r.Negative[i]/negative, r.Positive[i]/positive)
	}
	return p.thin(most)
}

// PrecisionRecall is, over all thresholds, X the recall and Y the precision, from recall 0 (with the precision of the highest score)
// to 1. It is empty if no example is positive.
func PrecisionRecall(r *metric.Ranks, most int) (p Points) {
	positive, _ := r.Totals()
	if positive == 0 {
		return p
	}
	p.add(0, r.Positive[0]/(r.Positive[0]+r.Negative[0]))
	for i := range r.Score {
		p.add(r.Positive[i]/positive, r.Positive[i]/(r.Positive[i]+r.Negative[i]))
	}
	return p.thin(most)
}

// Gain is the cumulative gain: X the share of the examples, those of the highest scores first, Y the share of the positive ones that
// is among them. It is empty if no example is positive.
func Gain(r *metric.Ranks, most int) (p Points) {
	positive, negative := r.Totals()
	if positive == 0 {
		return p
	}
	p.add(0, 0)
	for i := range r.Score {
		p.add((r.Positive[i]+r.Negative[i])/(positive+negative), r.Positive[i]/positive)
	}
	return p.thin(most)
}

// Tenth is one of the parts of about equal weight into which examples fall by their score, the highest first.
type Tenth struct {
	metric.Bin
	Rate    float64 // the share of positive examples in it
	Lift    float64 // how many times that is the share among all
	Gain    float64 // the share of all positive examples that is in it or in those before
	AllLift float64 // the lift of it and those before, taken together
}

// Lift is the table of lift and gain of n parts; nil if no example is positive.
func Lift(r *metric.Ranks, n int) []Tenth {
	positive, negative := r.Totals()
	if positive == 0 {
		return nil
	}
	var all []Tenth
	base, hits, seen := positive/(positive+negative), 0.0, 0.0
	for _, b := range r.Bins(n) {
		hits, seen = hits+b.Positive, seen+b.Weight
		all = append(all, Tenth{Bin: b, Rate: b.Positive / b.Weight, Lift: b.Positive / b.Weight / base, Gain: hits / positive,
			AllLift: hits / seen / base})
	}
	return all
}

// Threshold is what becomes of two classes if examples of the score At and above it are predicted positive.
type Threshold struct {
	At          float64
	Probability float64 // of that score; NaN if it is not known
	Precision   float64
	Recall      float64
	F1          float64
	Accuracy    float64
	Predicted   float64 // the share that is predicted positive
	Best        bool    // no other score has a higher F1
}

// Thresholds are scores at which about 1/n, 2/n and so on of the examples are predicted positive, and among them the one of the best
// F1 (of equally good ones the highest). It is nil if no example is positive.
func Thresholds(r *metric.Ranks, n int) []Threshold {
	if positive, _ := r.Totals(); positive == 0 {
		return nil
	}
	best := 0
	for i := range r.Score {
		if threshold(r, i).F1 > threshold(r, best).F1 {
			best = i
		}
	}
	var all []Threshold
	for i, k := 0, 0; i < len(r.Score); i++ {
		t := threshold(r, i)
		at := int(t.Predicted*float64(n) + 1e-9)
		if t.Best = i == best; t.Best || at > k {
			all = append(all, t)
		}
		k = max(k, at)
	}
	return all
}

func threshold(r *metric.Ranks, i int) Threshold {
	positive, negative := r.Totals()
	hit, wrong := r.Positive[i], r.Negative[i]
	t := Threshold{At: r.Score[i], Probability: math.NaN(), Precision: hit / (hit + wrong), Recall: hit / positive,
		F1: 2 * hit / (hit + wrong + positive), Accuracy: (hit + negative - wrong) / (positive + negative),
		Predicted: (hit + wrong) / (positive + negative)}
	if r.Probability != nil {
		t.Probability = r.Probability[i]
	}
	return t
}
