package ssp

import (
	"errors"
	"fmt"
	"slices"
)

// A job that goes on from checkpoints has attempts, counted from 1. In each all tasks begin anew, so a job of this package is one
// attempt: a first Join of a later one ends it, and what comes of the earlier one is refused from then on.
//
//	the Join's attempt is   and                                  the job
//	earlier                                                      tells which one has begun (Later)
//	the same                the place is free                    has one task more
//	                        the task is here                     refuses it: two processes claim one task
//	                        the task went away between clocks    gives its place to one that can go on there (Join.Replace)
//	                        else it went away, or has left       tells that the next has to begin (Later)
//	the same or later       the task was given up or has left,   has the Join wait for the end of the attempt
//	                        and the others go on (Join.Optional)
//	the same                so, and another server has taken     tells that they do (Later.Without)
//	                        the task (Join.Elsewhere)
//	the same or earlier     the job has failed                   tells that the next has to begin (Later)
//	later                                                        ends, and the Join begins a new one (Anew)
//	any                     a task has given up for good         refuses it
//
// A job without attempts has number 0, and no other agrees with it.

// turn decides about a first Join by its attempt: it may be admitted if to is that of the Join; else to is the one in which it has to
// come, or with end it ends this job.
func (j *Job[D, R]) turn(e *Join[R]) (to int, end bool, err error) {
	switch {
	case (e.Attempt > 0) != (j.attempt > 0):
		return 0, false, fmt.Errorf("job %q is in attempt %d, and the task joins in attempt %d (0: it has none): %w (start all workers alike)",
			j.name, j.attempt, e.Attempt, Refused)
	case e.Attempt == 0:
		return 0, false, nil
	case errors.Is(j.failed, Over):
		return 0, false, j.failed
	case j.failed != nil:
		return j.attempt + 1, e.Attempt > j.attempt, nil
	}
	if _, err := j.alike(e); err != nil { // a job of other people that has the same name
		return 0, false, err
	}
	j.inherit(e)
	if e.Attempt != j.attempt {
		return max(e.Attempt, j.attempt), e.Attempt > j.attempt, nil
	}
	for _, t := range e.Mine { // the tasks of a process go together
		if m := j.members[t]; m != nil && (m.worker != e.Worker || t == e.Task) && (m.status == Away || m.over()) && !replaceable(e, m) {
			return j.attempt + 1, false, nil
		}
	}
	return j.attempt, false, nil
}

// late is a Join of a task that the others went on without. It is answered when the attempt ends.
type late[R any] struct {
	req     R
	task    int
	attempt int
}

// comesLate has a Join wait that is of such a task, as long as somebody goes on, or answers it. A later one of the task takes the place of
// one that waits.
func (j *Job[D, R]) comesLate(e *Join[R]) bool {
	if j.attempt == 0 || e.Attempt < j.attempt || j.failed != nil {
		return false
	}
	if _, err := j.alike(e); err != nil {
		return false
	}
	for _, t := range e.Mine {
		if m := j.members[t]; m == nil || !m.over() || !m.optional {
			return false
		}
	}
	if e.Elsewhere && e.Attempt == j.attempt {
		j.do(Later[R]{Req: e.Req, Attempt: j.attempt + 1, Without: true})
		return true
	}
	j.late = keep(j.late, func(l *late[R]) bool {
		return !j.dropped(l.req, fmt.Errorf("task %d of job %q has come once more: %w", l.task, j.name, Refused), l.task == e.Task)
	})
	j.late = append(j.late, late[R]{e.Req, e.Task, e.Attempt})
	j.do(Say{fmt.Sprintf("job %q: task %d at %s is back, and waits for the next attempt", j.name, e.Task, e.Name)})
	return true
}

// next has those come that waited for the end of the attempt, unless there is no other.
func (j *Job[D, R]) next(err error) {
	for _, l := range j.late {
		switch {
		case errors.Is(err, Over):
			j.refuse(l.req, err)
		case l.attempt > j.attempt:
			j.do(Anew[R]{l.req})
		default:
			j.do(Later[R]{Req: l.req, Attempt: j.attempt + 1})
		}
	}
	j.late = nil
}

// replaceable reports whether the process of the Join can go on in the place of a member: it knows how far that one was, and there is
// nothing of it that it has not told with a clock.
func replaceable[D any, R comparable](e *Join[R], m *member[D, R]) bool {
	return e.Replace && m.status == Away && len(m.early) == 0 && len(m.running) == 0 && !m.altered
}

// occupied tells why the process of the Join cannot take the places of another one yet: a task of that one is here. Were the Join accepted,
// what that task still pushes would follow it in the log, whose reader takes the process for gone from the Join on.
func (j *Job[D, R]) occupied(e *Join[R]) error {
	for _, t := range e.Mine {
		if m := j.members[t]; m != nil && m.status == Here && m.worker != e.Worker {
			return j.taken(m, e.Worker)
		}
	}
	return nil
}

// vacate has the tasks go away whose places the process of a logged Join took: they had gone away then.
func (j *Job[D, R]) vacate(e *Join[R]) {
	if !e.Replace || !e.first() || e.Attempt != j.attempt || j.ended || j.repeated(e) {
		return
	}
	for _, t := range e.Mine {
		if t >= len(j.members) {
			continue
		}
		if m := j.members[t]; m != nil && m.status == Here && (m.worker != e.Worker || t == e.Task) {
			j.gone(m, "went away before it was done")
		}
	}
}

// inherit gives the process of the Join the places that another one has claimed for tasks of its, and was lost before it could take: none
// of the others of that one is here.
func (j *Job[D, R]) inherit(e *Join[R]) {
	here := func(worker string) bool {
		return slices.ContainsFunc(j.members, func(m *member[D, R]) bool { return m != nil && m.worker == worker && m.status == Here })
	}
	for _, t := range e.Mine {
		if m := j.members[t]; e.Replace && e.Attempt == j.attempt && m != nil && m.status == Claimed && m.worker != e.Worker && !here(m.worker) {
			m.worker = e.Worker
		}
	}
}

// replace gives the place of a member that went away to the process of the Join. What that one pushed and ended with no clock is
// forgotten: it will come again.
func (j *Job[D, R]) replace(e *Join[R], m *member[D, R]) error {
	plan, err := j.alike(e)
	if other := j.conns[e.Conn]; err == nil && other != nil && other != m {
		err = fmt.Errorf("task %d of job %q joins over the connection of task %d: %w", e.Task, j.name, other.task, Refused)
	}
	if err != nil {
		return err
	}
	j.plan = plan
	for _, s := range j.matrices {
		if deltas := s.ahead.take(s.clocks.Of(m.task), m.task); len(deltas) > 0 {
			j.do(Discard[D]{s.ID, deltas})
		}
	}
	j.do(Say{fmt.Sprintf("job %q: task %d at %s continues in place of %s, which %s", j.name, m.task, e.Name, m.name, m.why)})
	m.worker, m.client, m.epoch, m.optional = e.Worker, e.Client, e.Epoch, e.Optional
	m.grace, m.lease = min(max(0, e.Grace), graceLimit), max(0, e.Lease)
	j.connect(m, e)
	j.answer(e.Req, false)
	return nil
}

// supersede ends the job, because a later attempt begins with the Join.
func (j *Job[D, R]) supersede(e *Join[R]) {
	j.fail(fmt.Errorf("attempt %d of job %q has begun with task %d at %s: %w", e.Attempt, j.name, e.Task, e.Name, Aborted))
	for _, m := range j.members {
		if m != nil && m.status == Here {
			delete(j.conns, m.conn)
			j.do(DropConn{Conn: m.conn})
		}
	}
	j.ended = true
	j.do(End{})
	j.do(Anew[R]{e.Req})
}

// rejoins tells why a client that comes back has come to the wrong attempt.
func (j *Job[D, R]) rejoins(e *Join[R]) error {
	switch {
	case e.Attempt == j.attempt:
		return nil
	case e.Attempt < j.attempt:
		return fmt.Errorf("task %d of job %q comes back in attempt %d, and attempt %d has begun: %w",
			e.Task, j.name, e.Attempt, j.attempt, Aborted)
	}
	return fmt.Errorf("task %d of job %q comes back in attempt %d, here it is %d: %w", e.Task, j.name, e.Attempt, j.attempt, NotFound)
}

// Attempt is the number of the attempt that the job is, 0 if it has none.
func (j *Job[D, R]) Attempt() int { return j.attempt }
