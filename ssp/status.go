package ssp

import (
	"fmt"
	"strings"
)

// String is what a status command shows: every task with its clocks, when it was last heard of, and who waits for whom.
func (j *Job[D, R]) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "job %q: %d tasks under %v, %d joined, %d finished\n", j.name, len(j.members), j.bound, j.joined, j.finished)
	if j.failed != nil {
		fmt.Fprintf(&b, "failed: %v\n", j.failed)
	}
	for t, m := range j.members {
		if m != nil && m.status != Claimed {
			fmt.Fprintf(&b, "task %d %v at %s, heard of %v ago, change %d; clocks:%s\n",
				t, m.status, m.name, seconds(j.now-m.seen), m.last, j.clocks(t))
		}
	}
	for _, s := range j.matrices {
		if n := s.ahead.deltas(); n > 0 {
			fmt.Fprintf(&b, "%v: %d deltas staged from clock %d on\n", s, n, s.ahead.clocks[0].clock)
		}
	}
	for _, m := range j.members {
		if m != nil && len(m.early) > 0 {
			fmt.Fprintf(&b, "task %d: change %d has not come, later ones wait: %d\n", m.task, m.last+1, len(m.early))
		}
	}
	for i := range j.pulls {
		p := &j.pulls[i]
		s := j.matrices[p.needs[p.next].Matrix]
		fmt.Fprintf(&b, "%v waits for clock %d of %v for %v: %s\n",
			p, j.least(p, p.needs[p.next]), s, seconds(j.now-p.since), j.slow(s))
	}
	if missing := j.missing(); len(missing) > 0 {
		fmt.Fprintf(&b, "not joined: %v of %d\n", missing, len(j.members)-j.joined)
	}
	return b.String()
}

// clocks is a task's clock of the job and of each matrix.
func (j *Job[D, R]) clocks(task int) string {
	var b strings.Builder
	for _, s := range j.matrices {
		name := s.Name
		if s.ID == 0 {
			name = "job"
		}
		if n := s.clocks.Of(task); n == Finished {
			fmt.Fprintf(&b, " %s finished", name)
		} else {
			fmt.Fprintf(&b, " %s %d", name, n)
		}
	}
	return b.String()
}
