package loss

import "thole.example/graph"

// hingeLoss is the loss of linear support vector machines. With y = +1 for labels above zero, -1 for the others:
//
//	L = max(0, 1 - y*s),  dL/ds = -y if y*s < 1, else 0
var hingeLoss = Kind{
	Name: "hingeloss", Help: "max(0,1-y*s), labels -1 and +1; predicts the margin", Width: 1,
	Start: func(_ map[string]float64, label, weight []float32, _ int) []float64 { // the margin of the more frequent class
		switch v := odds(label, weight); {
		case v > 0:
			return []float64{1}
		case v < 0:
			return []float64{-1}
		}
		return []float64{0}
	},
	New: func(map[string]float64) graph.Loss { return hinge{} },
}

type hinge struct{ TwoClasses }

// Name implements graph.Loss.
func (hinge) Name() string { return "hingeloss" }

// Loss implements graph.Loss.
func (hinge) Loss(score *graph.Tensor, label []float32, grad *graph.Tensor) (sum float64) {
	for i, s := range score.Val {
		y := side(label[i])
		d := 1 - y*float64(s)
		if d <= 0 {
			sum += unsound(s)
			grad.Val[i] = 0
			continue
		}
		sum += d // a score that is not a number comes here too, so that the sum shows it
		grad.Val[i] = float32(-y)
	}
	return sum
}

// Predict implements graph.Loss: the margin, above zero for label +1. The hinge loss has no probability of its own;
// where one is wanted, Angel's convention is Sigmoid(2*margin).
func (hinge) Predict(to []float64, score []float32) []float64 { return append(to, float64(score[0])) }
