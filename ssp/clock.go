package ssp

import (
	"fmt"
	"math"
	"slices"
)

// Finished is the clock of a task that will not tick again: nobody waits for it.
const Finished = math.MaxInt32

// Clocks knows how far each task is. The zero value has no task.
type Clocks struct {
	at        []int
	slowest   int
	atSlowest int // how many tasks are at the slowest clock
}

// NewClocks has the tasks 0..tasks-1, all at clock 0.
func NewClocks(tasks int) *Clocks { return &Clocks{at: make([]int, tasks), atSlowest: tasks} }

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
		if c.atSlowest--; c.atSlowest == 0 {
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
			c.atSlowest++
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
