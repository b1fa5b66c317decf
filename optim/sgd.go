package optim

import "thole.example/psf"

// sgd is gradient descent with both penalties applied as proximal steps (Duchi and Singer, Efficient Online and Batch
// Learning Using Forward Backward Splitting, 2009):
//
//	u = w - rate*g
//	w = sign(u) * max(|u| - rate*l1, 0) / (1 + rate*l2)
//
// No slots. Settings: l1 = 0, l2 = 0.
var sgd = psf.Rule{
	Name:  "sgd",
	Help:  "gradient descent; l1 and l2 as proximal steps",
	Hyper: []psf.Hyper{l1, l2},
	Rates: psf.Rates{Classes: 0.5, Numbers: 0.1},
	New: func(h map[string]float64) psf.Step {
		l1, l2 := h["l1"], h["l2"]
		return psf.Step{
			F32: func(w, g []float32, _ [][]float32, rate float64, _ int64) { sgdStep(w, g, rate, l1, l2) },
			F64: func(w, g []float64, _ [][]float64, rate float64, _ int64) { sgdStep(w, g, rate, l1, l2) },
		}
	},
}

func sgdStep[T float](w, g []T, rate, l1, l2 float64) {
	step, by, keep := T(rate), T(rate*l1), T(1/(1+rate*l2))
	g = g[:len(w)]
	if by == 0 {
		for i, v := range w {
			w[i] = (v - step*g[i]) * keep
		}
		return
	}
	for i, v := range w {
		w[i] = shrink(v-step*g[i], by) * keep
	}
}
