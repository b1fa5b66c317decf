package optim

import (
	"thole.example/kernel"
	"thole.example/psf"
)

// sgd is gradient descent with both penalties applied as proximal steps (Duchi and Singer, Efficient Online and Batch
// Learning Using Forward Backward Splitting, 2009):
//
//	u = w - rate*g
//	w = sign(u) * max(|u| - rate*l1, 0) / (1 + rate*l2)
//
// In sparse matrices columns catch up on steps without gradients.
//
// No slots. Settings: l1 = 0, l2 = 0.
var sgd = psf.Rule{
	Name:  "sgd",
	Help:  "gradient descent; l1 and l2 as proximal steps",
	Hyper: []psf.Hyper{l1, l2},
	Rates: psf.Rates{Classes: 0.5, Numbers: 0.1},
	New: func(h map[string]float64) psf.Step {
		l1, l2 := h["l1"], h["l2"]
		sgd := step(func(rate float64, _ int64) kernel.Rule { return kernel.SGD(rate, l1, l2) })
		form := kernel.Scales
		switch {
		case l1 == 0 && l2 == 0:
			return sgd
		case l1 != 0:
			form = kernel.Shrinks
		}
		return idle(sgd, form, func(rate float64) kernel.Drift {
			keep := 1 / (1 + float64(rate*l2))
			return kernel.Drift{WW: keep, VV: 1, Less: rate * l1 * keep}
		})
	},
}
