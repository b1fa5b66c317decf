package server

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"thole.example/access"
	"thole.example/budget"
	"thole.example/rpc"
	"thole.example/ssp"
)

// seat is what the server knows of a connection: its number, and the task that it is for, if one has asked to join.
type seat struct {
	conn   int64
	member atomic.Pointer[member]
}

// memberOf is the task that the connection is for, nil if none has asked.
func memberOf(from *rpc.Peer) *member {
	if at, _ := from.State.(*seat); at != nil {
		return at.member.Load()
	}
	return nil
}

// joinArgs is the argument of a Join, and the full name of its job.
type joinArgs struct {
	rpc.Join
	full access.JobName
}

// join makes the job if it is not there, and asks its core whether the task fits. From then on the connection is the
// task's, until it leaves or is refused.
func (s *Server) join(m *member, x *rpc.Exchange) {
	var a joinArgs
	if err := json.Unmarshal(x.Arg, &a.Join); err != nil {
		x.Fail(fmt.Errorf("join: %w: %w", rpc.ErrMalformed, err))
		return
	}
	err := checkJoin(&a.Join)
	if err == nil {
		a.full, err = s.jobNamed(x, a.Job)
	}
	if err == nil {
		err = s.otherRole(&a.Join)
	}
	if err != nil {
		x.Fail(err)
		return
	}
	a.Job = a.full.Name
	at, _ := x.From.State.(*seat)
	if at == nil {
		at = &seat{conn: s.conns.Add(1)}
		x.From.State = at
	}
	if m != nil && !m.over.Load() && (m.job.full != a.full || m.task != a.Task) {
		x.Fail(fmt.Errorf("task %d of job %q joins over the connection of task %d of job %q: %w",
			a.Task, a.Job, m.task, m.job.name, rpc.ErrRefused))
		return
	}
	s.arrive(at, x, &a)
}

// arrive brings a Join to its job. One that comes again is the same member's.
func (s *Server) arrive(at *seat, x *rpc.Exchange, a *joinArgs) {
	if !s.afterEnding(at, x, a) && !s.withLog(at, x, a) {
		s.bring(at, x, a, nil)
	}
}

// bring brings a Join to its job; log is for a new one.
func (s *Server) bring(at *seat, x *rpc.Exchange, a *joinArgs, log *jobLog) {
	j, err := s.enter(a, log)
	if log != nil && (j == nil || j.log != log) {
		log.remove(s)
	}
	switch {
	case err != nil:
		x.Fail(err)
		return
	case j == nil: // it has ended since somebody looked
		s.arrive(at, x, a)
		return
	}
	m := at.member.Load()
	if m == nil || m.over.Load() || m.job != j {
		m = &member{job: j, task: a.Task, conn: at.conn, bound: a.Bound, left: make(chan struct{})}
		m.terms.Store(x.From.Grant.Terms())
		at.member.Store(m)
	}
	q := &request{x: x, durable: true, anew: func() { s.arrive(at, x, a) }}
	q.ready = func(e ssp.Answer[*request]) {
		if !e.Again {
			j.log.json(recordJoin, joining{a.Join, x.From.Name})
		}
		if !m.joined.Swap(true) {
			j.members[m.conn] = m
			go m.watch(x.From.Gone)
			said := []any{"job", j.full.String(), "task", m.task, "attempt", a.Attempt, "client", x.From.Name}
			if x.From.Grant != nil {
				said = append(said, "token", x.From.Grant.Name())
			}
			j.server.logger().Info("task joined", said...)
		}
		m.clock.Store(int32(j.core.ClockOf(a.Task, 0)))
		j.bound = a.Bound // all tasks have the same
		j.placement, j.launch = j.placement.with(a.placement()), max(j.launch, a.Launch)
		j.answerJSON(q, rpc.Joined{Seq: j.core.LastChange(a.Task), Clock: j.core.ClockOf(a.Task, 0)})
	}
	j.submit(arrival{at, m, x, a, q})
}

// watch tells the job when the connection has ended, unless its task has left before.
func (m *member) watch(gone <-chan struct{}) {
	select {
	case <-gone:
		m.job.post(ssp.Gone{Conn: m.conn}, nil)
	case <-m.left:
	}
}

// end says, in the job's mailbox, that the connection is not the task's any more.
func (m *member) end() {
	if m.over.Swap(true) {
		return
	}
	if m.joined.Swap(false) {
		m.job.server.logger().Info("task gone", "job", m.job.full.String(), "task", m.task)
	}
	delete(m.job.members, m.conn)
	close(m.left)
}

// enter is the job of the name, a new one if there is none and the client was not in one; nil if that needs a log.
func (s *Server) enter(a *joinArgs, log *jobLog) (*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[a.full]
	switch {
	case j != nil:
		return j, nil
	case s.leaving:
		return nil, fmt.Errorf("job %q: the server is about to end, and takes no new jobs: %w", a.Job, rpc.ErrStandby)
	case a.Epoch > 0 && !a.First:
		return nil, fmt.Errorf("job %q: %w: nobody has joined it, or it ended: if the server was started anew, what it held is lost",
			a.Job, rpc.ErrNotFound)
	case s.Logs != nil && log == nil:
		return nil, nil
	}
	if seen := s.launches[a.full]; a.Launch < seen {
		return nil, staleLaunch(&a.Join, seen)
	}
	about, err := s.hold(budget.Metadata, sizeOfJob(&a.Join), nil)
	if err != nil {
		return nil, fmt.Errorf("job %q: %w: %w", a.Job, rpc.ErrRefused, err)
	}
	j = s.newJob(a.full, log)
	j.about, j.launch = about.with(about.bytes, j.accounts), a.Launch
	s.logger().Info("job began", "job", a.full.String(), "attempt", a.Attempt, "tasks", a.Tasks, "bound", a.Bound.String())
	return j, nil
}

// newJob is a job that nobody has joined. The server is locked.
func (s *Server) newJob(full access.JobName, log *jobLog) *job {
	j := s.makeJob(full, log)
	s.addJob(j)
	return j
}

// addJob has requests find a job by its name. The server is locked.
func (s *Server) addJob(j *job) {
	if s.jobs == nil {
		s.jobs = map[access.JobName]*job{}
	}
	s.jobs[j.full] = j
}

// makeJob is newJob for one that requests do not find yet. The server is locked.
func (s *Server) makeJob(full access.JobName, log *jobLog) *job {
	j := &job{name: full.Name, full: full, owner: s.Tokens.Owner(full.Owner), server: s, core: ssp.NewJob[*delta, *request](full.Name),
		members: map[int64]*member{}, gone: make(chan struct{}), log: log}
	j.box.of, j.ownerGate = j, s.shares.of(j.owner)
	j.gate.bound(s.JobLimits.Processors)
	j.ctx, j.cancel = context.WithCancelCause(context.Background())
	j.stores.Store(&[]*store{nil})
	if s.JobLimits != (access.Limits{}) {
		j.account = access.NewAccount("job", s.JobLimits)
	}
	j.accounts = accountsOf(j)
	if log != nil {
		log.of(j)
		j.core.Record()
	}
	return j
}

// arrival is a Join that waits in the mailbox of a job.
type arrival struct {
	at *seat
	m  *member
	x  *rpc.Exchange
	a  *joinArgs
	q  *request
}

// do implements work. A job that has ended in the meantime begins anew.
func (w arrival) do() {
	j, a := w.m.job, w.a
	if j.ended {
		j.later.then = append(j.later.then, w.q.anew)
		return
	}
	if w.turned() {
		if !w.m.joined.Load() {
			w.m.end()
		}
		return
	}
	step{j, ssp.Join[*request]{
		Req: w.q, Conn: w.m.conn, Task: a.Task, Name: w.x.From.Name, Tasks: a.Tasks, Bound: a.Bound, Plan: a.Plan, Worker: a.Worker,
		Mine: a.Mine, Client: a.Client, Epoch: a.Epoch, First: a.First, Grace: time.Duration(a.Grace), Optional: a.Optional, Replace: a.Replace,
		Logged: j.log.replaying(), Attempt: a.Attempt, Elsewhere: a.Elsewhere,
	}, w.q}.do()
	if !w.m.joined.Load() {
		w.m.end()
	}
}

// placement is which of the servers of a job its tasks take this one for, after how many moves of the job (rpc.Join).
type placement struct {
	Place  int `json:"place,omitempty"` // 0: none has said it
	Places int `json:"places,omitempty"`
	Moves  int `json:"moves,omitempty"`
}

func (a *joinArgs) placement() placement { return placement{a.Place, a.Places, a.Moves} }

// with is the placement when one more task has joined.
func (p placement) with(other placement) placement {
	other.Moves = max(p.Moves, other.Moves)
	return other
}

// conflicts reports whether tasks take the server for two different ones.
func (p placement) conflicts(other placement) bool {
	return p.Place != 0 && other.Place != 0 && (p.Place != other.Place || p.Places != other.Places)
}

// turned answers a Join that its job's core need not see: of a task that is refused, has to come in a later attempt, or has to look where
// the job is.
func (w arrival) turned() bool {
	j, a := w.m.job, w.a
	before := j.core.Attempt()
	first, both := a.First || a.Epoch == 0, before > 0 && a.Attempt > 0
	misplaced := first && j.core.Failed() == nil && j.conflicts(a.placement())
	switch {
	case a.Launch < j.launch:
		w.x.Fail(staleLaunch(&a.Join, j.launch))
	case both && first && a.Attempt <= before && (a.Launch > j.launch || misplaced && a.Moves > j.Moves): // those that are here have to end
		w.q.end(false)
		j.answerJSON(w.q, rpc.Joined{Attempt: before + 1})
	case both && misplaced && a.Attempt >= before && a.Moves < j.Moves: // one of an earlier attempt looks, too, when it hears of this one
		w.q.end(false)
		j.answerJSON(w.q, rpc.Joined{Moved: true})
	case misplaced && a.Attempt == before:
		w.x.Fail(j.misplaced(&a.Join))
	default:
		return false
	}
	return true
}

// staleLaunch is the error of a task of a launch that another has replaced.
func staleLaunch(a *rpc.Join, seen int) error {
	return fmt.Errorf("task %d of job %q was started with attempt %d of all its processes, and attempt %d has begun: %w (a training "+
		"of its own needs another name)", a.Task, a.Job, a.Launch, seen, rpc.ErrRefused)
}

// misplaced is the error of a task that takes this server for another one of the job's than the tasks do that have joined before.
func (j *job) misplaced(a *rpc.Join) error {
	return fmt.Errorf("task %d of job %q takes this for server %d of %d, and the others take it for server %d of %d (from 0 on): %w "+
		"(give all workers the same servers in the same order)", a.Task, j.name, a.Place-1, a.Places, j.Place-1, j.Places, rpc.ErrRefused)
}

// answerJSON answers a control operation.
func (j *job) answerJSON(q *request, v any) {
	text, err := json.Marshal(v)
	j.answer(q, &rpc.Response{Clock: j.slowest.Load(), Results: []rpc.Result{{Data: text}}}, err)
}

// members answers when the membership is not what the caller knows.
func (s *Server) members(m *member, x *rpc.Exchange) {
	var a rpc.Members
	if err := json.Unmarshal(x.Arg, &a); err != nil {
		m.refuse(x, fmt.Errorf("members: %w: %w", rpc.ErrMalformed, err))
		return
	}
	q := &request{x: x, durable: true} // who was given up stays so
	m.job.post(ssp.Members[*request]{Req: q, Conn: m.conn, Joined: a.Joined, Refusals: a.Refused, Without: a.Without}, q)
}

// membership is what the core says of the tasks, on the wire, and how much of what they pushed is not finite.
func (j *job) membership(r ssp.Roster[*request]) rpc.Membership {
	out := rpc.Membership{Joined: r.Joined, Missing: r.Missing, Refused: r.Refusals, Here: r.Here, Waiting: r.Waiting, Ended: j.endedBefore()}
	for _, s := range (*j.stores.Load())[1:] {
		out.NonFinite += s.nonFinite
	}
	if r.Reason != nil {
		out.Why = r.Reason.Error()
	}
	return out
}

// leave says that the task is done.
func (s *Server) leave(m *member, x *rpc.Exchange) {
	q := &request{x: x, durable: true}
	ended := m.ended(q)
	q.ready = func(a ssp.Answer[*request]) {
		m.job.log.json(recordLeave, outcome{Task: m.task})
		ended(a)
	}
	m.job.post(ssp.Leave[*request]{Req: q, Conn: m.conn}, q)
}

// quit is how a task gives up that does not want to come back.
func (s *Server) quit(m *member, x *rpc.Exchange) {
	var a rpc.Quit
	if len(x.Arg) > 0 {
		if err := json.Unmarshal(x.Arg, &a); err != nil || len(a.Reason) > rpc.ReasonLimit {
			m.refuse(x, fmt.Errorf("quit: %w: want a reason of up to %d bytes", rpc.ErrMalformed, rpc.ReasonLimit))
			return
		}
	}
	q := &request{x: x, durable: true}
	q.ready = m.ended(q)
	m.job.post(ssp.Quit[*request]{Req: q, Conn: m.conn, Reason: a.Reason, Final: a.Final, Without: a.Without}, q)
}

// ended is what to do when the core has let the task go.
func (m *member) ended(q *request) func(ssp.Answer[*request]) {
	return func(a ssp.Answer[*request]) {
		m.end()
		m.job.answer(q, &rpc.Response{Clock: int32(a.Clock)}, nil)
	}
}

// barrier answers when every task's own clock has reached the request's.
func (s *Server) barrier(m *member, x *rpc.Exchange) {
	q := &request{x: x, durable: true} // that others have ticked stays so
	m.job.post(ssp.Pull[*request]{Req: q, Conn: m.conn, Needs: []ssp.Need{{Matrix: 0, Clock: int(x.Clock)}}, Exact: true}, q)
}
