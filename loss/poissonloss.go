package loss

import (
	"math"

	"thole.example/graph"
	"thole.example/kernel"
)

// poissonLoss is the log loss of counts that are Poisson distributed with mean exp(s), without log(y!), which no score
// changes:
//
//	L = exp(s) - y*s,  dL/ds = exp(s) - y
//
// Beyond a score of 80 exp goes on as its tangent: loss and gradient stay finite.
var poissonLoss = Kind{
	Name: "poissonloss", Help: "exp(s)-y*s, labels 0 and above; predicts the mean, exp(s)", Width: 1, Log: true,
	Start: func(_ map[string]float64, label, weight []float32, _ int) []float64 {
		if m := mean(label, weight); m > 0 {
			return []float64{rounded(math.Log(m))}
		}
		return []float64{0}
	},
	New: func(map[string]float64) graph.Loss { return poisson{} },
}

// steepest is the score from which on exp is a straight line: exp(80) and what features make of it fit a float32.
const steepest = 80

type poisson struct{ Numbers }

// Name implements graph.Loss.
func (poisson) Name() string { return "poissonloss" }

// Check implements graph.Loss.
func (poisson) Check(label []float32, _ int) error {
	for i, y := range label {
		if !(y >= 0) {
			return &graph.LabelError{Example: i + 1, Label: y, Want: "a count, 0 or above"}
		}
	}
	return nil
}

// Loss implements graph.Loss.
func (poisson) Loss(score *graph.Tensor, label []float32, grad *graph.Tensor) (sum float64) {
	for i, v := range score.Val {
		s, y := float64(v), float64(label[i])
		if !(y >= 0) {
			y = math.NaN()
		}
		e := kernel.Exp(min(s, steepest))
		sum += float64(e*(1+max(0, s-steepest))) - float64(y*s) + unsound(v)
		grad.Val[i] = float32(e - y)
	}
	return sum
}

// Predict implements graph.Loss: the mean.
func (poisson) Predict(to []float64, score []float32) []float64 {
	return append(to, kernel.Exp(min(float64(score[0]), steepest)))
}
