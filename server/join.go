package server

import (
	"encoding/json"
	"fmt"
	"time"

	"thole.example/rpc"
	"thole.example/ssp"
)

// join makes the job if it is not there, and asks its core whether the task fits. From then on the connection is the
// task's.
func (s *Server) join(x *rpc.Exchange) {
	var a rpc.Join
	if err := json.Unmarshal(x.Arg, &a); err != nil {
		x.Fail(fmt.Errorf("join: %w: %w", rpc.ErrMalformed, err))
		return
	}
	j, err := s.enter(&a)
	if err != nil {
		x.Fail(err)
		return
	}
	m := &member{job: j, task: a.Task, conn: s.conns.Add(1)}
	x.From.State = m
	q := &request{x: x}
	q.ready = func(ssp.Answer[*request]) {
		m.joined.Store(true)
		j.bound = a.Bound // all tasks have the same
		j.answerJSON(q, rpc.Joined{Seq: j.core.LastChange(a.Task)})
	}
	j.submit(arrival{m, x, &a, q})
}

// enter is the job of the name, a new one if there is none and the client was not in one.
func (s *Server) enter(a *rpc.Join) (*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[a.Job]
	switch {
	case j != nil:
		return j, nil
	case a.Epoch > 0:
		return nil, fmt.Errorf("job %q: %w: nobody has joined it, or it ended: if the server was started anew, what it held is lost",
			a.Job, rpc.ErrNotFound)
	}
	j = &job{name: a.Job, server: s, core: ssp.NewJob[*delta, *request](a.Job)}
	j.stores.Store(&[]*store{nil})
	if s.jobs == nil {
		s.jobs = map[string]*job{}
	}
	s.jobs[a.Job] = j
	s.logger().Info("job began", "job", a.Job, "tasks", a.Tasks, "bound", a.Bound.String())
	return j, nil
}

// arrival is a Join that waits in the mailbox of a job.
type arrival struct {
	m *member
	x *rpc.Exchange
	a *rpc.Join
	q *request
}

// do implements work. A job that has ended in the meantime begins anew.
func (w arrival) do() {
	j := w.m.job
	if j.ended {
		go j.server.join(w.x)
		return
	}
	a := w.a
	step{j, ssp.Join[*request]{
		Req: w.q, Conn: w.m.conn, Task: a.Task, Name: w.x.From.Name, Tasks: a.Tasks, Bound: a.Bound, Plan: a.Plan, Worker: a.Worker,
		Mine: a.Mine, Client: a.Client, Epoch: a.Epoch, Grace: time.Duration(a.Grace), Optional: a.Optional,
	}, w.q}.do()
	go func() {
		<-w.x.From.Gone
		j.post(ssp.Gone{Conn: w.m.conn}, nil)
	}()
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
	q := &request{x: x}
	m.job.post(ssp.Members[*request]{Req: q, Conn: m.conn, Joined: a.Joined, Refusals: a.Refused}, q)
}

// membership is what the core says of the tasks, on the wire.
func membership(r ssp.Roster[*request]) rpc.Membership {
	out := rpc.Membership{Joined: r.Joined, Missing: r.Missing, Refused: r.Refusals}
	if r.Reason != nil {
		out.Why = r.Reason.Error()
	}
	return out
}

// leave says that the task is done.
func (s *Server) leave(m *member, x *rpc.Exchange) {
	m.joined.Store(false)
	q := &request{x: x}
	m.job.post(ssp.Leave[*request]{Req: q, Conn: m.conn}, q)
}

// quit is how a task gives up that does not want to come back.
func (s *Server) quit(m *member, x *rpc.Exchange) {
	m.joined.Store(false)
	q := &request{x: x}
	m.job.post(ssp.Quit[*request]{Req: q, Conn: m.conn}, q)
}

// barrier answers when every task's own clock has reached the request's.
func (s *Server) barrier(m *member, x *rpc.Exchange) {
	q := &request{x: x}
	m.job.post(ssp.Pull[*request]{Req: q, Conn: m.conn, Needs: []ssp.Need{{Matrix: 0, Clock: int(x.Clock)}}, Exact: true}, q)
}
