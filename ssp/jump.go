package ssp

import (
	"fmt"
	"slices"
)

// Jump moves the clock of all matrices, and of the job, to one that is not lower: the shell has replaced the values by those of a later
// moment. It is for jobs without tasks, such as the one of a server that serves checkpoints to readers. A Look for exactly that clock is
// answered, one for an earlier clock is refused as Passed, and one for a later clock waits.
type Jump struct{ Clock int }

func (Jump) event() {}

func (j *Job[D, R]) jump(e Jump) {
	if e.Clock < 0 || e.Clock > Finished || j.present > 0 || j.joined < len(j.members) {
		j.fail(fmt.Errorf("job %q: a jump to clock %d with %d of %d tasks here: %w", j.name, e.Clock, j.present, len(j.members), Malformed))
		return
	}
	for _, s := range j.matrices {
		if now := slices.Max(s.clocks.at); now > e.Clock {
			j.fail(fmt.Errorf("job %q: %v jumps from clock %d to %d, want a later one: %w", j.name, s, now, e.Clock, Malformed))
			return
		}
	}
	for _, s := range j.matrices {
		for task := range s.clocks.at {
			s.clocks.at[task] = e.Clock
		}
		s.clocks.atSlowest = 0
		s.clocks.count()
		s.shown, s.moved = e.Clock, true
		j.do(Published{s.ID, e.Clock})
	}
	j.wake()
}
