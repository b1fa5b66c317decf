package ssp

import "fmt"

// goneAway is why a task is away whose connection has ended.
const goneAway = "went away before it was done"

// gone lets the task of a connection that has ended come back, or gives it up.
func (j *Job[D, R]) gone(m *member[D, R], why string) {
	failed := j.failed != nil
	j.parted(m, why) // a job that fails by it waits for the task, which will hear in which attempt to come
	m.status, m.seen, m.why = Away, j.now, why
	j.disconnect(m, "lost its connection")
	if m.grace == 0 || failed {
		j.lose(m, why, Aborted)
	} else {
		j.expect(m)
	}
	j.end()
}

// lose gives a task up that is not connected any more: the job fails, with an error of the kind, or goes on without it.
func (j *Job[D, R]) lose(m *member[D, R], why string, kind Kind) {
	m.status = Lost
	j.present--
	j.finished++
	who := fmt.Sprintf("task %d", m.task)
	if m.name != "" {
		who += " at " + m.name
	}
	switch {
	case j.failed != nil:
	case !m.optional || kind == Over:
		j.fail(fmt.Errorf("job %q: %s %s: %w", j.name, who, why, kind))
	default:
		if j.recorded {
			j.do(GivenUp{m.task, why})
		}
		j.do(Say{fmt.Sprintf("job %q: %s %s, the others go on without it", j.name, who, why)})
		for _, s := range j.matrices { // a clock that it did not end counts as not begun
			if deltas := s.ahead.take(s.clocks.Of(m.task), m.task); len(deltas) > 0 {
				j.do(Discard[D]{s.ID, deltas})
			}
		}
		_ = j.finish(m) // an error fails the job, and everybody hears of it
	}
}

// giveUp loses a task that is here or away, or did not join.
func (j *Job[D, R]) giveUp(e GiveUp) {
	if e.Task < 0 || e.Task >= len(j.members) || j.members[e.Task] != nil && j.members[e.Task].over() {
		return
	}
	m := j.toLose(e.Task)
	if m.status == Here {
		j.disconnect(m, e.Why)
	}
	j.lose(m, e.Why, Aborted)
	j.end()
}

// toLose is the task as one that can be lost: one that has not joined counts as one that has, and is optional.
func (j *Job[D, R]) toLose(task int) *member[D, R] {
	m := j.members[task]
	if m == nil {
		m = &member[D, R]{task: task}
		j.members[task] = m
	}
	if m.status == Claimed {
		m.status, m.optional = Away, true
		j.joined++
		j.present++
	}
	return m
}

// finish ends all clocks of the task. After an error the job has failed.
func (j *Job[D, R]) finish(m *member[D, R]) error {
	moved := false
	for _, s := range j.matrices {
		if clock := s.clocks.Of(m.task); s.own() {
			if s.ahead.gradients(clock, m.task) {
				err := fmt.Errorf("job %q: %w", j.name, s.weightless())
				j.fail(err)
				return err
			}
			j.apply(s, clock, s.ahead.take(clock, m.task), 0, 0)
		}
		moved = s.tick(m.task, Finished) || moved
	}
	if !moved {
		return nil
	}
	return j.advance()
}

func (j *Job[D, R]) leave(e *Leave[R]) {
	m := j.sender(e.Conn, e.Req)
	if m == nil {
		return
	}
	if len(m.early) > 0 {
		j.refuse(e.Req, fmt.Errorf("task %d of job %q leaves, but its change %d has not come: %w",
			m.task, j.name, m.last+1, Refused))
		return
	}
	j.parted(m, "has left")
	var err error
	if j.failed == nil {
		err = j.finish(m)
	}
	m.status = Left
	j.present--
	j.finished++
	j.disconnect(m, "has left")
	if err != nil {
		j.refuse(e.Req, err)
	} else {
		j.answer(e.Req, false)
	}
	j.end()
}

func (j *Job[D, R]) quit(e *Quit[R]) {
	m := j.sender(e.Conn, e.Req)
	if m == nil {
		return
	}
	why := "gave up"
	if e.Reason != "" {
		why += " (" + e.Reason + ")"
	}
	kind := Aborted
	if e.Final {
		kind = Over
	}
	j.parted(m, why)
	j.disconnect(m, why)
	if j.attempt > 0 && !e.Without { // it comes back with the next
		m.optional = false
	}
	j.lose(m, why, kind)
	j.answer(e.Req, false)
	j.end()
}

// end tells that nobody is left who is part of the job.
func (j *Job[D, R]) end() {
	if j.deserted() {
		j.fail(fmt.Errorf("attempt %d of job %q: nobody is here any more, and not all had joined: %w", j.attempt, j.name, Aborted))
	}
	if !j.ended && len(j.members) > 0 && j.present == 0 && (j.finished == len(j.members) || j.failed != nil) {
		j.ended = true
		for _, l := range j.late {
			j.do(Ended[R]{l.req})
		}
		j.late = nil
		j.do(End{})
	}
}

// deserted reports whether nobody is in an attempt any more that not all had joined: a worker that comes back when the job has come to its
// end waits for the others, hears so, and leaves; or it is lost while it waits.
func (j *Job[D, R]) deserted() bool {
	return j.attempt > 0 && j.failed == nil && j.present == 0 && j.finished > 0 && j.finished < len(j.members)
}
