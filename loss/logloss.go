package loss

import (
	"math"

	"thole.example/graph"
	"thole.example/kernel"
)

// logLoss is the logistic loss. With y = +1 for labels above zero, -1 for the others:
//
//	L = log(1 + exp(-y*s)),  dL/ds = -y / (1 + exp(y*s))
var logLoss = Kind{
	Name: "logloss", Help: "log(1+exp(-y*s)), labels -1 and +1; predicts the probability of +1", Width: 1, Odds: true,
	Start: func(_ map[string]float64, label, weight []float32, _ int) []float64 {
		return []float64{odds(label, weight)}
	},
	New: func(map[string]float64) graph.Loss { return logistic{} },
}

type logistic struct{ TwoClasses }

// Name implements graph.Loss.
func (logistic) Name() string { return "logloss" }

// Loss implements graph.Loss. With m = y*s, L is max(0, -m) + log(1 + exp(-|m|)), and the logarithms of many rows are that of
// one product, which is below 2^1024 by then.
func (logistic) Loss(score *graph.Tensor, label []float32, grad *graph.Tensor) (sum float64) {
	product := 1.0
	for i, s := range score.Val {
		against := uint64(1 << 63) // the sign of y; integers, because nobody foresees which branch a row takes
		if label[i] > 0 {
			against = 0
		}
		m := math.Float64frombits(math.Float64bits(float64(s)) ^ against)
		e := kernel.Exp(-math.Abs(m))
		sum += max(0, -m) + unsound(s)
		if product *= 1 + e; product > 0x1p1000 {
			sum += math.Log(product)
			product = 1
		}
		p := math.Float64bits(e) // of being wrong, 1/(1+exp(m)), times 1+e
		if m < 0 {
			p = math.Float64bits(1)
		}
		grad.Val[i] = float32(math.Float64frombits(p|(against^1<<63)) / (1 + e))
	}
	return sum + math.Log(product)
}

// Predict implements graph.Loss: the probability of label +1.
func (logistic) Predict(to []float64, score []float32) []float64 {
	return append(to, Sigmoid(float64(score[0])))
}
