package optim

import (
	"thole.example/kernel"
	"thole.example/psf"
)

// ftrl is FTRL-Proximal with a rate of its own for each coordinate (McMahan et al., Ad Click Prediction: a View from
// the Trenches, 2013, algorithm 1):
//
//	d = (sqrt(n + g^2) - sqrt(n)) / alpha
//	z = z + g - d*w
//	n = n + g^2
//	w = 0 if |z| <= l1, else -(z - sign(z)*l1) / ((beta + sqrt(n))/alpha + l2)
//
// With alpha = 0 the learning rate of the step stands for alpha. It may change from step to step; so that the pulls
// towards earlier weights keep their places, z is then worked out anew from the weight it led to. That also is what lets
// weights stay that did not come from this rule (a loaded model without its slots, a random start):
//
//	z = g - sign(w)*l1 - ((beta + sqrt(n))/rate + l2)*w   if w is not 0, else z + g
//
// With alpha fixed such a weight (z = 0, n = 0, w not 0) would be forgotten at its first gradient, because the weight is
// a function of z and n; warm = 1 gives it the z of which it is the solution first:
//
//	z = -w * (beta/alpha + l2) - sign(w)*l1
//
// A zero gradient moves nothing.
//
// Slots: z, n. Settings: alpha = 0, beta = 1 (the paper's), l1 = 0, l2 = 0, warm = 0.
var ftrl = psf.Rule{
	Name:  "ftrl",
	Help:  "FTRL-Proximal: a rate for each coordinate, exact zeros from l1",
	Slots: 2,
	Hyper: []psf.Hyper{
		{Name: "alpha", Help: "rate of each coordinate; 0 takes the learning rate"},
		{Name: "beta", Default: 1, Help: "smooths the first steps"},
		{Name: "l1", Help: "weight of the penalty l1*|w|"},
		{Name: "l2", Help: "weight of the penalty l2/2*w^2"},
		{Name: "warm", Help: "with alpha: 1 starts from the weights that are there, 0 from nothing", Max: 1},
	},
	Rates: psf.Rates{Classes: 1, Numbers: 4, Steady: true},
	New: func(h map[string]float64) psf.Step {
		alpha, beta, l1, l2, warm := h["alpha"], h["beta"], h["l1"], h["l2"], h["warm"] != 0
		return step(func(rate float64, _ int64) kernel.Rule { return kernel.FTRL(rate, alpha, beta, l1, l2, warm) })
	},
}
