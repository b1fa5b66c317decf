// Package ssp decides who must wait and what may be applied: clocks, the staleness bound, readers that wait, deltas that
// are not yet due, and who is part of a job. It is pure: no goroutine, no lock, no clock of its own; its user provides
// them.
//
// A task's clock of a matrix counts its finished steps. Deltas of step n (clock n before the tick) are staged and become
// visible when the slowest task has finished step n, all together and in the order of (clock, task). A reader at clock c
// under bound s waits until the slowest clock is at least c-s:
//
//	bound  read at clock c sees                        promise
//	0      exactly the steps 0..c-1 of all tasks (BSP) same job, same bits, whatever the timing
//	s      at least 0..c-s-1, whole steps only (SSP)   nobody is more than s steps ahead
//	ASP    whatever has arrived                        no waiting
//
// Waiting for the slowest clock alone is not BSP: a slow reader would see a fast task's next deltas. Staging is what
// makes the first line true.
//
// A [Job] is a state machine: what happens is an [Event], what is to be done about it an [Effect], and testdata/job tells
// its stories. A client numbers its changes; each is executed once and in the order of the numbers, whatever is lost,
// repeated or overtaken on the way:
//
//	number n comes          and n is                  the job
//	last+1                  in its turn               executes it, then what waited for it
//	above                   early                     keeps it, at most Window of them
//	last-Window+1 to last   a duplicate               answers as it did, and changes nothing
//	below                   out of any use            refuses it
package ssp

import (
	"fmt"
	"math"
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
