package train

import (
	"math"

	"thole.example/graph"
)

// clip scales the gradients, sums over n examples, so that the norm of their mean over all parameters together is at most
// most; 0 leaves them alone (Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks, 2013,
// algorithm 1).
func clip(grads []graph.Grad, n int, most float64) {
	if most <= 0 {
		return
	}
	var sum float64
	for _, g := range grads {
		values, _ := g.Block.Data.Values().([]float32) // all gradients are
		for _, v := range values {
			sum += float64(v) * float64(v)
		}
	}
	norm := math.Sqrt(sum) / float64(n)
	if !(norm > most) {
		return
	}
	factor := float32(most / norm)
	for _, g := range grads {
		values, _ := g.Block.Data.Values().([]float32)
		for i := range values {
			values[i] *= factor
		}
	}
}
