package loss

import (
	"math"

	"thole.example/graph"
)

// logLoss is the logistic loss. With y = +1 for labels above zero, -1 for the others:
//
//	L = log(1 + exp(-y*s)),  dL/ds = -y / (1 + exp(y*s))
var logLoss = Kind{
	Name: "logloss", Help: "log(1+exp(-y*s)), labels -1 and +1; predicts the probability of +1", Width: 1,
	New: func(map[string]float64) graph.Loss { return logistic{} },
}

type logistic struct{ TwoClasses }

// Name implements graph.Loss.
func (logistic) Name() string { return "logloss" }

// Loss implements graph.Loss.
func (logistic) Loss(score *graph.Tensor, label []float32, grad *graph.Tensor) (sum float64) {
	for i, s := range score.Val {
		y := side(label[i])
		m := y * float64(s)
		e := math.Exp(-math.Abs(m))
		sum += math.Max(0, -m) + math.Log1p(e) + unsound(s)
		p := e // of being wrong: 1/(1+exp(m))
		if m < 0 {
			p = 1
		}
		grad.Val[i] = float32(-y * p / (1 + e))
	}
	return sum
}

// Predict implements graph.Loss: the probability of label +1.
func (logistic) Predict(to []float64, score []float32) []float64 {
	return append(to, Sigmoid(float64(score[0])))
}
