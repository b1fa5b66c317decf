package algo

import (
	"maps"
	"math"

	"thole.example/data"
)

// ForRows is the recipe with defaults for so many training examples: the penalty l2 of a linear model is at least times/rows, with times at
// least 1, which is C = 1 of other libraries. The fewer examples there are of each feature, the less their weights are to be believed.
// Larger data keep the recipe's, which is above: there rare features want it. Networks and recipes without a penalty stay as they are.
func (a *Algo) ForRows(rows int, times float64) *Algo {
	l2, has := a.Defaults.Hyper["l2"]
	if a.own || a.Trees != "" || a.Network() || !has || rows < 1 {
		return a
	}
	least := max(1, times) / float64(rows)
	if l2 >= least {
		return a
	}
	other := *a
	other.Defaults.Hyper = maps.Clone(a.Defaults.Hyper)
	other.Defaults.Hyper["l2"] = least
	return &other
}

// Noise is the times of ForRows for a regression of these examples, whose labels ForLabels took: the noise of the gradients by the score
// that is best for all (data.Set.Noise), times the curvature of the loss there, which is 1 for squares and the share of labels within
// delta of huberloss.
func (a *Algo) Noise(examples *data.Set) float64 {
	if len(a.of.start) != 1 {
		return 1
	}
	start, label, n := a.of.start[0], examples.Label, float64(examples.Len())
	residual := gradients(a.of.loss, start, label)
	above := start + max(math.Sqrt(steepness(residual)/n)/64, math.Abs(start)*0x1p-20)
	step := float64(float32(above)) - float64(float32(start)) // of scores
	if !(step > 0) {
		return 1
	}
	sum := 0.0
	for i, g := range gradients(a.of.loss, above, label) {
		sum += float64(g) - float64(residual[i])
	}
	curvature := sum / n / step
	return curvature * examples.Noise(residual)
}
