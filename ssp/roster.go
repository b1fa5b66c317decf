package ssp

import (
	"fmt"
	"time"
)

// missingLimit is how many missing tasks an answer names.
const missingLimit = 16

// soon is how long those who wait for all to join are not told of one more. Of 1,000 tasks that come one after the other and wait for all,
// each would be told of each.
const soon = time.Second

// roster waits for tasks to join.
type roster[D any, R comparable] struct {
	Members[R]
	of  *member[D, R]
	due timer // when it is told of what is new; not set: nothing is
}

func (j *Job[D, R]) roster(e *Members[R]) {
	m := j.worker(e.Conn, e.Req)
	if m == nil {
		return
	}
	if err := j.without(m, e.Without); err != nil {
		j.refuse(e.Req, err)
		return
	}
	j.rosters = append(j.rosters, roster[D, R]{*e, m, timer{j.now, true}}) // what is new is told at once
	j.arrived()
}

// arrived answers those who know less of the members than the job does: soon, and at once if nobody is missing or one was refused.
func (j *Job[D, R]) arrived() {
	var missing []int
	j.rosters = keep(j.rosters, func(r *roster[D, R]) bool {
		switch fresh := j.joined > r.Joined; {
		case j.joined == len(j.members) || j.refusals > r.Refusals:
		case !fresh:
			r.due = timer{}
			return true
		case !r.due.set:
			r.due.upTo(j.now + soon)
			fallthrough
		case j.now < r.due.at:
			j.timer.upTo(r.due.at)
			return true
		}
		if missing == nil {
			missing = j.missing()
		}
		j.do(Roster[R]{r.Req, j.joined, missing, j.present, len(j.late), j.refusals, j.reason})
		return false
	})
}

// without gives up tasks, of which none may be the one that says so, or one that the job cannot go on without.
func (j *Job[D, R]) without(by *member[D, R], tasks []int) error {
	for _, t := range tasks {
		if t < 0 || t >= len(j.members) {
			return fmt.Errorf("job %q is to go on without task %d, want one in [0,%d): %w", j.name, t, len(j.members), Malformed)
		}
		if m := j.members[t]; m != nil && m.status != Claimed && !m.over() && (!m.optional || m == by) {
			return fmt.Errorf("job %q is to go on without task %d, which says so or is not optional: %w", j.name, t, Refused)
		}
	}
	for _, t := range tasks {
		why := "was given up"
		switch m := j.members[t]; {
		case m == nil || m.status == Claimed:
			why = "did not join"
		case m.status == Here:
			j.do(DropConn{Conn: m.conn})
		}
		j.giveUp(GiveUp{t, why})
	}
	return nil
}

func (j *Job[D, R]) missing() (tasks []int) {
	for t, m := range j.members {
		if len(tasks) == missingLimit {
			break
		}
		if m == nil || m.status == Claimed {
			tasks = append(tasks, t)
		}
	}
	return tasks
}
