package optim

import (
	"thole.example/kernel"
	"thole.example/psf"
)

// adam follows running means of the gradient and of its square (Kingma and Ba, Adam: A Method for Stochastic
// Optimization, 2015, algorithm 1):
//
//	g = g + l2*w
//	m = beta1*m + (1-beta1)*g
//	s = beta2*s + (1-beta2)*g^2
//	w = w - rate * (m/(1-beta1^t)) / (sqrt(s/(1-beta2^t)) + eps)
//
// In sparse matrices columns stand still in steps without gradients.
//
// Slots: m, s. Settings: beta1 = 0.9, beta2 = 0.999, eps = 1e-8 (the paper's), l2 = 0. A weight whose m and s are both
// zero stays as it is.
var adam = psf.Rule{
	Name:  "adam",
	Help:  "steps from running means of the gradient and its square",
	Slots: 2,
	Hyper: append(moments(), l2),
	Rates: psf.Rates{Classes: 0.1, Numbers: 1, Steady: true},
	New: func(h map[string]float64) psf.Step {
		beta1, beta2, eps, l2 := h["beta1"], h["beta2"], h["eps"], h["l2"]
		return step(func(rate float64, t int64) kernel.Rule { return kernel.Adam(rate, beta1, beta2, eps, l2, t) })
	},
}

// moments are the settings of the running means of adam and its kin.
func moments() []psf.Hyper {
	return []psf.Hyper{
		{Name: "beta1", Default: 0.9, Help: "part of the mean gradient kept in a step", Max: 1, Below: true},
		{Name: "beta2", Default: 0.999, Help: "part of the mean square kept in a step", Max: 1, Below: true},
		{Name: "eps", Default: 1e-8, Help: "added to the root"},
	}
}
