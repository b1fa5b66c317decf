package ssp

import (
	"fmt"
	"slices"
	"time"
)

// Job decides everything that the tasks of one name share on one server: who is a member, what may be applied and when,
// who waits for what, which changes were made before, and when a task that went away is given up. It is a state machine:
// Step takes an event and answers with what is to be done about it. The same events give the same effects.
//
// D is a delta, which the job keeps until it is due and hands back; R is a request, which it answers. One goroutine at a
// time may use a Job, for queries too.
type Job[D any, R comparable] struct {
	name     string
	bound    Bound
	plan     string
	attempt  int
	members  []*member[D, R] // by task; nil: never heard of
	conns    map[int64]*member[D, R]
	joined   int              // tasks that have joined, ever
	present  int              // tasks that are members: connected, or expected back
	finished int              // tasks that have left or are lost
	matrices []*series[D]     // by id; 0 is the job's own clock
	pulls    []pull[D, R]     // that wait, in the order in which they came
	rosters  []roster[D, R]   // too
	late     []late[R]        // Joins that wait for the next attempt
	awaiting []awaiting[D, R] // and for an order to move the job
	order    *order[D, R]     // nil: there is none
	kept     int              // clock of the last checkpoint that was ordered (Keep)
	refusals int              // joins that were refused
	reason   error            // of the last one
	failed   error
	ended    bool
	recorded bool // effects say what is executed
	now      time.Duration
	timer    timer
	effects  []Effect
}

// series is what is known of one matrix: its clocks, and its deltas that are not yet due.
type series[D any] struct {
	Matrix
	clocks *Clocks
	ahead  ahead[D]
	moved  bool // the slowest clock has, in this event
	shown  int  // the slowest clock as far as it is folded and published; below it only within an event
	watch  watch
}

// NewJob is a job that nobody has joined. The name is for people.
func NewJob[D any, R comparable](name string) *Job[D, R] {
	return &Job[D, R]{name: name, conns: map[int64]*member[D, R]{}}
}

// Record has the effects from now on say which changes are executed (Made) and which tasks are given up (GivenUp), for whoever keeps a
// log: the same events in the same order make the same job.
func (j *Job[D, R]) Record() { j.recorded = true }

// Step lets an event happen at a time, which counts from any start and never goes back. The effects are valid until the
// next Step.
func (j *Job[D, R]) Step(now time.Duration, e Event) []Effect {
	clear(j.effects)
	j.effects = j.effects[:0]
	j.now = max(j.now, now)
	switch e := e.(type) {
	case Push[D, R]:
		j.change(change[D, R]{Push: e})
	case Update[R]:
		j.change(change[D, R]{Push: Push[D, R]{Req: e.Req, Conn: e.Conn, Seq: e.Seq, Err: e.Err}, update: true})
	case Pull[R]:
		j.pull(&e)
	case Look[R]:
		j.look(&e)
	case Jump:
		j.jump(e)
	case Ran:
		j.ran(e)
	case Join[R]:
		j.join(&e)
	case Create[R]:
		j.create(&e)
	case Members[R]:
		j.roster(&e)
	case Await[R]:
		j.awaitOrder(&e)
	case Move[R]:
		j.move(&e)
	case Keep[R]:
		j.keep(&e)
	case Quiesce[R]:
		j.quiesce(&e)
	case Commit[R]:
		j.commit(&e)
	case Moved[R]:
		j.moved(&e)
	case Leave[R]:
		j.leave(&e)
	case Quit[R]:
		j.quit(&e)
	case Gone:
		if m := j.conns[e.Conn]; m != nil {
			j.gone(m, goneAway)
		}
	case Alive:
		if m := j.conns[e.Conn]; m != nil {
			m.seen = j.now
		}
	case Cancel[R]:
		j.withdraw(e.Req)
		j.drop(fmt.Errorf("the caller gave up: %w", Aborted), func(req R, _ *member[D, R]) bool { return req == e.Req })
	case GiveUp:
		j.giveUp(e)
	case Deadline:
		j.deadline()
	case Abort:
		if j.fail(e.Err); e.Left {
			j.left()
		}
	default:
		j.fail(fmt.Errorf("job %q: event of type %T, want one of this job's: %w", j.name, e, Malformed))
	}
	return j.effects
}

func (j *Job[D, R]) do(e Effect) { j.effects = append(j.effects, e) }

func (j *Job[D, R]) refuse(req R, err error) { j.do(Refuse[R]{Req: req, Err: err}) }

func (j *Job[D, R]) answer(req R, again bool) { j.do(Answer[R]{req, j.Slowest(0), again}) }

// sender is the member that a request comes from; nil if there is none, and the request is refused.
func (j *Job[D, R]) sender(conn int64, req R) *member[D, R] {
	m := j.conns[conn]
	switch {
	case m != nil:
		m.seen = j.now
	case j.failed != nil:
		j.refuse(req, j.failed)
	default:
		kind := Refused
		if slices.ContainsFunc(j.members, func(m *member[D, R]) bool { return m != nil && m.status == Lost }) {
			kind = Aborted // it may be one that was given up
		}
		j.refuse(req, fmt.Errorf("no task of job %q has joined over this connection, or it has left: %w", j.name, kind))
	}
	return m
}

// worker is the sender of a request that a job which has failed refuses.
func (j *Job[D, R]) worker(conn int64, req R) *member[D, R] {
	m := j.sender(conn, req)
	if m != nil && j.failed != nil {
		j.refuse(req, j.failed)
		return nil
	}
	return m
}

// create registers matrices, all of them or none.
func (j *Job[D, R]) create(e *Create[R]) {
	if j.worker(e.Conn, e.Req) == nil {
		return
	}
	next := len(j.matrices)
	for _, m := range e.Matrices {
		switch {
		case m.ID < 1 || m.ID > next:
			j.refuse(e.Req, fmt.Errorf("matrix %q has number %d, want one from 1 to %d: %w", m.Name, m.ID, next, Malformed))
			return
		case m.Bound < 0:
			j.refuse(e.Req, fmt.Errorf("matrix %q with staleness %d: %w", m.Name, m.Bound, Malformed))
			return
		case m.ID < len(j.matrices) && j.matrices[m.ID].Matrix != j.whole(m):
			j.refuse(e.Req, fmt.Errorf("matrix %q: number %d is matrix %q of job %q, and not the same: %w",
				m.Name, m.ID, j.matrices[m.ID].Name, j.name, Refused))
			return
		case m.ID == next:
			next++
		}
	}
	for _, m := range e.Matrices {
		if m.ID == len(j.matrices) {
			j.matrices = append(j.matrices, j.series(j.whole(m)))
		}
	}
	j.answer(e.Req, false)
}

// whole is the matrix with the bound that it has.
func (j *Job[D, R]) whole(m Matrix) Matrix {
	if !m.Own {
		m.Bound = j.bound
	}
	return m
}

// series is a new matrix. Whoever has finished has finished in it, too.
func (j *Job[D, R]) series(m Matrix) *series[D] {
	s := &series[D]{Matrix: m, clocks: NewClocks(len(j.members))}
	for task, m := range j.members {
		if m != nil && m.over() {
			s.clocks.at[task] = Finished
		}
	}
	s.clocks.atSlowest = 0
	s.clocks.count()
	s.shown = s.clocks.Slowest()
	return s
}

// fail ends all work: what is staged is handed back, and everybody who waits is refused.
func (j *Job[D, R]) fail(err error) {
	if j.failed != nil || j.ended {
		return
	}
	j.failed = err
	j.do(Fail{err})
	j.next(err)
	for _, s := range j.matrices {
		if deltas := s.ahead.all(); len(deltas) > 0 {
			j.do(Discard[D]{s.ID, deltas})
		}
	}
	j.void(err)
	j.drop(err, func(R, *member[D, R]) bool { return true })
}

// drop refuses the requests that wait and that the function picks.
func (j *Job[D, R]) drop(err error, picked func(req R, of *member[D, R]) bool) {
	unpicked := func(p *pull[D, R]) bool {
		is := picked(p.req, p.of)
		if is {
			j.do(Refuse[R]{p.req, err, p.done})
		}
		return !is
	}
	j.pulls = keep(j.pulls, unpicked)
	if j.order != nil {
		j.order.held = keep(j.order.held, unpicked)
	}
	for _, s := range j.matrices {
		if !slices.ContainsFunc(j.pulls, func(p pull[D, R]) bool { return p.needs[p.next].Matrix == s.ID }) {
			s.watch = watch{}
		}
	}
	j.rosters = keep(j.rosters, func(r *roster[D, R]) bool { return !j.dropped(r.Req, err, picked(r.Req, r.of)) })
	j.late = keep(j.late, func(l *late[R]) bool { return !j.dropped(l.req, err, picked(l.req, nil)) })
	j.awaiting = keep(j.awaiting, func(h *awaiting[D, R]) bool { return !j.dropped(h.req, err, picked(h.req, h.of)) })
	for _, m := range j.members {
		if m == nil {
			continue
		}
		m.early = keep(m.early, func(c *change[D, R]) bool { return !j.dropped(c.Req, err, picked(c.Req, m)) })
		if len(m.early) == 0 {
			m.gap = watch{}
		}
		for i := range m.running {
			r := &m.running[i]
			r.reqs = keep(r.reqs, func(a *Answer[R]) bool { return !j.dropped(a.Req, err, picked(a.Req, m)) })
		}
	}
}

func (j *Job[D, R]) dropped(req R, err error, picked bool) bool {
	if picked {
		j.refuse(req, err)
	}
	return picked
}

// keep is the elements that f is true for, in their order and place.
func keep[T any](all []T, f func(*T) bool) []T {
	n := 0
	for i := range all {
		if f(&all[i]) {
			all[n] = all[i]
			n++
		}
	}
	clear(all[n:])
	return all[:n]
}

// Ended reports whether the effect End has come: the job does nothing any more.
func (j *Job[D, R]) Ended() bool { return j.ended }

// Failed is why the job has failed, nil if it has not.
func (j *Job[D, R]) Failed() error { return j.failed }

// Done reports whether a job that has ended came to its end: all of its tasks had left, or the others went on without them. In a job with
// attempts no task that is needed leaves before the work is done, and another that comes back then may fail the attempt, not the job.
func (j *Job[D, R]) Done() bool {
	done := func(m *member[D, R]) bool { return m != nil && m.status == Left && !m.optional }
	return j.failed == nil || j.attempt > 0 && slices.ContainsFunc(j.members, done)
}

// Plan is the settings of the job, as far as those who have joined have said them.
func (j *Job[D, R]) Plan() string { return j.plan }

// Tasks is how many tasks the job has; 0 before the first has joined.
func (j *Job[D, R]) Tasks() int { return len(j.members) }

// Slowest is the clock that all tasks have reached in a matrix; Finished if none will tick it again, or it is not there.
func (j *Job[D, R]) Slowest(matrix int) int {
	if matrix < 0 || matrix >= len(j.matrices) {
		return Finished
	}
	return j.matrices[matrix].shown
}

// ClockOf is a task's clock of a matrix, -1 if one of them is not there.
func (j *Job[D, R]) ClockOf(task, matrix int) int {
	if matrix < 0 || matrix >= len(j.matrices) {
		return -1
	}
	return j.matrices[matrix].clocks.Of(task)
}

// LastChange is the number of the task's change that was executed last, 0 if there is none.
func (j *Job[D, R]) LastChange(task int) uint64 {
	if task < 0 || task >= len(j.members) || j.members[task] == nil {
		return 0
	}
	return j.members[task].last
}

// Urgent reports whether the task of the connection is at the slowest clock of some matrix: its pushes free others.
func (j *Job[D, R]) Urgent(conn int64) bool {
	m := j.conns[conn]
	if m == nil {
		return false
	}
	for _, s := range j.matrices {
		if s.clocks.Of(m.task) == s.clocks.Slowest() {
			return true
		}
	}
	return false
}
