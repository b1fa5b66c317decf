package graph

import "math"

// Clip scales the gradients of the last Step, sums over examples of the weight n together, so that the norm of their mean over all
// parameters together is at most most; 0 leaves them alone (Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural
// networks, 2013, algorithm 1).
func (r *Run) Clip(n, most float64) {
	if most <= 0 {
		return
	}
	var sum float64
	r.batch.each(func(grad []float32) {
		for _, v := range grad {
			sum += float64(v) * float64(v)
		}
	})
	norm := math.Sqrt(sum) / n
	if !(norm > most) {
		return
	}
	factor := float32(most / norm)
	r.batch.each(func(grad []float32) {
		for i := range grad {
			grad[i] *= factor
		}
	})
}

// each calls f for the gradients that are descended along: those with a fixed rate are running means.
func (t *batch) each(f func(grad []float32)) {
	for i := range t.grads {
		if !t.params[i].Fixed {
			f(t.grads[i].Val)
		}
	}
}
