// Package ssp decides who must wait and what may be applied: clocks, the staleness bound, readers that wait, and deltas
// that are not yet due. It is pure: no goroutine, no lock, no time; its user provides them.
//
// A task's clock counts its finished steps. Deltas of step n (clock n before the tick) are staged and become visible
// when the slowest task has finished step n, all together and in the order of (clock, task). A reader at clock c under
// bound s waits until the slowest clock is at least c-s:
//
//	bound  read at clock c sees                        promise
//	0      exactly the steps 0..c-1 of all tasks (BSP) same job, same bits, whatever the timing
//	s      at least 0..c-s-1, whole steps only (SSP)   nobody is more than s steps ahead
//	ASP    whatever has arrived                        no waiting
//
// Waiting for the slowest clock alone is not BSP: a slow reader would see a fast task's next deltas. Staging is what
// makes the first line true.
package ssp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Bound is how many steps a reader may run ahead of what it reads.
type Bound int

// The protocols: BSP is staleness 0, ASP no bound at all; between them SSP(k) is Bound(k).
const (
	BSP Bound = 0
	ASP Bound = math.MaxInt32
)

// String is "BSP", "SSP(k)" or "ASP".
func (b Bound) String() string {
	switch b {
	case BSP:
		return "BSP"
	case ASP:
		return "ASP"
	}
	return fmt.Sprintf("SSP(%d)", int(b))
}

// Need is the slowest clock that a reader at clock now must wait for.
func (b Bound) Need(now int) int {
	if b == ASP || int(b) > now {
		return 0
	}
	return now - int(b)
}

// Fresh reports whether values as of clock have may be used by a reader at clock now.
func (b Bound) Fresh(have, now int) bool { return have >= b.Need(now) }

// Finished is the clock of a task that will not tick again: nobody waits for it.
const Finished = math.MaxInt32

// Clocks knows how far each task is. The zero value has no task.
type Clocks struct {
	at      []int
	slowest int
	behind  int // how many tasks are at the slowest clock
}

// NewClocks has the tasks 0..tasks-1, all at clock 0.
func NewClocks(tasks int) *Clocks { return &Clocks{at: make([]int, tasks), behind: tasks} }

// Tick moves a task to clock n and answers with the slowest clock. A clock never goes back, and a task that is not of
// the job is an error.
func (c *Clocks) Tick(task, n int) (slowest int, err error) {
	if task < 0 || task >= len(c.at) {
		return c.Slowest(), fmt.Errorf("ssp: task %d, want one of %d tasks", task, len(c.at))
	}
	now := c.at[task]
	if n < now {
		return c.Slowest(), fmt.Errorf("ssp: task %d goes to clock %d, but was at %d", task, n, now)
	}
	c.at[task] = n
	if now == c.slowest && n > now {
		if c.behind--; c.behind == 0 {
			c.count()
		}
	}
	return c.Slowest(), nil
}

// count finds the slowest clock anew.
func (c *Clocks) count() {
	c.slowest = slices.Min(c.at)
	for _, n := range c.at {
		if n == c.slowest {
			c.behind++
		}
	}
}

// Of is the clock of a task, -1 if there is none.
func (c *Clocks) Of(task int) int {
	if task < 0 || task >= len(c.at) {
		return -1
	}
	return c.at[task]
}

// Slowest is the smallest clock, Finished if every task is or there is none.
func (c *Clocks) Slowest() int {
	if len(c.at) == 0 {
		return Finished
	}
	return c.slowest
}

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
