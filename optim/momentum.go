package optim

import "thole.example/psf"

// momentum is the heavy ball method (Polyak, Some methods of speeding up the convergence of iteration methods, 1964)
// without dampening (Sutskever et al., On the importance of initialization and momentum in deep learning, 2013), with
// the rate outside the velocity:
//
//	v = mu*v + g + l2*w
//	w = w - rate*v
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
		return psf.Step{
			F32: func(w, g []float32, s [][]float32, rate float64, _ int64) { momentumStep(w, g, s[0], rate, mu, l2) },
			F64: func(w, g []float64, s [][]float64, rate float64, _ int64) { momentumStep(w, g, s[0], rate, mu, l2) },
		}
	},
}

func momentumStep[T float](w, g, v []T, rate, mu, l2 float64) {
	step, keep, decay := T(rate), T(mu), T(l2)
	g, v = g[:len(w)], v[:len(w)]
	for i, x := range w {
		v[i] = keep*v[i] + (g[i] + decay*x)
		w[i] = x - step*v[i]
	}
}
