package shard

import (
	"thole.example/kernel"
	"thole.example/psf"
)

// stepper makes steps of a rule on rows in place.
type stepper[T number] interface {
	// at is what makes the t-th step at a rate, until the next call.
	at(rate float64, t int64) func(b *kernel.Batch[T])
}

// newStepper is nil for integers, which no rule works on.
func newStepper[T number](rule psf.Step, slots int) stepper[T] {
	switch any(T(0)).(type) {
	case float32:
		return any(newFloats(rule.F32, rule.Rows, slots)).(stepper[T])
	case float64:
		return any(newFloats(rule.F64, rule.Rows, slots)).(stepper[T])
	}
	return nil
}

// floats is the stepper of a float type. It and what it answers with are made once, so that a step allocates nothing.
type floats[T kernel.Float] struct {
	rule func(rate float64, t int64) kernel.Rule // nil where the rule knows only cells
	rows kernel.Rows[T]
	step func(b *kernel.Batch[T])

	cells func(w, g []T, slots [][]T, rate float64, t int64)
	rate  float64
	t     int64
	mean  []T
	slots [][]T
}

func newFloats[T kernel.Float](
	cells func(w, g []T, slots [][]T, rate float64, t int64), rule func(rate float64, t int64) kernel.Rule, slots int,
) *floats[T] {
	f := &floats[T]{rule: rule, cells: cells, slots: make([][]T, slots)}
	if f.step = f.rows.Step; rule == nil {
		f.step = f.byCells
	}
	return f
}

func (f *floats[T]) at(rate float64, t int64) func(b *kernel.Batch[T]) {
	if f.rate, f.t = rate, t; f.rule != nil {
		f.rows.Set(f.rule(rate, t))
	}
	return f.step
}

func (f *floats[T]) byCells(b *kernel.Batch[T]) {
	f.mean = grown(f.mean, b.Dim)
	b.Each(f.mean, f.slots, func(w, g []T, slots [][]T) { f.cells(w, g, slots, f.rate, f.t) })
}

// grown is the slice with room for n elements, whatever is in them.
func grown[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n)
	}
	return s[:n]
}
