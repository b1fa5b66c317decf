package optim

import (
	"thole.example/kernel"
	"thole.example/psf"
)

// nesterov is gradient descent with the accelerated gradient (Nesterov, A method of solving a convex programming problem
// with convergence rate O(1/k^2), 1983), in the form of Sutskever et al. (2013) with the weights where the gradient was
// taken, so that workers pull what they differentiate, and the rate outside the velocity, as PyTorch's SGD with
// nesterov=True:
//
//	g = g + l2*w
//	v = mu*v + g
//	w = w - rate*(g + mu*v)
//
// In sparse matrices columns catch up on steps without gradients: v and w are a product of matrices.
//
// Slots: v. Settings: mu = 0.9 (as momentum), l2 = 0.
var nesterov = psf.Rule{
	Name:  "nesterov",
	Help:  "gradient descent with velocity that looks ahead",
	Slots: 1,
	Hyper: []psf.Hyper{{Name: "mu", Default: 0.9, Help: "part of the velocity kept in a step", Max: 1, Below: true}, l2},
	Rates: psf.Rates{Classes: 0.5, Numbers: 0.05},
	New: func(h map[string]float64) psf.Step {
		mu, l2 := h["mu"], h["l2"]
		nesterov := step(func(rate float64, _ int64) kernel.Rule { return kernel.Nesterov(rate, mu, l2) })
		if mu == 0 && l2 == 0 {
			return nesterov
		}
		return idle(nesterov, kernel.Couples, func(rate float64) kernel.Drift {
			return kernel.Drift{WW: 1 - float64(rate*l2*(1+mu)), WV: -rate * mu * mu, VW: l2, VV: mu}
		})
	},
}
