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
	Start: func(set map[string]float64, label, weight []float32, _ int) []float64 {
		return []float64{huberMean(set["delta"], label, weight)}
	},
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

// huberMean is the least number with the least sum of losses. It is within delta of the median: at the median plus delta, half of the
// gradients are delta.
func huberMean(delta float64, label, weight []float32) float64 {
	m := middle(label, weight)
	lo, hi := m-delta, m+delta
	for range 40 {
		mid, sum := lo/2+hi/2, 0.0
		for i, y := range label {
			sum += float64(weightOf(weight, i) * max(-delta, min(delta, mid-float64(y))))
		}
		if sum >= 0 {
			hi = mid
		} else {
			lo = mid
		}
	}
	if hi-m < delta*0x1p-38 && m-lo < delta*0x1p-38 { // the median, to the bit
		return m
	}
	return rounded(hi)
}
