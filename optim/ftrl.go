package optim

import (
	"math"

	"thole/psf"
)

// ftrl is FTRL-Proximal with a rate of its own for each coordinate (McMahan et al., Ad Click Prediction: a View from
// the Trenches, 2013, algorithm 1):
//
//	d = (sqrt(n + g^2) - sqrt(n)) / alpha
//	z = z + g - d*w
//	n = n + g^2
//	w = 0 if |z| <= l1, else -(z - sign(z)*l1) / ((beta + sqrt(n))/alpha + l2)
//
// The weight is a function of z and n, so weights that did not come from this rule (a loaded model without its slots, a
// random start) would be forgotten at their first gradient. With warm = 1 such a weight (z = 0, n = 0, w not 0) first
// gets the z of which it is the solution:
//
//	z = -w * (beta/alpha + l2) - sign(w)*l1
//
// A zero gradient moves nothing.
//
// Slots: z, n. Settings: alpha = 0 (take the learning rate; keep it constant then, because d adds up over the steps),
// beta = 1 (the paper's), l1 = 0, l2 = 0, warm = 0.
var ftrl = psf.Rule{
	Name:  "ftrl",
	Help:  "FTRL-Proximal: a rate for each coordinate, exact zeros from l1",
	Slots: 2,
	Hyper: []psf.Hyper{
		{Name: "alpha", Help: "rate of each coordinate; 0 takes the learning rate"},
		{Name: "beta", Default: 1, Help: "smooths the first steps"},
		{Name: "l1", Help: "weight of the penalty l1*|w|"},
		{Name: "l2", Help: "weight of the penalty l2/2*w^2"},
		{Name: "warm", Help: "1: start from the weights that are there; 0: from nothing"},
	},
	New: func(h map[string]float64) psf.Step {
		f := ftrlSet{h["alpha"], h["beta"], h["l1"], h["l2"], h["warm"] != 0}
		return psf.Step{
			F32: func(w, g []float32, s [][]float32, rate float64, _ int64) { ftrlStep(w, g, s[0], s[1], rate, f) },
			F64: func(w, g []float64, s [][]float64, rate float64, _ int64) { ftrlStep(w, g, s[0], s[1], rate, f) },
		}
	},
}

type ftrlSet struct {
	alpha, beta, l1, l2 float64
	warm                bool
}

func ftrlStep[T float](w, g, z, n []T, rate float64, f ftrlSet) {
	if f.alpha != 0 {
		rate = f.alpha
	}
	alpha, sparse, first := T(rate), T(f.l1), T(f.beta/rate+f.l2)
	g, z, n = g[:len(w)], z[:len(w)], n[:len(w)]
	for i, x := range w {
		grad := g[i]
		if grad == 0 {
			continue
		}
		if f.warm && n[i] == 0 && z[i] == 0 && x != 0 {
			z[i] = -x*first - sign(x)*sparse
		}
		square := grad * grad
		sum := n[i] + square
		root := T(math.Sqrt(float64(sum)))
		if root > 0 { // the difference of the roots, without cancellation
			z[i] += grad - square/((root+T(math.Sqrt(float64(n[i]))))*alpha)*x
		} else {
			z[i] += grad // a gradient whose square is too small to hold
		}
		n[i] = sum
		w[i] = -shrink(z[i], sparse) / (first + root/alpha)
	}
}

func sign[T float](v T) T {
	if v < 0 {
		return -1
	}
	return 1
}
