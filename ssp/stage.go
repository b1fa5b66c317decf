package ssp

import (
	"cmp"
	"slices"
)

// Gate parks readers until a clock is reached. The zero value is empty.
type Gate[W any] struct {
	parked []waiting[W]
}

type waiting[W any] struct {
	need int
	who  W
}

// Park remembers a reader that needs clock n.
func (g *Gate[W]) Park(n int, who W) { g.parked = append(g.parked, waiting[W]{n, who}) }

// Reach removes and returns the readers that need n or less, in the order they were parked. The caller wakes them.
func (g *Gate[W]) Reach(n int) []W {
	var woken []W
	g.parked = slices.DeleteFunc(g.parked, func(w waiting[W]) bool {
		if w.need <= n {
			woken = append(woken, w.who)
		}
		return w.need <= n
	})
	return woken
}

// Drop forgets the readers that the function picks; they are not woken.
func (g *Gate[W]) Drop(gone func(W) bool) {
	g.parked = slices.DeleteFunc(g.parked, func(w waiting[W]) bool { return gone(w.who) })
}

// Stage keeps deltas until they are due. The zero value is empty.
type Stage[D any] struct {
	kept []staged[D]
}

type staged[D any] struct {
	clock, task int
	delta       D
}

// Put keeps the deltas of a task's clock n. Deltas of one task and clock keep the order they were put in.
func (s *Stage[D]) Put(n, task int, deltas ...D) {
	for _, d := range deltas {
		s.kept = append(s.kept, staged[D]{n, task, d})
	}
}

// Fold hands over every clock below slowest: clocks ascending, and within a clock the deltas of all tasks, tasks
// ascending. It calls apply once for each clock that has deltas, and forgets what it handed over. After an error of
// apply the rest stays.
func (s *Stage[D]) Fold(slowest int, apply func(clock int, deltas []D) error) error {
	slices.SortStableFunc(s.kept, func(a, b staged[D]) int {
		return cmp.Or(cmp.Compare(a.clock, b.clock), cmp.Compare(a.task, b.task))
	})
	for len(s.kept) > 0 && s.kept[0].clock < slowest {
		clock, n := s.kept[0].clock, 1
		for n < len(s.kept) && s.kept[n].clock == clock {
			n++
		}
		due := make([]D, n)
		for i := range due {
			due[i] = s.kept[i].delta
		}
		s.kept = slices.Delete(s.kept, 0, n)
		if err := apply(clock, due); err != nil {
			return err
		}
	}
	return nil
}

// Len is the number of deltas kept.
func (s *Stage[D]) Len() int { return len(s.kept) }
