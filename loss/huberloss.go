package loss

import (
	"math"

	"thole.example/graph"
	"thole.example/psf"
)

// huberLoss is the squared error up to a difference of delta and a straight line beyond it, so that outliers pull no harder
// than that (Huber, Robust Estimation of a Location Parameter, 1964). With d = s - y:
//
//	L = d^2/2 if |d| <= delta, else delta*(|d| - delta/2);  dL/ds = d, kept between -delta and delta
var huberLoss = Kind{
	Name: "huberloss", Help: "(s-y)^2/2, a straight line beyond delta; predicts the score", Width: 1,
	Start: func(label, weight []float32, _ int) []float64 { return []float64{middle(label, weight)} },
	Hyper: []psf.Hyper{{Name: "delta", Default: 1, Help: "difference from which on the loss is a straight line", Above: true}},
	New:   func(set map[string]float64) graph.Loss { return huber{delta: set["delta"]} },
}

type huber struct {
	Numbers
	delta float64
}

// Name implements graph.Loss.
func (huber) Name() string { return "huberloss" }

// Loss implements graph.Loss.
func (l huber) Loss(score *graph.Tensor, label []float32, grad *graph.Tensor) (sum float64) {
	for i, s := range score.Val {
		d := float64(s) - float64(label[i])
		if far := math.Abs(d); far <= l.delta {
			sum += d * d / 2
		} else {
			sum += float64(l.delta * (far - l.delta/2))
		}
		grad.Val[i] = float32(max(-l.delta, min(l.delta, d)))
	}
	return sum
}

// Predict implements graph.Loss: the score.
func (huber) Predict(to []float64, score []float32) []float64 { return append(to, float64(score[0])) }
