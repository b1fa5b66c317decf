package loss

import (
	"fmt"
	"math"

	"thole.example/graph"
	"thole.example/kernel"
)

// softmaxLoss is the log loss of K classes, whose numbers 0 to K-1 are the labels: with the scores s of a row and y its
// label
//
//	p_k = exp(s_k) / sum of exp(s_j),  L = -log(p_y),  dL/ds_k = p_k - (1 if k = y, else 0)
//
// computed from the differences to the largest score, so that nothing overflows.
var softmaxLoss = Kind{
	Name: "softmaxloss", Help: "-log of the probability of the label, 0 to K-1, K scores; predicts the class and all probabilities",
	// The logarithms of the shares, less their mean: only differences count.
	Start: func(_ map[string]float64, label, weight []float32, width int) []float64 {
		start, mean := shares(label, weight, width, func(y float32) int { return int(y) }), 0.0
		for k, share := range start {
			if share == 0 { // no example counts
				return make([]float64, width)
			}
			start[k] = math.Log(share)
			mean += start[k] / float64(width)
		}
		for k := range start {
			start[k] = rounded(start[k] - mean)
		}
		return start
	},
	New: func(map[string]float64) graph.Loss { return softmax{} },
}

type softmax struct{}

// Name implements graph.Loss.
func (softmax) Name() string { return "softmaxloss" }

// Task implements graph.Loss.
func (softmax) Task() graph.Task { return graph.Multiclass }

// Threshold implements graph.Loss, which has none: there are not two classes.
func (softmax) Threshold() float64 { return 0 }

// Check implements graph.Loss.
func (softmax) Check(label []float32, width int) error {
	for i, y := range label {
		if !isClass(y, width) {
			return &graph.LabelError{Example: i + 1, Label: y, Want: fmt.Sprintf("a class, 0 to %d", width-1)}
		}
	}
	return nil
}

func isClass(y float32, width int) bool {
	return y >= 0 && y < float32(width) && y == float32(math.Trunc(float64(y)))
}

// Loss implements graph.Loss.
func (softmax) Loss(score *graph.Tensor, label []float32, grad *graph.Tensor) (sum float64) {
	for i, y := range label {
		row, to := score.Row(i), grad.Row(i)
		if !isClass(y, len(row)) {
			sum = math.NaN()
			continue
		}
		top, all := largest(row), 0.0
		for _, s := range row {
			all += kernel.Exp(float64(s)-top) + unsound(s)
		}
		for k, s := range row {
			to[k] = float32(kernel.Exp(float64(s)-top) / all)
		}
		to[int(y)]--
		sum += math.Log(all) + (top - float64(row[int(y)]))
	}
	return sum
}

// largest is the largest score of a row.
func largest(row []float32) float64 {
	top := row[0]
	for _, s := range row {
		top = max(top, s)
	}
	return float64(top)
}

// Predict implements graph.Loss: the class of the largest score, the first of several, and the probabilities of all.
func (softmax) Predict(to []float64, score []float32) []float64 {
	top, all, class := largest(score), 0.0, -1
	at := len(to)
	to = append(to, 0)
	for k, s := range score {
		e := kernel.Exp(float64(s) - top)
		if all += e; float64(s) == top && class < 0 {
			class = k
		}
		to = append(to, e)
	}
	to[at] = float64(max(0, class))
	for k := range score {
		to[at+1+k] /= all
	}
	return to
}
