package optim

import (
	"thole.example/kernel"
	"thole.example/psf"
)

// amsgrad is Adam with steps that never become longer because a mean square falls (Reddi, Kale and Kumar, On the
// Convergence of Adam and Beyond, 2018, algorithm 2), with Adam's corrections of both means, as PyTorch; the correction
// comes after the maximum:
//
//	g = g + l2*w
//	m = beta1*m + (1-beta1)*g
//	s = beta2*s + (1-beta2)*g^2
//	h = max(h, s)
//	w = w - rate * (m/(1-beta1^t)) / (sqrt(h/(1-beta2^t)) + eps)
//
// In sparse matrices columns stand still in steps without gradients.
//
// Slots: m, s, h. Settings: those of adam. A weight whose m and s are both zero stays as it is.
var amsgrad = psf.Rule{
	Name:  "amsgrad",
	Help:  "adam by the largest mean square so far",
	Slots: 3,
	Hyper: append(moments(), l2),
	Rates: psf.Rates{Classes: 0.1, Numbers: 1, Steady: true},
	New: func(h map[string]float64) psf.Step {
		beta1, beta2, eps, l2 := h["beta1"], h["beta2"], h["eps"], h["l2"]
		return step(func(rate float64, t int64) kernel.Rule { return kernel.AMSGrad(rate, beta1, beta2, eps, l2, t) })
	},
}
