package ssp

import (
	"cmp"
	"slices"
)

// ahead keeps what is not yet due of one matrix: clocks ascending, and in each what came in the order in which it came.
type ahead[D any] struct {
	clocks []step[D]
	spare  []entry[D] // of a step that is done, to be used again
}

type step[D any] struct {
	clock   int
	entries []entry[D]
}

// entry is a delta of a task, or its tick with what belongs to it.
type entry[D any] struct {
	task         int
	tick         bool
	weight, rate float64
	delta        D
	weightless   bool
}

// gradient reports whether it is a delta that needs a weight, if there is a rule.
func (e *entry[D]) gradient() bool { return !e.tick && !e.weightless }

// find is the place of a clock; there reports whether it is there.
func (a *ahead[D]) find(clock int) (at int, there bool) {
	return slices.BinarySearchFunc(a.clocks, clock, func(s step[D], n int) int { return cmp.Compare(s.clock, n) })
}

func (a *ahead[D]) add(clock int, e entry[D]) {
	i, there := a.find(clock)
	if !there {
		a.clocks = slices.Insert(a.clocks, i, step[D]{clock, a.spare})
		a.spare = nil
	}
	a.clocks[i].entries = append(a.clocks[i].entries, e)
}

// due removes the first clock if it is below slowest, with its entries in the order of tasks.
func (a *ahead[D]) due(slowest int) (s step[D], ok bool) {
	if len(a.clocks) == 0 || a.clocks[0].clock >= slowest {
		return s, false
	}
	s = a.clocks[0]
	a.clocks = slices.Delete(a.clocks, 0, 1)
	slices.SortStableFunc(s.entries, func(x, y entry[D]) int { return cmp.Compare(x.task, y.task) })
	return s, true
}

// recycle takes the entries of a step that is done.
func (a *ahead[D]) recycle(entries []entry[D]) {
	clear(entries)
	a.spare = entries[:0]
}

// gradients reports whether the task, which has not ended the clock, has some at it.
func (a *ahead[D]) gradients(clock, task int) bool {
	i, there := a.find(clock)
	return there && slices.ContainsFunc(a.clocks[i].entries, func(e entry[D]) bool { return e.task == task && e.gradient() })
}

// take removes the deltas of the task, which has not ended the clock.
func (a *ahead[D]) take(clock, task int) (deltas []D) {
	i, there := a.find(clock)
	if !there {
		return nil
	}
	entries := keep(a.clocks[i].entries, func(e *entry[D]) bool {
		if e.task == task {
			deltas = append(deltas, e.delta)
			return false
		}
		return true
	})
	a.clocks[i].entries = entries
	if len(entries) == 0 {
		a.clocks = slices.Delete(a.clocks, i, i+1)
		a.spare = entries
	}
	return deltas
}

// of is the deltas of a task, clock after clock.
func (a *ahead[D]) of(task int) (deltas []D) {
	for _, s := range a.clocks {
		for i := range s.entries {
			if e := &s.entries[i]; e.task == task && !e.tick {
				deltas = append(deltas, e.delta)
			}
		}
	}
	return deltas
}

// all removes everything.
func (a *ahead[D]) all() (deltas []D) {
	for _, s := range a.clocks {
		for _, e := range s.entries {
			if !e.tick {
				deltas = append(deltas, e.delta)
			}
		}
	}
	*a = ahead[D]{}
	return deltas
}

// deltas counts them.
func (a *ahead[D]) deltas() (n int) {
	for _, s := range a.clocks {
		for i := range s.entries {
			if !s.entries[i].tick {
				n++
			}
		}
	}
	return n
}
