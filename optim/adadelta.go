package optim

import (
	"thole.example/kernel"
	"thole.example/psf"
)

// adadelta makes steps as long as the earlier ones were, in the unit of the weights (Zeiler, ADADELTA: An Adaptive Learning
// Rate Method, 2012, algorithm 1), times the rate, as PyTorch:
//
//	g = g + l2*w
//	s = rho*s + (1-rho)*g^2
//	d = sqrt(u + eps) / sqrt(s + eps) * g
//	u = rho2*u + (1-rho2)*d^2
//	w = w - rate*d
//
// With rate = 1 that is the paper's; the first steps are about rate*sqrt(eps) long, so that the few thousand steps of a small
// training want a larger rate. Where s = 0 (no gradient yet), d = 0. The paper has one rho for both means; Angel has two.
//
// In sparse matrices columns catch up on steps without gradients, s and u fade, if they do so alike and there is no l2, and else
// stand still.
//
// Slots: s, u. Settings: rho = 0.9, eps = 1e-6 (PyTorch's; the paper tries rho = 0.95, eps = 1e-6), rho2 = rho, l2 = 0.
var adadelta = psf.Rule{
	Name:  "adadelta",
	Help:  "steps as long as those before, divided by the mean size of gradients",
	Slots: 2,
	Hyper: []psf.Hyper{
		{Name: "rho", Default: 0.9, Help: "part of the mean square of gradients kept in a step", Max: 1, Below: true},
		{Name: "eps", Default: 1e-6, Help: "added under both roots; the first steps come from it"},
		{Name: "rho2", Like: "rho", Help: "part of the mean square of steps kept in a step", Max: 1, Below: true},
		l2,
	},
	Rates: psf.Rates{Classes: 20, Numbers: 100, Steady: true},
	New: func(h map[string]float64) psf.Step {
		rho, rho2, eps, l2 := h["rho"], h["rho2"], h["eps"], h["l2"]
		adadelta := step(func(rate float64, _ int64) kernel.Rule { return kernel.Adadelta(rate, rho, rho2, eps, l2) })
		if rho2 != rho {
			return adadelta
		}
		return fading(adadelta, rho, l2)
	},
}
