package optim

import (
	"thole.example/kernel"
	"thole.example/psf"
)

// rmsprop divides the rate by the root of the running mean of squared gradients (Tieleman and Hinton, Lecture 6.5 of
// Neural Networks for Machine Learning, 2012), with eps outside of the root and neither momentum nor centring, as PyTorch
// by default:
//
//	g = g + l2*w
//	s = rho*s + (1-rho)*g^2
//	w = w - rate*g / (sqrt(s) + eps)
//
// A weight that never had a gradient (s = 0) stays as it is.
//
// In sparse matrices columns catch up on steps without gradients, s fades, if there is no l2, and else stand still.
//
// Slots: s. Settings: rho = 0.99, eps = 1e-8 (PyTorch's; the lecture has rho = 0.9), l2 = 0.
var rmsprop = psf.Rule{
	Name:  "rmsprop",
	Help:  "steps divided by the root of the running mean of squared gradients",
	Slots: 1,
	Hyper: []psf.Hyper{
		{Name: "rho", Default: 0.99, Help: "part of the mean square kept in a step", Max: 1, Below: true},
		{Name: "eps", Default: 1e-8, Help: "added to the root"},
		l2,
	},
	Rates: psf.Rates{Classes: 0.1, Numbers: 0.5, Steady: true},
	New: func(h map[string]float64) psf.Step {
		rho, eps, l2 := h["rho"], h["eps"], h["l2"]
		rmsprop := step(func(rate float64, _ int64) kernel.Rule { return kernel.RMSProp(rate, rho, eps, l2) })
		return fading(rmsprop, rho, l2)
	},
}
