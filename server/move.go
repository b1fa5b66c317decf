package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"thole.example/access"
	"thole.example/internal/spell"
	"thole.example/rpc"
	"thole.example/ssp"
)

// order tells a job to move to other servers or to write a checkpoint, or how far it is with that. Who asks is none of its tasks.
func (s *Server) order(_ *member, x *rpc.Exchange) {
	var a rpc.Move
	err := json.Unmarshal(x.Arg, &a)
	if err == nil {
		err = checkMove(&a)
	}
	if err != nil {
		x.Fail(fmt.Errorf("move: %w: %w", rpc.ErrMalformed, err))
		return
	}
	j, there := s.find(x, a.Job)
	if !there {
		x.Fail(fmt.Errorf("job %q: %w: nobody has joined it here, or it has ended%s", a.Job, rpc.ErrNotFound,
			spell.Hint(a.Job, s.namesFor(x.From.Grant))))
		return
	}
	q := &request{x: x}
	if a.Checkpoint {
		j.keep(q)
		return
	}
	if a.Servers == nil {
		j.submit(deed(func() {
			if at := j.core.Attempt(); at > 0 && at <= a.Gone {
				step{j, ssp.Abort{Left: true, Err: fmt.Errorf("job %q has moved from here, after attempt %d: %w", j.name, at, ssp.Aborted)}, nil}.do()
			}
			j.answerJSON(q, rpc.Moved{Attempt: j.core.Attempt(), Moving: j.core.Moving()})
		}))
		return
	}
	q.ready = func(ssp.Answer[*request]) {
		j.answerJSON(q, rpc.Moved{Checkpoint: j.movedTo, Attempt: j.core.Attempt() + 1})
	}
	j.post(ssp.Move[*request]{Req: q, To: a.Servers}, q)
}

// namesFor are the names of the jobs that a token is for, as its holder may write them.
func (s *Server) namesFor(grant *access.Grant) (names []string) {
	terms := grant.Terms()
	s.mu.Lock()
	defer s.mu.Unlock()
	for full := range s.jobs {
		switch {
		case terms.CheckJob(full) != nil:
		case full.Owner == grant.Name():
			names = append(names, full.Name)
		default:
			names = append(names, full.String())
		}
	}
	slices.Sort(names)
	return names
}

// keep asks the job for a checkpoint.
func (j *job) keep(q *request) {
	q.ready = func(ssp.Answer[*request]) {
		j.answerJSON(q, rpc.Moved{Checkpoint: j.movedTo, Attempt: j.core.Attempt()})
	}
	j.post(ssp.Keep[*request]{Req: q}, q)
}

// checkMove tells what is wrong with an order whatever the job.
func checkMove(a *rpc.Move) error {
	if a.Checkpoint && len(a.Servers) > 0 {
		return fmt.Errorf("a checkpoint and %d servers, want one of both", len(a.Servers))
	}
	if len(a.Servers) > rpc.MoveServers {
		return fmt.Errorf("%d servers, want at most %d", len(a.Servers), rpc.MoveServers)
	}
	seen := map[string]bool{}
	for i, addr := range a.Servers {
		if addr == "" || len(addr) > rpc.MoveAddress || seen[addr] {
			return fmt.Errorf("server %d of %d has address %.80q, want one of up to %d bytes that no other has", i+1, len(a.Servers), addr,
				rpc.MoveAddress)
		}
		seen[addr] = true
	}
	return nil
}

// await has a task wait for an order to move the job.
func (s *Server) await(m *member, x *rpc.Exchange) {
	q := &request{x: x}
	m.job.post(ssp.Await[*request]{Req: q, Conn: m.conn}, q)
}

// moving is what the task says that moves the job.
func (s *Server) moving(m *member, x *rpc.Exchange) {
	var a rpc.Moving
	if err := json.Unmarshal(x.Arg, &a); err != nil || len(a.Reason) > rpc.ReasonLimit || len(a.Checkpoint) > rpc.MoveAddress {
		m.refuse(x, fmt.Errorf("moving: %w: want a step, a path of up to %d bytes and a reason of up to %d", rpc.ErrMalformed,
			rpc.MoveAddress, rpc.ReasonLimit))
		return
	}
	q := &request{x: x}
	var e ssp.Event
	switch a.Step {
	case rpc.MovingQuiesce:
		e = ssp.Quiesce[*request]{Req: q, Conn: m.conn, From: a.From, To: a.To}
	case rpc.MovingCommit:
		e = ssp.Commit[*request]{Req: q, Conn: m.conn}
	case rpc.MovingMoved:
		q.ready = func(r ssp.Answer[*request]) { // of the task that moves the job, and of no other
			m.job.movedTo = a.Checkpoint
			m.job.answer(q, &rpc.Response{Clock: int32(r.Clock)}, nil)
		}
		e = ssp.Moved[*request]{Req: q, Conn: m.conn}
	case rpc.MovingVoid:
		e = ssp.Moved[*request]{Req: q, Conn: m.conn, Err: errors.New(a.Reason)}
	default:
		m.refuse(x, fmt.Errorf("moving: step %.20q, want quiesce, commit, moved or void: %w", a.Step, rpc.ErrMalformed))
		return
	}
	m.job.post(e, q)
}
