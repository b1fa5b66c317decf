package optim

import (
	"math"

	"thole.example/psf"
)

// adagrad divides the rate by the root of the sum of squared gradients, each weight for itself (Duchi, Hazan and
// Singer, Adaptive Subgradient Methods for Online Learning and Stochastic Optimization, 2011, diagonal form with
// composite l1):
//
//	g = g + l2*w
//	n = n + g^2
//	s = rate / (sqrt(n) + eps)
//	w = sign(w - s*g) * max(|w - s*g| - s*l1, 0)
//
// A weight that never had a gradient (n = 0) stays as it is: its step would have no bound.
//
// Slots: n. Settings: eps = 1e-10 (as PyTorch), l1 = 0, l2 = 0.
var adagrad = psf.Rule{
	Name:  "adagrad",
	Help:  "steps divided by the root of the sum of squared gradients",
	Slots: 1,
	Hyper: []psf.Hyper{{Name: "eps", Default: 1e-10, Help: "added to the root"}, l1, l2},
	Rates: psf.Rates{Classes: 0.5, Numbers: 4},
	New: func(h map[string]float64) psf.Step {
		eps, l1, l2 := h["eps"], h["l1"], h["l2"]
		return psf.Step{
			F32: func(w, g []float32, s [][]float32, rate float64, _ int64) {
				adagradStep(w, g, s[0], rate, eps, l1, l2)
			},
			F64: func(w, g []float64, s [][]float64, rate float64, _ int64) {
				adagradStep(w, g, s[0], rate, eps, l1, l2)
			},
		}
	},
}

func adagradStep[T float](w, g, n []T, rate, eps, l1, l2 float64) {
	step, tiny, sparse, decay := T(rate), T(eps), T(l1), T(l2)
	g, n = g[:len(w)], n[:len(w)]
	for i, x := range w {
		grad := g[i] + decay*x
		n[i] += grad * grad
		if n[i] == 0 {
			continue
		}
		s := step / (T(math.Sqrt(float64(n[i]))) + tiny)
		w[i] = shrink(x-s*grad, s*sparse)
	}
}
