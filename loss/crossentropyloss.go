package loss

import (
	"math"

	"thole.example/graph"
)

// crossEntropyLoss is the log loss of a score that is a probability of label +1 already, such as the output of a sigmoid.
// With q the probability of the label that a row has, p for labels above zero and 1-p for others, no less than 1e-9:
//
//	L = -log(q),  dL/dp = -1/q for labels above zero, 1/q for others
//
// Where q is held at 1e-9, so is the gradient: it stays large, and points back.
var crossEntropyLoss = Kind{
	Name: "crossentropyloss", Width: 1, Unit: true,
	Help: "-log of the probability of the label, where the score is that of +1; predicts the probability",
	Start: func(_ map[string]float64, label, weight []float32, _ int) []float64 {
		return []float64{rounded(Sigmoid(odds(label, weight)))}
	},
	New: func(map[string]float64) graph.Loss { return crossEntropy{} },
}

// leastProbability keeps the cross entropy of certain answers that are wrong finite, as in Angel.
const leastProbability = 1e-9

type crossEntropy struct{ TwoClasses }

// Name implements graph.Loss.
func (crossEntropy) Name() string { return "crossentropyloss" }

// Threshold implements graph.Loss: half.
func (crossEntropy) Threshold() float64 { return 0.5 }

// Loss implements graph.Loss.
func (crossEntropy) Loss(score *graph.Tensor, label []float32, grad *graph.Tensor) (sum float64) {
	for i, p := range score.Val {
		y, q := side(label[i]), float64(p)
		if y < 0 {
			q = 1 - q
		}
		q = min(1, max(leastProbability, q))
		sum += unsound(p) - math.Log(q)
		grad.Val[i] = float32(-y / q)
	}
	return sum
}

// Predict implements graph.Loss: the probability of label +1.
func (crossEntropy) Predict(to []float64, score []float32) []float64 {
	return append(to, float64(score[0]))
}
