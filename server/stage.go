package server

import (
	"context"
	"maps"
	"slices"
	"sync"

	"thole.example/budget"
	"thole.example/rpc"
	"thole.example/ssp"
)

// stage is the messages of a job whose deltas wait in memory for their clock.
type stage struct {
	mu       sync.Mutex
	messages map[*message]struct{}
}

// message is the deltas of one request. They lie in the same memory, which is free when none of them waits there any more.
type message struct {
	memory *rpc.Buffer
	deltas []*delta
	left   int // deltas that still wait; guarded by the stage
}

// add keeps the deltas of a message until their clocks are folded.
func (s *stage) add(m *message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.messages == nil {
		s.messages = map[*message]struct{}{}
	}
	s.messages[m] = struct{}{}
}

// remove forgets a delta that waits no more.
func (s *stage) remove(d *delta) {
	if d.from == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.from.left--; d.from.left == 0 {
		delete(s.messages, d.from)
	}
}

// largest is the larger one of a message and the largest of the stage.
func (s *stage) largest(most *message) *message {
	s.mu.Lock()
	defer s.mu.Unlock()
	for m := range s.messages {
		if most == nil || len(m.memory.Bytes()) > len(most.memory.Bytes()) {
			most = m
		}
	}
	return most
}

// take removes a message from the stage; false if it is not there any more.
func (s *stage) take(m *message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.messages[m]
	delete(s.messages, m)
	return ok
}

// job is the job that the message is of.
func (m *message) job() *job { return m.deltas[0].of.job }

// largest is the largest message of all jobs that waits in memory, nil if there is none. It waits there no more.
func (s *Server) largest() *message {
	s.mu.Lock()
	jobs := slices.Collect(maps.Values(s.jobs))
	s.mu.Unlock()
	for {
		var most *message
		for _, j := range jobs {
			most = j.stage.largest(most)
		}
		if most == nil || most.job().stage.take(most) {
			return most
		}
	}
}

// Relieve sends deltas that wait for their clock to disk whenever those who would free memory find none, until ctx ends.
// Servers with a ledger need it running.
func (s *Server) Relieve(ctx context.Context) {
	starved, hungry := s.Ledger.Starved(), &s.scratch.hungry
	for {
		select {
		case <-ctx.Done():
			return
		case <-starved:
			hungry.Store(true)
		case <-s.staged():
		}
		if !hungry.Load() {
			continue
		}
		m := s.largest()
		if m == nil {
			continue // until something is staged
		}
		hungry.Store(false) // if that was not enough, the ledger says so when it gets the memory back
		if err := s.spill(m); err != nil {
			s.logger().Error("deltas that wait could not go to disk", "folder", s.Scratch, "err", err)
			m.job().abort(err)
		}
	}
}

// staged gets a token when a delta begins to wait and Relieve is hungry: it is not woken for each push.
func (s *Server) staged() chan struct{} {
	s.scratch.once.Do(func() { s.scratch.staged = make(chan struct{}, 1) })
	return s.scratch.staged
}

// wait keeps those of a request's deltas that their clock is not due for until it is folded.
func (j *job) wait(deltas []ssp.Delta[*delta]) {
	if j.server.Ledger == nil {
		return
	}
	m := (*message)(nil)
	for _, d := range deltas {
		if d.Data.of.bound != ssp.ASP && !d.Data.leftOut() && d.Data.call == nil {
			if m == nil {
				m = &message{memory: d.Data.memory}
			}
			d.Data.from, m.deltas = m, append(m.deltas, d.Data)
		}
	}
	if m == nil {
		return
	}
	m.left = len(m.deltas)
	m.memory.Charge().Move(budget.Stage)
	if j.stage.add(m); !j.server.scratch.hungry.Load() {
		return
	}
	select {
	case j.server.staged() <- struct{}{}:
	default:
	}
}
