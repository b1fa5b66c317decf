package optim

import (
	"thole.example/kernel"
	"thole.example/psf"
)

// momentum is the heavy ball method (Polyak, Some methods of speeding up the convergence of iteration methods, 1964)
// without dampening (Sutskever et al., On the importance of initialization and momentum in deep learning, 2013), with
// the rate outside the velocity:
//
//	v = mu*v + g + l2*w
//	w = w - rate*v
//
// In sparse matrices columns catch up on steps without gradients: v and w are a product of matrices.
//
// Slots: v. Settings: mu = 0.9 (Sutskever et al.; a constant gradient moves the weight by rate/(1-mu) a step), l2 = 0.
var momentum = psf.Rule{
	Name:  "momentum",
	Help:  "gradient descent with velocity",
	Slots: 1,
	Hyper: []psf.Hyper{{Name: "mu", Default: 0.9, Help: "part of the velocity kept in a step", Max: 1, Below: true}, l2},
	Rates: psf.Rates{Classes: 0.1, Numbers: 0.05},
	New: func(h map[string]float64) psf.Step {
		mu, l2 := h["mu"], h["l2"]
		momentum := step(func(rate float64, _ int64) kernel.Rule { return kernel.Momentum(rate, mu, l2) })
		if mu == 0 && l2 == 0 {
			return momentum
		}
		return idle(momentum, kernel.Couples, func(rate float64) kernel.Drift {
			return kernel.Drift{WW: 1 - float64(rate*l2), WV: -rate * mu, VW: l2, VV: mu}
		})
	},
}
