// Package optim holds the update rules, which turn mean gradients into changes of weights beside the data on the
// servers, and the schedules of learning rates, which the workers follow.
//
// A rule works element by element on float32 or float64, so the values do not depend on how a matrix is cut; its loops are
// in package kernel. Each rule stands in a file of its own with its equations, its slots in order and its settings; w is
// the weight, g the mean gradient, rate the learning rate of the step, and t the number of the step from 1 on. Except where
// a rule says otherwise, a zero gradient moves nothing but what decay (l1, l2, decay) and momentum move. In sparse matrices,
// whose steps name some columns, the others catch up on that later, or stand still; each rule says which.
package optim

import (
	"thole.example/internal/spell"
	"thole.example/kernel"
	"thole.example/psf"
)

// Rules is the table of update rules, a new slice on every call; append to it to add rules of your own.
func Rules() []psf.Rule {
	return []psf.Rule{sgd, momentum, nesterov, adagrad, rmsprop, adadelta, adam, adamw, amsgrad, ftrl}
}

// Find is the rule of that name in the table; the error lists the names there are. nil is the table Rules.
func Find(rules []psf.Rule, name string) (*psf.Rule, error) {
	if rules == nil {
		rules = Rules()
	}
	names := make([]string, len(rules))
	for i := range rules {
		if rules[i].Name == name {
			return &rules[i], nil
		}
		names[i] = rules[i].Name
	}
	return nil, spell.Unknown("update rule", name, names)
}

// step is a rule of package kernel, bound to its settings, in all forms that servers ask for.
func step(rule func(rate float64, t int64) kernel.Rule) psf.Step {
	return psf.Step{
		F32: func(w, g []float32, slots [][]float32, rate float64, t int64) {
			kernel.Cells(rule(rate, t), w, g, slots)
		},
		F64: func(w, g []float64, slots [][]float64, rate float64, t int64) {
			kernel.Cells(rule(rate, t), w, g, slots)
		},
		Rows: rule,
	}
}

// idle is the step of a rule with what steps without gradients do.
func idle(s psf.Step, form kernel.Form, drift func(rate float64) kernel.Drift) psf.Step {
	s.Idle = &kernel.Idle{Form: form, Step: drift}
	return s
}

// fading is idle for a rule whose slots fade while the weights stand, unless they have a decay, which has no closed form.
func fading(s psf.Step, by, l2 float64) psf.Step {
	if l2 != 0 {
		return s
	}
	return idle(s, kernel.Fades, func(float64) kernel.Drift { return kernel.Drift{WW: 1, VV: by} })
}

// Settings that several rules share.
var (
	l1 = psf.Hyper{Name: "l1", Help: "weight of the penalty l1*|w|, applied as a proximal step"}
	l2 = psf.Hyper{Name: "l2", Help: "weight of the penalty l2/2*w^2"}
)
