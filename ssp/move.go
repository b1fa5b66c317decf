package ssp

import (
	"fmt"
	"slices"
	"strings"
)

// A job is ordered to move to other servers. It does so between two attempts: one of its tasks writes a checkpoint from which the next one
// goes on there. The machine of the server that is asked knows how far that is, so that whoever asked can withdraw until it is too late.
//
//	Await     a task waits for an order                   answered by Ordered when there is one
//	Move      somebody orders                             answered when the job has moved, refused when nothing comes of it
//	Keep      somebody wants a checkpoint                 answered when there is one, refused when there will be none
//	Quiesce   the task has all others quiesce             answered with the clock at which they do
//	Commit    from now on nobody can withdraw             refused if somebody has
//	Moved     the checkpoint is there, or will not be     the order is over
//
//	what happens                  before Commit                             after it
//	the one who ordered gives up  the order is void                         nothing
//	the task goes away            the order is void                         the job fails: only the checkpoints tell whether it has moved
//	another task goes away        void, if a clock was chosen to quiesce at  nothing
//	the job fails                 the order is void                         the order is void
//
// An order for a checkpoint alone (Keep) is never committed: the job stays, and goes on.

// Await says that a task can move the job, and waits for an order.
type Await[R any] struct {
	Req  R
	Conn int64
}

// Move orders the job to other servers. Who asks is none of its tasks; a Cancel of the request withdraws the order.
type Move[R any] struct {
	Req R
	To  []string // addresses of the servers, in their order
}

// Quiesce has all other tasks quiesce, by the one that moves the job: whoever ends its own clock with the one that is chosen gets no
// answer. That is the first from From to To which none of them has reached; if there is none it is refused as Passed.
type Quiesce[R any] struct {
	Req      R
	Conn     int64
	From, To int
}

// Commit says that the task which moves the job is about to do it.
type Commit[R any] struct {
	Req  R
	Conn int64
}

// Moved says that the job has moved, or with an error why it does not. Those that quiesced go on in that case; else their attempt ends.
type Moved[R any] struct {
	Req  R
	Conn int64
	Err  error
}

// Ordered answers Await. Without servers to move to a checkpoint is wanted.
type Ordered[R any] struct {
	Req R
	To  []string
}

func (Await[R]) event()    {}
func (Move[R]) event()     {}
func (Quiesce[R]) event()  {}
func (Commit[R]) event()   {}
func (Moved[R]) event()    {}
func (Ordered[R]) effect() {}

// awaiting is a task that waits for an order.
type awaiting[D any, R comparable] struct {
	req R
	of  *member[D, R]
}

// order is one under way.
type order[D any, R comparable] struct {
	reqs      []R           // that it answers: of a move the first is that which ordered it, all others are for a checkpoint
	to        []string      // nil: only a checkpoint is wanted
	by        *member[D, R] // who moves the job, or writes the checkpoint
	at        int           // own clock at which the others quiesce; 0: they do not
	held      []pull[D, R]  // what those are not answered
	committed bool
	done      bool // reqs are answered
}

func (j *Job[D, R]) awaitOrder(e *Await[R]) {
	m := j.worker(e.Conn, e.Req)
	switch {
	case m == nil:
	case j.attempt == 0:
		j.refuse(e.Req, fmt.Errorf("task %d of job %q waits for an order to move, and the job has no attempts: %w", m.task, j.name, Refused))
	case j.order != nil && j.order.by == m:
		j.refuse(e.Req, fmt.Errorf("task %d of job %q waits for an order to move, and has one: %w", m.task, j.name, Refused))
	default:
		j.awaiting = append(j.awaiting, awaiting[D, R]{e.Req, m})
	}
}

func (j *Job[D, R]) move(e *Move[R]) {
	switch {
	case j.failed != nil:
		j.refuse(e.Req, j.failed)
	case j.order != nil:
		j.refuse(e.Req, fmt.Errorf("job %q is about to %s: %w", j.name, j.order, Refused))
	case len(e.To) == 0:
		j.refuse(e.Req, fmt.Errorf("job %q is to move to no servers: %w", j.name, Malformed))
	case len(j.awaiting) == 0:
		j.refuse(e.Req, fmt.Errorf("job %q cannot move: none of its tasks writes checkpoints, or it has just begun, or it is at its end: %w",
			j.name, NotFound))
	default:
		j.give(e.Req, e.To, "moves it to "+strings.Join(e.To, ", "))
	}
}

// give gives the task that waits for it an order.
func (j *Job[D, R]) give(req R, to []string, does string) {
	h := j.awaiting[0]
	j.awaiting = slices.Delete(j.awaiting, 0, 1)
	j.order = &order[D, R]{reqs: []R{req}, to: slices.Clone(to), by: h.of}
	j.do(Say{fmt.Sprintf("job %q: task %d at %s %s", j.name, h.of.task, h.of.name, does)})
	j.do(Ordered[R]{h.req, slices.Clone(to)})
}

// String is what the job is about to do.
func (o *order[D, R]) String() string {
	if o.to == nil {
		return "write a checkpoint"
	}
	return "move to " + strings.Join(o.to, ", ")
}

// mover is the member that a request of the one who moves the job comes from, or of one who was asked for a checkpoint, unless it moves;
// nil if it is refused.
func (j *Job[D, R]) mover(conn int64, req R, moves bool) *member[D, R] {
	m := j.worker(conn, req)
	if m != nil && (j.order == nil || j.order.by != m || j.order.done || moves && j.order.to == nil) {
		j.refuse(req, fmt.Errorf("there is no order to move job %q, for task %d: %w", j.name, m.task, NotFound))
		return nil
	}
	return m
}

func (j *Job[D, R]) quiesce(e *Quiesce[R]) {
	m := j.mover(e.Conn, e.Req, true)
	if m == nil {
		return
	}
	o, at := j.order, max(1, e.From)
	for task, other := range j.members {
		if task != m.task && (other == nil || !other.over()) {
			at = max(at, j.ClockOf(task, 0)+1)
		}
	}
	if o.at > 0 {
		at = o.at
	}
	if at < e.From || at > e.To {
		j.refuse(e.Req, fmt.Errorf("job %q is to quiesce at a clock from %d to %d, the first is %d: %w", j.name, e.From, e.To, at, Passed))
		return
	}
	o.at = at
	j.do(Answer[R]{Req: e.Req, Clock: at})
}

func (j *Job[D, R]) commit(e *Commit[R]) {
	if j.mover(e.Conn, e.Req, true) != nil {
		j.order.committed = true
		j.answer(e.Req, false)
	}
}

func (j *Job[D, R]) moved(e *Moved[R]) {
	m := j.mover(e.Conn, e.Req, false)
	if m == nil {
		return
	}
	if j.answer(e.Req, false); e.Err != nil {
		j.void(e.Err)
		return
	}
	o := j.order
	for _, req := range o.reqs {
		j.do(Answer[R]{Req: req, Clock: o.at})
	}
	if o.done = true; o.to == nil {
		j.order, j.kept = nil, j.ClockOf(m.task, 0)
	}
}

// quiesced reports whether nothing of a member is answered any more.
func (j *Job[D, R]) quiesced(m *member[D, R]) bool {
	return j.order != nil && j.order.at > 0 && m != nil && m != j.order.by && j.ClockOf(m.task, 0) >= j.order.at
}

// void ends an order that nothing comes of; those that quiesced go on.
func (j *Job[D, R]) void(why error) {
	o := j.order
	if j.order = nil; o == nil {
		return
	}
	for _, req := range o.reqs {
		if !o.done {
			j.refuse(req, fmt.Errorf("job %q does not %s: %w", j.name, o, why))
		}
	}
	if j.failed != nil { // they are refused with all others
		j.pulls = append(j.pulls, o.held...)
		return
	}
	for _, p := range o.held {
		j.await(p)
	}
}

// withdraw ends what somebody gave up who ordered, if it is not too late. A checkpoint is written all the same: others may want it, too.
func (j *Job[D, R]) withdraw(req R) {
	o := j.order
	if o == nil || o.done {
		return
	}
	i := slices.Index(o.reqs, req)
	switch moves := i == 0 && o.to != nil; {
	case moves && !o.committed:
		j.void(fmt.Errorf("the order was withdrawn: %w", Aborted))
	case i >= 0 && !moves:
		o.reqs = slices.Delete(o.reqs, i, i+1)
		j.refuse(req, fmt.Errorf("the caller gave up: %w", Aborted))
	}
}

// parted says that a member is not connected any more.
func (j *Job[D, R]) parted(m *member[D, R], why string) {
	o := j.order
	if o == nil || j.failed != nil {
		return
	}
	err := fmt.Errorf("task %d at %s %s: %w", m.task, m.name, why, Aborted)
	switch {
	case o.by == m && o.done:
		j.fail(fmt.Errorf("job %q moves to %s: %w", j.name, strings.Join(o.to, ", "), Aborted))
	case o.by == m && o.committed:
		j.fail(fmt.Errorf("job %q: it was about to move, and %w", j.name, err))
	case o.by == m || o.at > 0 && !o.committed:
		j.void(err)
	}
}

// left ends a job that has failed, but for those who are here.
func (j *Job[D, R]) left() {
	for _, m := range j.members {
		if m != nil && m.status == Away {
			j.lose(m, "is elsewhere", Aborted)
		}
	}
	j.end()
}

// Moving is how far an order is.
type Moving struct {
	To        []string `json:"to"`                  // null: a checkpoint is to be written, and the job stays
	Task      int      `json:"task"`                // that moves the job
	At        int      `json:"at,omitempty"`        // own clock at which the others quiesce; 0: they do not
	Quiesced  int      `json:"quiesced,omitempty"`  // of them
	Committed bool     `json:"committed,omitempty"` // nobody can withdraw it any more
}

// Moving is the order under way, nil if there is none.
func (j *Job[D, R]) Moving() *Moving {
	o := j.order
	if o == nil {
		return nil
	}
	out := &Moving{To: slices.Clone(o.to), Task: o.by.task, At: o.at, Committed: o.committed}
	for _, m := range j.members {
		if j.quiesced(m) {
			out.Quiesced++
		}
	}
	return out
}

// String is a sentence for people.
func (m *Moving) String() string {
	if m.To == nil {
		return fmt.Sprintf("is to write a checkpoint, by task %d", m.Task)
	}
	text := fmt.Sprintf("moves to %s, by task %d", strings.Join(m.To, ", "), m.Task)
	if m.At > 0 {
		text += fmt.Sprintf("; the others quiesce at clock %d, so far %d", m.At, m.Quiesced)
	}
	if m.Committed {
		text += "; too late to withdraw"
	}
	return text
}
