package ssp

import (
	"fmt"
	"slices"
	"time"
)

// Limits of what a Join may ask for.
const (
	taskLimit  = 1 << 16
	graceLimit = time.Hour
)

// member is a task that the job has heard of, and its client.
type member[D any, R comparable] struct {
	task     int
	worker   string // whose it is, from when its process was first heard of
	status   Status
	name     string // address of its last connection
	conn     int64
	client   string
	epoch    int
	grace    time.Duration
	lease    time.Duration
	optional bool
	altered  bool          // an update of it was executed since it ended its own clock last
	seen     time.Duration // when something was heard of it last; when it went away
	why      string        // it is away
	window[D, R]
}

// Status is where a task is in its life.
type Status uint8

// The statuses, in the order in which a task has them; a task that is Away may be Here again.
const (
	Claimed Status = iota // another task of its process has joined
	Here
	Away // its connection is gone, and it may come back
	Left
	Lost // it went away for good
)

// String is the status in lower case.
func (s Status) String() string {
	names := [...]string{"claimed", "here", "away", "left", "lost", "unknown"}
	return names[min(int(s), len(names)-1)]
}

func (m *member[D, R]) over() bool { return m.status == Left || m.status == Lost }

func (j *Job[D, R]) join(e *Join[R]) {
	err := e.check()
	if err == nil && e.first() && len(j.members) == 0 && !j.ended {
		j.found(e)
	}
	if err == nil && e.Logged {
		j.vacate(e)
	}
	switch {
	case err != nil:
	case j.ended || len(j.members) == 0:
		err = fmt.Errorf("job %q: %w: nobody has joined it, or it ended: if the server was started anew, what it had is lost",
			j.name, NotFound)
	case !e.first() || j.repeated(e):
		err = j.rejoin(e)
	case j.comesLate(e):
		return
	default:
		var to int
		var end bool
		switch to, end, err = j.turn(e); {
		case err != nil:
		case end:
			j.supersede(e)
			return
		case to != e.Attempt:
			j.do(Later[R]{Req: e.Req, Attempt: to})
			return
		default:
			if m := j.members[e.Task]; m == nil || !replaceable(e, m) {
				err = j.admit(e)
			} else if err = j.occupied(e); err == nil {
				err = j.replace(e, m)
			}
		}
		if err != nil {
			j.refusals++
			j.reason = err
		}
	}
	if err != nil {
		j.refuse(e.Req, err)
		if len(j.members) == 0 && !j.ended {
			j.ended = true
			j.do(End{})
		}
	}
	j.arrived()
}

// first reports whether the job need not have heard of the client.
func (e *Join[R]) first() bool { return e.First || e.Epoch == 0 }

// check tells what is wrong with a Join whatever the job.
func (e *Join[R]) check() error {
	if e.Mine == nil {
		e.Mine = []int{e.Task}
	}
	switch {
	case e.Tasks < 1 || e.Tasks > taskLimit:
		return fmt.Errorf("join: job of %d tasks, want 1 to %d: %w", e.Tasks, taskLimit, Malformed)
	case e.Task < 0 || e.Task >= e.Tasks:
		return fmt.Errorf("join: task %d, want one in [0,%d): %w", e.Task, e.Tasks, Malformed)
	case e.Bound < 0:
		return fmt.Errorf("join: staleness %d, want 0 or more: %w", e.Bound, Malformed)
	case e.Attempt < 0:
		return fmt.Errorf("join: attempt %d, want 0 or more: %w", e.Attempt, Malformed)
	case e.Epoch < 0:
		return fmt.Errorf("join: number %d of its connections, want 0 or more: %w", e.Epoch, Malformed)
	case !slices.Contains(e.Mine, e.Task):
		return fmt.Errorf("join: task %d, want one of the %d of its process: %w", e.Task, len(e.Mine), Malformed)
	case slices.Min(e.Mine) < 0 || slices.Max(e.Mine) >= e.Tasks:
		return fmt.Errorf("join: process with tasks from %d to %d, want them in [0,%d): %w",
			slices.Min(e.Mine), slices.Max(e.Mine), e.Tasks, Malformed)
	}
	return nil
}

// found makes the settings of the job as its first member wants them.
func (j *Job[D, R]) found(e *Join[R]) {
	j.bound, j.plan, j.attempt = e.Bound, e.Plan, e.Attempt
	j.members = make([]*member[D, R], e.Tasks)
	j.matrices = []*series[D]{j.series(Matrix{Bound: e.Bound})}
}

// repeated reports whether a first Join of the client has come before.
func (j *Job[D, R]) repeated(e *Join[R]) bool {
	if e.Client == "" || e.Task >= len(j.members) || j.members[e.Task] == nil {
		return false
	}
	m := j.members[e.Task]
	return m.client == e.Client && (m.epoch == 0 || e.First)
}

// admit makes the task a member. The tasks of one process come all or not at all: the first to join claims the others'
// places.
func (j *Job[D, R]) admit(e *Join[R]) error {
	plan, err := j.fits(e)
	if err != nil {
		return err
	}
	j.plan = plan
	for _, t := range e.Mine {
		if j.members[t] == nil {
			j.members[t] = &member[D, R]{task: t, worker: e.Worker}
		}
	}
	m := j.members[e.Task]
	m.client, m.epoch, m.optional = e.Client, e.Epoch, e.Optional
	m.grace, m.lease = min(max(0, e.Grace), graceLimit), max(0, e.Lease)
	j.joined++
	j.present++
	j.connect(m, e)
	j.answer(e.Req, false)
	return nil
}

// fits tells why the task cannot be one of the job's, or the plan that both have.
func (j *Job[D, R]) fits(e *Join[R]) (plan string, err error) {
	if j.failed != nil {
		return "", j.failed
	}
	plan, err = j.alike(e)
	switch other := j.conns[e.Conn]; {
	case err != nil:
		return "", err
	case other != nil && other.task != e.Task:
		return "", fmt.Errorf("task %d of job %q joins over the connection of task %d: %w", e.Task, j.name, other.task, Refused)
	}
	for _, t := range e.Mine {
		if m := j.members[t]; m != nil && (m.worker != e.Worker || t == e.Task) && !replaceable(e, m) {
			if err := j.taken(m, e.Worker); err != nil {
				return "", err
			}
		}
	}
	return plan, nil
}

// taken tells why a task cannot be the worker's.
func (j *Job[D, R]) taken(m *member[D, R], worker string) error {
	switch {
	case m.status == Away:
		return fmt.Errorf("task %d of job %q, %s, has lost its connection and is waited for: %w (try again in %v)",
			m.task, j.name, m.name, Refused, m.grace)
	case m.status == Here:
		kind := Refused
		if j.attempt > 0 { // it may have ended just now
			kind = Taken
		}
		return fmt.Errorf("task %d of job %q is %s already: %w (a second job needs another name)",
			m.task, j.name, m.name, kind)
	case m.status == Lost && j.failed == nil:
		return fmt.Errorf("task %d of job %q was given up, the others have gone on without it: %w", m.task, j.name, Refused)
	case m.over():
		return fmt.Errorf("task %d of job %q was here before: %w", m.task, j.name, Refused)
	case m.worker != worker:
		return fmt.Errorf("task %d of job %q is another worker's: %w (a second job needs another name)",
			m.task, j.name, Refused)
	}
	return nil
}

// rejoin gives the task of a client that comes back its new connection.
func (j *Job[D, R]) rejoin(e *Join[R]) error {
	var m *member[D, R]
	if e.Task < len(j.members) {
		m = j.members[e.Task]
	}
	wrong := j.rejoins(e)
	switch {
	case wrong != nil:
		return wrong
	case j.failed != nil:
		return j.failed
	case m == nil || m.client == "" || m.client != e.Client:
		return fmt.Errorf("task %d of job %q is not here any more, the job is another: %w", e.Task, j.name, NotFound)
	case m.status == Lost:
		return fmt.Errorf("task %d of job %q was given up, the others have gone on without it: %w", e.Task, j.name, NotFound)
	case m.over():
		return fmt.Errorf("task %d of job %q has left: %w", e.Task, j.name, NotFound)
	case e.Epoch < m.epoch:
		return fmt.Errorf("task %d of job %q comes back as number %d, and was here as %d: %w",
			e.Task, j.name, e.Epoch, m.epoch, Refused)
	case e.Conn < m.conn:
		return fmt.Errorf("task %d of job %q has come back over a later connection: %w", e.Task, j.name, Refused)
	}
	if other := j.conns[e.Conn]; other != nil && other != m {
		return fmt.Errorf("task %d of job %q joins over the connection of task %d: %w", e.Task, j.name, other.task, Refused)
	}
	again := e.Epoch == m.epoch
	if m.status == Here && m.conn != e.Conn {
		j.disconnect(m, "came back over another connection")
		j.do(DropConn{Conn: m.conn, Back: true})
	}
	m.epoch = e.Epoch
	j.connect(m, e)
	j.answer(e.Req, again)
	return nil
}

func (j *Job[D, R]) connect(m *member[D, R], e *Join[R]) {
	m.status, m.conn, m.name, m.seen = Here, e.Conn, e.Name, j.now
	j.conns[e.Conn] = m
	j.expect(m)
}

// disconnect forgets a connection, and refuses what it asked for.
func (j *Job[D, R]) disconnect(m *member[D, R], why string) {
	delete(j.conns, m.conn)
	err := fmt.Errorf("task %d of job %q %s: %w", m.task, j.name, why, Aborted)
	j.drop(err, func(_ R, of *member[D, R]) bool { return of == m })
}
