// Package metric measures how well scores fit labels. Scores and labels are float64, one for each example, in the same
// order; a label above zero is positive, so both 0/1 and -1/+1 serve. No function changes or keeps its arguments.
//
// A quantity that is not defined on the examples is NaN without an error: everything on no examples, AUC where one class
// is missing, R2 where all labels are equal. An error says that the arguments are wrong: lengths that differ, or NaN
// among scores or labels.
package metric

import (
	"fmt"
	"math"
)

// check finds what no metric accepts.
func check(score, label []float64) error {
	if len(score) != len(label) {
		return fmt.Errorf("metric: %d scores for %d labels", len(score), len(label))
	}
	for i, s := range score {
		if s != s || label[i] != label[i] {
			return fmt.Errorf("metric: example %d has score %v and label %v, want numbers", i, s, label[i])
		}
	}
	return nil
}

// mean is the mean of term over the examples, in their order; NaN if there are none.
func mean(score, label []float64, term func(s, y float64) float64) (float64, error) {
	if err := check(score, label); err != nil {
		return 0, err
	}
	sum := 0.0
	for i, s := range score {
		sum += term(s, label[i])
	}
	return sum / float64(len(score)), nil
}

// Accuracy is the part of examples whose score is above the threshold exactly if the label is positive. The threshold
// belongs to the scores: 0 for margins, 0.5 for probabilities.
func Accuracy(score, label []float64, threshold float64) (float64, error) {
	return mean(score, label, func(s, y float64) float64 { return truth((s > threshold) == (y > 0)) })
}

// Matches is the part of examples whose score equals the label: the accuracy of predicted classes.
func Matches(class, label []float64) (float64, error) {
	return mean(class, label, func(s, y float64) float64 { return truth(s == y) })
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// MSE is the mean squared difference of score and label.
func MSE(score, label []float64) (float64, error) {
	return mean(score, label, func(s, y float64) float64 { return (s - y) * (s - y) })
}

// RMSE is the square root of MSE.
func RMSE(score, label []float64) (float64, error) {
	mse, err := MSE(score, label)
	return math.Sqrt(mse), err
}

// MAE is the mean absolute difference of score and label.
func MAE(score, label []float64) (float64, error) {
	return mean(score, label, func(s, y float64) float64 { return math.Abs(s - y) })
}

// R2 is 1 minus the squared differences of score and label over those of the labels and their mean. It is NaN if all
// labels are equal.
func R2(score, label []float64) (float64, error) {
	mse, err := MSE(score, label)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, y := range label {
		sum += y
	}
	center, spread, equal := sum/float64(len(label)), 0.0, true
	for _, y := range label {
		spread += (y - center) * (y - center)
		equal = equal && y == label[0]
	}
	if equal {
		return math.NaN(), nil
	}
	return 1 - mse*float64(len(label))/spread, nil
}
