package loss

import "thole.example/graph"

// l2Loss is half the squared error:
//
//	L = (s-y)^2 / 2,  dL/ds = s - y
var l2Loss = Kind{
	Name: "l2loss", Help: "(s-y)^2/2; predicts the score", Width: 1,
	Start: func(_ map[string]float64, label, weight []float32, _ int) []float64 {
		return []float64{mean(label, weight)}
	},
	New: func(map[string]float64) graph.Loss { return square{} },
}

type square struct{ Numbers }

// Name implements graph.Loss.
func (square) Name() string { return "l2loss" }

// Loss implements graph.Loss.
func (square) Loss(score *graph.Tensor, label []float32, grad *graph.Tensor) (sum float64) {
	for i, s := range score.Val {
		d := float64(s) - float64(label[i])
		sum += d * d / 2
		grad.Val[i] = float32(d)
	}
	return sum
}

// Predict implements graph.Loss: the score.
func (square) Predict(to []float64, score []float32) []float64 { return append(to, float64(score[0])) }
