// Package optim holds the update rules, which turn mean gradients into changes of weights beside the data on the
// servers, and the schedules of learning rates, which the workers follow.
//
// A rule works element by element on slices of float32 or float64, so the values do not depend on how a matrix is cut.
// Each rule stands in a file of its own with its equations, its slots in order and its settings; w is the weight, g the
// mean gradient, rate the learning rate of the step, and t the number of the step from 1 on. Except where a rule says
// otherwise, a zero gradient moves nothing but what decay (l1, l2) and momentum move.
package optim

import (
	"fmt"
	"strings"

	"thole.example/psf"
)

// Rules is the table of update rules, a new slice on every call; append to it to add rules of your own.
func Rules() []psf.Rule {
	return []psf.Rule{sgd, momentum, adagrad, adam, ftrl}
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
	return nil, fmt.Errorf("update rule %q, want one of %s", name, strings.Join(names, " "))
}

type float interface{ float32 | float64 }

// shrink is the proximal step of l1: it moves v towards zero by by, and stops there.
func shrink[T float](v, by T) T {
	switch {
	case v > by:
		return v - by
	case v < -by:
		return v + by
	case v != v:
		return v
	}
	return 0
}

// Settings that several rules share.
var (
	l1 = psf.Hyper{Name: "l1", Help: "weight of the penalty l1*|w|, applied as a proximal step"}
	l2 = psf.Hyper{Name: "l2", Help: "weight of the penalty l2/2*w^2"}
)
