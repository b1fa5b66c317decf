package optim

import (
	"thole.example/kernel"
	"thole.example/psf"
)

// adamw is Adam with decay that does not pass through its means (Loshchilov and Hutter, Decoupled Weight Decay
// Regularization, 2019, algorithm 2, with the rate before the decay too, as PyTorch):
//
//	w = w - rate*decay*w
//	m = beta1*m + (1-beta1)*g
//	s = beta2*s + (1-beta2)*g^2
//	w = w - rate * (m/(1-beta1^t)) / (sqrt(s/(1-beta2^t)) + eps)
//
// The decay is no penalty of the loss: how much it weighs beside the gradients depends on their size.
//
// In sparse matrices columns stand still in steps without gradients, and so do not decay.
//
// Slots: m, s. Settings: beta1 = 0.9, beta2 = 0.999, eps = 1e-8 (those of adam), decay = 1e-4 (optax's; PyTorch's
// 0.01 holds weights around 10 visibly below where the loss wants them). A weight whose m and s are both zero only decays.
var adamw = psf.Rule{
	Name:  "adamw",
	Help:  "adam with decay of the weights beside its steps",
	Slots: 2,
	Hyper: append(moments(), psf.Hyper{Name: "decay", Default: 1e-4, Help: "part of the rate by which weights decay in a step"}),
	Rates: psf.Rates{Classes: 0.05, Numbers: 1, Steady: true},
	New: func(h map[string]float64) psf.Step {
		beta1, beta2, eps, decay := h["beta1"], h["beta2"], h["eps"], h["decay"]
		return step(func(rate float64, t int64) kernel.Rule { return kernel.AdamW(rate, beta1, beta2, eps, decay, t) })
	},
}
