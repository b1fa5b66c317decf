package optim

import (
	"math"

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
// Slots: m, s. Settings: beta1 = 0.9, beta2 = 0.999, eps = 1e-8 (the paper's), l2 = 0. A weight whose m and s are both
// zero stays as it is.
var adam = psf.Rule{
	Name:  "adam",
	Help:  "steps from running means of the gradient and its square",
	Slots: 2,
	Hyper: []psf.Hyper{
		{Name: "beta1", Default: 0.9, Help: "part of the mean gradient kept in a step", Max: 1, Below: true},
		{Name: "beta2", Default: 0.999, Help: "part of the mean square kept in a step", Max: 1, Below: true},
		{Name: "eps", Default: 1e-8, Help: "added to the root"},
		l2,
	},
	Rates: psf.Rates{Classes: 0.1, Numbers: 1},
	New: func(h map[string]float64) psf.Step {
		a := adamSet{h["beta1"], h["beta2"], h["eps"], h["l2"]}
		return psf.Step{
			F32: func(w, g []float32, s [][]float32, rate float64, t int64) { adamStep(w, g, s[0], s[1], rate, t, a) },
			F64: func(w, g []float64, s [][]float64, rate float64, t int64) { adamStep(w, g, s[0], s[1], rate, t, a) },
		}
	},
}

type adamSet struct{ beta1, beta2, eps, l2 float64 }

func adamStep[T float](w, g, m, s []T, rate float64, t int64, a adamSet) {
	keep1, keep2, eps, decay := T(a.beta1), T(a.beta2), T(a.eps), T(a.l2)
	add1, add2 := T(1-a.beta1), T(1-a.beta2)
	step := T(rate / (1 - math.Pow(a.beta1, float64(t))))
	wide := T(1 / math.Sqrt(1-math.Pow(a.beta2, float64(t)))) // takes the correction of s out of the root
	g, m, s = g[:len(w)], m[:len(w)], s[:len(w)]
	for i, x := range w {
		grad := g[i] + decay*x
		m[i] = keep1*m[i] + add1*grad
		s[i] = keep2*s[i] + add2*(grad*grad)
		if m[i] == 0 {
			continue // also keeps 0/0 away if eps is 0
		}
		w[i] = x - step*m[i]/(T(math.Sqrt(float64(s[i])))*wide+eps)
	}
}
