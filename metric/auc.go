package metric

import (
	"math"
	"slices"
)

// AUC is the area under the ROC curve: the part of all pairs of a positive and a negative example in which the positive
// one has the higher score, pairs of equal scores counting half. It is exact, counted in integers, whatever the ties
// and the order of the examples; infinite scores are fine. It is NaN if a class is missing. Time O(n log n).
func AUC(score, label []float64) (float64, error) {
	if err := check(score, label); err != nil {
		return 0, err
	}
	positive, negative := split(score, label)
	if len(positive) == 0 || len(negative) == 0 {
		return math.NaN(), nil
	}
	slices.Sort(positive)
	slices.Sort(negative)
	// Twice the number of pairs won: each positive wins 2 of every negative below it and 1 of every equal one. It fits for
	// up to 2^32 examples.
	var wins uint64
	below, upTo := 0, 0
	for _, s := range positive {
		for below < len(negative) && negative[below] < s {
			below++
		}
		for upTo < len(negative) && negative[upTo] <= s {
			upTo++
		}
		wins += uint64(below) + uint64(upTo)
	}
	return float64(wins) / 2 / (float64(len(positive)) * float64(len(negative))), nil
}

// split copies the scores of the positive and of the negative examples.
func split(score, label []float64) (positive, negative []float64) {
	n := 0
	for _, y := range label {
		if y > 0 {
			n++
		}
	}
	positive, negative = make([]float64, 0, n), make([]float64, 0, len(label)-n)
	for i, y := range label {
		if y > 0 {
			positive = append(positive, score[i])
		} else {
			negative = append(negative, score[i])
		}
	}
	return positive, negative
}
