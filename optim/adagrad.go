package optim

import (
	"thole.example/kernel"
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
// In sparse matrices columns catch up on steps without gradients if there is no l2, and else stand still.
//
// Slots: n. Settings: eps = 1e-10 (as PyTorch), l1 = 0, l2 = 0.
var adagrad = psf.Rule{
	Name:  "adagrad",
	Help:  "steps divided by the root of the sum of squared gradients",
	Slots: 1,
	Hyper: []psf.Hyper{{Name: "eps", Default: 1e-10, Help: "added to the root"}, l1, l2},
	Rates: psf.Rates{Classes: 0.5, Numbers: 4, Steady: true},
	New: func(h map[string]float64) psf.Step {
		eps, l1, l2 := h["eps"], h["l1"], h["l2"]
		adagrad := step(func(rate float64, _ int64) kernel.Rule { return kernel.Adagrad(rate, eps, l1, l2) })
		if l1 == 0 || l2 != 0 {
			return adagrad
		}
		adagrad = idle(adagrad, kernel.Divides, func(rate float64) kernel.Drift { return kernel.Drift{WW: 1, VV: 1, Less: rate * l1} })
		adagrad.Idle.Eps = eps
		return adagrad
	},
}
