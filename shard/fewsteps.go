package shard

import (
	"thole.example/kernel"
	"thole.example/matrix"
)

// FewSteps applies one delta of a few columns to each of several partitions at once, as [Few] reads. Its memory is used again. The zero
// value is empty.
type FewSteps struct {
	steps []fewStep
	at    []uint32 // of each column of all steps: the line of the index where its search begins, then its row

	// bound is the t-th step of the rule of a matrix, which partitions share; nil: there was none.
	bound any
	of    *matrix.Meta
	t     int64
}

type fewStep struct {
	of    *Shard
	delta Delta
	clock int64
	to    fewStepper // nil: there are no columns
}

// fewStepper is a store whose columns are found by key, and change by themselves. The methods are called in this order.
type fewStepper interface {
	fewReader
	// findToStep is findFew for a step, of all that is kept of a column.
	findToStep(keys []int64, at []uint32)
	// plain reports whether a step changes nothing but the columns that it names, and makes and removes none but these.
	plain() bool
	// bind is the t-th step of the rule, for stores of the same matrix until the next call.
	bind(rate float64, t int64) any
	// stepFew makes the t-th step, which is bound, or without one adds the delta to columns in the given rows. It reports whether it is
	// done: not where some columns are missing.
	stepFew(d *Delta, rows []uint32, bound any, scale float64, t int64) bool
}

// Add adds a delta that came with the clock (see [Shard.SetClock]), and reports whether it did; if not, [Shard.Apply] has to be called for
// it. With a rule a delta without keys is a step that names no column.
func (f *FewSteps) Add(s *Shard, d Delta, clock int64) bool {
	to, ok := s.store.(fewStepper)
	if !ok || d.Keys == nil || !to.plain() || len(d.Keys) > 0 && d.Rows != s.at.Rows || s.Fits(d) != nil {
		return false
	}
	if len(d.Keys) == 0 {
		to = nil
	}
	f.steps = append(f.steps, fewStep{s, d, clock, to})
	return true
}

// Apply applies all deltas, as [Shard.Apply] does each of them, and removes them. The partitions must be the caller's from before it adds
// them until then. It calls left, with their place among those that were added, for those which are not applied, as a column is missing:
// these are for Shard.Apply.
func (f *FewSteps) Apply(weight, rate float64, left func(i int)) {
	defer f.reset()
	f.at = f.at[:0]
	for i := range f.steps {
		if s := &f.steps[i]; s.to != nil {
			from := len(f.at)
			f.at = append(f.at, make([]uint32, len(s.delta.Keys))...)
			s.to.locateFew(s.delta.Keys, f.at[from:])
		}
	}
	at := f.at
	for i := range f.steps {
		if s := &f.steps[i]; s.to != nil {
			s.to.findToStep(s.delta.Keys, at[:len(s.delta.Keys)])
			at = at[len(s.delta.Keys):]
		}
	}
	at = f.at
	for i := range f.steps {
		s := &f.steps[i]
		n := len(s.delta.Keys)
		if !f.apply(s, at[:n], weight, rate) {
			left(i)
		}
		at = at[n:]
	}
}

// apply applies the delta, whose columns are in the given rows, 0 if one is missing. It reports whether it did.
func (f *FewSteps) apply(s *fewStep, rows []uint32, weight, rate float64) bool {
	of := s.of
	switch {
	case of.rule == nil:
		if s.to != nil && !s.to.stepFew(&s.delta, rows, nil, 1, of.steps+s.clock) {
			return false
		}
		of.SetClock(s.clock)
	case weight > 0:
		if s.to != nil {
			if f.bound == nil || f.of != of.meta || f.t != of.steps+1 {
				f.of, f.t = of.meta, of.steps+1
				f.bound = s.to.bind(rate, f.t)
			}
			if !s.to.stepFew(&s.delta, rows, f.bound, 1/weight, f.t) {
				return false
			}
		}
		of.SetClock(s.clock)
		of.steps++
	}
	return true
}

func (f *FewSteps) reset() {
	clear(f.steps)
	f.steps = f.steps[:0]
	f.bound, f.of = nil, nil
}

func (k *keyed[T]) plain() bool {
	return k.life == nil && k.lazy == nil && k.buckets == nil && k.slab.paging == nil
}

func (k *keyed[T]) findToStep(keys []int64, at []uint32) {
	k.findRows(keys, at)
	k.slab.fetch(at, 0, k.slab.width)
}

func (k *keyed[T]) bind(rate float64, t int64) any { return k.stepper.at(rate, t) }

func (k *keyed[T]) stepFew(d *Delta, rows []uint32, bound any, scale float64, t int64) bool {
	for _, row := range rows {
		if row == 0 {
			return false
		}
	}
	step, ok := bound.(func(*kernel.Batch[T]))
	if !ok {
		step = kernel.AddRows[T]
	}
	c := k.columns(d)
	for at := 0; at < len(rows); at += block {
		some := rows[at:min(at+block, len(rows))]
		k.prepare(some)
		k.run(k.aim(k.batch(0, c.n, scale), some, nil, c.val[at*c.n:]), c.keys[at:], t, step)
	}
	clear(k.fold.grads[:min(len(rows), block)]) // what they point to belongs to the caller
	return true
}
