package server

import (
	"context"
	"fmt"
	"time"

	"thole.example/rpc"
)

// client is what a job remembers of a task's client while it may lose its connection: changes that it sends again because
// an answer was lost are known by their numbers. A client has one change under way at a server, so the last number is
// enough.
type client struct {
	id    string
	epoch int
	grace time.Duration // to come back
	last  uint64        // change that was made
	left  bool
}

// graceLimit is how long a job waits at most for a client to come back.
const graceLimit = time.Hour

func newClient(want *rpc.Join) *client {
	return &client{id: want.Client, grace: min(max(0, time.Duration(want.Grace)), graceLimit)}
}

// rejoin gives the task of a client that comes back its new connection.
func (s *Server) rejoin(from *rpc.Peer, q *rpc.Request, want *rpc.Join) (*rpc.Response, error) {
	j, err := s.job(q.Job)
	if err != nil {
		return nil, fmt.Errorf("%w: if the server was started anew, what it held is lost", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	task := int(q.Task)
	switch c := j.clients[task]; {
	case j.failed != nil:
		return nil, j.failed
	case c == nil || c.id == "" || c.id != want.Client:
		return nil, fmt.Errorf("task %d of job %q is not here any more, the job is another: %w", task, q.Job, rpc.ErrNotFound)
	case c.left || j.ended:
		return nil, fmt.Errorf("task %d of job %q has left: %w", task, q.Job, rpc.ErrNotFound)
	case want.Epoch <= c.epoch:
		return nil, fmt.Errorf("task %d of job %q comes back as number %d, and was here as %d: %w",
			task, q.Job, want.Epoch, c.epoch, rpc.ErrRefused)
	default:
		c.epoch = want.Epoch
	}
	j.peers[task] = from
	go s.watch(j, task, from)
	return &rpc.Response{Clock: int32(j.clocks.Slowest())}, nil
}

// watch fails the job if the task's connection ends before the task has left, and it does not come back.
func (s *Server) watch(j *job, task int, from *rpc.Peer) {
	<-from.Gone
	j.mu.RLock()
	wait := time.Duration(0)
	if j.peers[task] == from && j.failed == nil {
		wait = j.clients[task].grace
	}
	j.mu.RUnlock()
	if wait > 0 {
		time.AfterFunc(wait, func() { s.lose(j, task, from) })
		return
	}
	s.lose(j, task, from)
}

// isGone reports whether the connection has ended.
func isGone(p *rpc.Peer) bool {
	select {
	case <-p.Gone:
		return true
	default:
		return false
	}
}

// lose fails the job if the task is still that of the connection.
func (s *Server) lose(j *job, task int, from *rpc.Peer) {
	j.mu.Lock()
	mine := j.peers[task] == from
	if mine {
		delete(j.peers, task)
		j.fail(fmt.Errorf("job %q: task %d at %s went away before it was done: %w", j.name, task, from.Name, rpc.ErrAborted))
	}
	empty := mine && len(j.peers) == 0
	j.ended = j.ended || empty
	j.mu.Unlock()
	if empty {
		s.drop(j)
	}
}

// quit is how a task gives up that does not want to come back.
func (s *Server) quit(_ context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	j.mu.RLock()
	from := j.peers[int(q.Task)]
	j.mu.RUnlock()
	if from != nil {
		s.lose(j, int(q.Task), from)
	}
	return &rpc.Response{}, nil
}

// made reports whether the change was made already. The caller holds a lock.
func (j *job) made(q *rpc.Request) bool {
	c := j.clients[int(q.Task)]
	return q.Seq != 0 && c != nil && q.Seq <= c.last
}

// note remembers that the change was made. The caller holds the lock.
func (j *job) note(q *rpc.Request) {
	if c := j.clients[int(q.Task)]; c != nil && q.Seq != 0 {
		c.last = max(c.last, q.Seq)
	}
}
