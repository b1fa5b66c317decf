package algo

import (
	"fmt"
	"math"
	"strconv"

	"thole.example/graph"
	"thole.example/tree"
)

// outputsLoss is the loss of trees with several scores for each row that are not classes: one for each quantile of the label, or one
// for each target. Only quantiles are of one label, and can be measured.
type outputsLoss struct {
	*treeLoss
	names []string
}

// newOutputsLoss names the outputs: quantiles by their alpha, targets by their numbers, since files do not name them.
func newOutputsLoss(l *treeLoss, outputs int) (*outputsLoss, error) {
	if l.row.task == Ranking {
		return nil, fmt.Errorf("objective %q: %d scores of a row, want one", l.o.Name, outputs)
	}
	all := &outputsLoss{treeLoss: l}
	for k := range outputs {
		name := strconv.Itoa(k)
		if len(l.o.Alphas) == outputs {
			name = strconv.FormatFloat(l.o.Alphas[k], 'g', -1, 32)
		}
		all.names = append(all.names, name)
	}
	return all, nil
}

// Outputs implements graph.Several.
func (l *outputsLoss) Outputs() []string { return l.names }

// Measured implements graph.Several.
func (l *outputsLoss) Measured() bool {
	return l.row.name == "quantileloss" && len(l.o.Alphas) == len(l.names)
}

// Task implements graph.Loss.
func (l *outputsLoss) Task() graph.Task { return Regression }

// Check implements graph.Loss: labels are compared with quantiles only, which take every number.
func (l *outputsLoss) Check([]float32, int) error { return nil }

// OutputLoss implements graph.Several.
func (l *outputsLoss) OutputLoss(k int, score []float64, label float32) float64 {
	if !l.Measured() {
		return math.NaN()
	}
	one := tree.Objective{Link: l.o.Link, Sigmoid: l.o.Sigmoid, Set: map[string]float64{"alpha": l.o.Alphas[k]}}
	return quantileRow(&one, score[k:k+1], float64(label))
}

// Loss implements graph.Loss, without gradients.
func (l *outputsLoss) Loss(score *graph.Tensor, label []float32, _ *graph.Tensor) (sum float64) {
	for i, y := range label {
		sum += l.LossWide(doubles(score.Row(i)), y)
	}
	return sum
}

// LossWide implements graph.Wide: the mean over the outputs.
func (l *outputsLoss) LossWide(score []float64, label float32) (sum float64) {
	for k := range score {
		sum += l.OutputLoss(k, score, label)
	}
	return sum / float64(len(score))
}

// Predict implements graph.Loss: a prediction for each output.
func (l *outputsLoss) Predict(to []float64, score []float32) []float64 {
	return l.PredictWide(to, doubles(score))
}

// PredictWide implements graph.Wide.
func (l *outputsLoss) PredictWide(to, score []float64) []float64 {
	at := len(to)
	to = append(to, score...)
	l.o.Predict(to[at:])
	return to
}

var _ graph.Several = (*outputsLoss)(nil)
