package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"thole.example/rpc"
	"thole.example/ssp"
)

// follow makes the connection one of a reader: somebody who is no task of the job, holds nobody back, and does not keep it
// alive.
func (s *Server) follow(_ *member, x *rpc.Exchange) {
	var a rpc.Follow
	if err := json.Unmarshal(x.Arg, &a); err != nil {
		x.Fail(fmt.Errorf("follow: %w: %w", rpc.ErrMalformed, err))
		return
	}
	if !a.Replica && s.Role != nil {
		x.Checked(s.Role)
		if err := s.fenced(); err != nil {
			x.Fail(err)
			return
		}
	}
	j, there := s.find(x, a.Job)
	at, _ := x.From.State.(*seat)
	if at == nil {
		at = &seat{conn: s.conns.Add(1)}
		x.From.State = at
	}
	switch m := at.member.Load(); {
	case !there:
		x.Fail(fmt.Errorf("job %q: %w: %w", a.Job, rpc.ErrNotFound, cmp.Or(s.servesAnother(x), errNoJob)))
		return
	case m != nil && !m.reads && !m.over.Load():
		x.Fail(fmt.Errorf("task %d of job %q follows over its own connection: %w", m.task, m.job.name, rpc.ErrRefused))
		return
	}
	m := &member{job: j, task: -1, conn: at.conn, reads: true, accepts: newReplicaReader(j, &a), left: make(chan struct{})}
	var lag *rpc.Lag
	if m.accepts != nil {
		var err error
		if lag, err = m.accepts.lag(); err != nil {
			x.Fail(err)
			return
		}
		x.Checked(m.accepts)
	}
	m.joined.Store(true)
	m.terms.Store(x.From.Grant.Terms())
	at.member.Store(m)
	j.submit(deed(func() {
		now := j.followed()
		now.Replica, now.Checkpoint = lag, j.served.Load()
		j.answerJSON(&request{x: x}, now)
	}))
}

// errNoJob is why a job is not there.
var errNoJob = errors.New("no task has joined it, or it has ended")

// inOrder reports whether reads have a place among what the mailbox of the job does: after what was replayed, or loaded, before.
func (m *member) inOrder() bool { return m.accepts.copied() || m.job.served.Load() != nil }

// followed is what there is to read, in the job's mailbox.
func (j *job) followed() rpc.Followed {
	out := rpc.Followed{Tasks: j.core.Tasks(), Clock: j.core.Slowest(0), Attempt: j.core.Attempt(), Place: j.Place, Places: j.Places}
	for _, s := range (*j.stores.Load())[1:] {
		one := rpc.FollowedMatrix{Number: s.number, Clock: j.core.Slowest(int(s.number))}
		_ = json.Unmarshal(s.spec, &one.Spec) // it was made here
		one.Map, _ = json.Marshal(s.parts)
		out.Matrices = append(out.Matrices, one)
	}
	return out
}

// readAt answers a reader: at once, or when the matrices stand at the clocks that he wants.
func (s *Server) readAt(m *member, x *rpc.Exchange, g *gather) {
	j := m.job
	var needs []ssp.Need
	makes := j.log != nil && slices.ContainsFunc(x.Parts, asksMade)
	for i := range x.Parts {
		if p := &x.Parts[i]; p.Clock >= 0 {
			needs = append(needs, ssp.Need{Matrix: int(p.Matrix), Clock: int(p.Clock)})
		}
	}
	switch failed := j.failed.Load(); {
	case failed != nil:
		g.free()
		x.Fail(*failed)
	case needs == nil && !makes && m.inOrder():
		j.submit(deed(func() { j.read(g) }))
	case needs == nil && !makes:
		j.readNow(g)
	case needs == nil:
		q := &request{x: x, gather: g, makes: true}
		j.submit(deed(func() { j.logMakes(q); j.read(g) }))
	default:
		q := &request{x: x, gather: g, makes: makes}
		j.post(ssp.Look[*request]{Req: q, Needs: needs}, q)
		if m.accepts.copied() {
			m.boundWait(x)
		}
	}
}

// updateOnce runs an update function for somebody who is no task: what he asks for has no number, so it is not asked for again
// when its answer is lost.
func (s *Server) updateOnce(m *member, x *rpc.Exchange) {
	j := m.job
	b, visits, err := j.newBeside(x, true)
	if failed := j.failed.Load(); err == nil && failed != nil {
		err = *failed
	}
	if err != nil {
		x.Fail(err)
		return
	}
	b.done = func(_ []rpc.Result, err error) {
		j.submit(deed(func() {
			j.updateOver()
			j.answer(&request{x: x, durable: true}, &rpc.Response{Clock: j.slowest.Load()}, err)
		}))
	}
	begin := func() {
		j.updates++
		if j.log != nil {
			j.log.request(recordUpdate, -1, x.Request, x.Memory.Retain(), changes(x.Request))
		}
		b.start(visits)
	}
	j.submit(deed(func() {
		if len(j.moments) > 0 { // they wait for a moment without updates, which must come
			j.moments = append(j.moments, begin)
		} else {
			begin()
		}
	}))
}
