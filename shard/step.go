package shard

import (
	"thole.example/kernel"
	"thole.example/psf"
)

// stepper makes steps of a rule on rows in place.
type stepper[T number] interface {
	// at is what makes the t-th step at a rate.
	at(rate float64, t int64) func(b *kernel.Batch[T])
}

// newStepper is nil for integers, which no rule works on.
func newStepper[T number](rule psf.Step, slots int) stepper[T] {
	switch any(T(0)).(type) {
	case float32:
		return any(&floats[float32]{rule.F32, rule.Rows32, slots}).(stepper[T])
	case float64:
		return any(&floats[float64]{rule.F64, rule.Rows64, slots}).(stepper[T])
	}
	return nil
}

// floats is the stepper of a float type.
type floats[T kernel.Float] struct {
	cells func(w, g []T, slots [][]T, rate float64, t int64)
	rows  func(rate float64, t int64) func(b *kernel.Batch[T]) // nil where the rule knows only cells
	slots int
}

func (f *floats[T]) at(rate float64, t int64) func(b *kernel.Batch[T]) {
	if f.rows != nil {
		return f.rows(rate, t)
	}
	slots := make([][]T, f.slots)
	var mean []T
	return func(b *kernel.Batch[T]) {
		mean = grown(mean, b.Dim)
		b.Each(mean, slots, func(w, g []T, slots [][]T) { f.cells(w, g, slots, rate, t) })
	}
}

// grown is the slice with room for n elements, whatever is in them.
func grown[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n)
	}
	return s[:n]
}
