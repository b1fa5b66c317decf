package server

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"thole.example/rpc"
	"thole.example/ssp"
)

// maxTasks bounds what a Join can make a server allocate.
const maxTasks = 1 << 16

// job is the state that the tasks of one name share. mu guards everything: readers pull under the read lock, so that
// what one request reads is of one moment.
type job struct {
	name  string
	tasks int
	bound ssp.Bound

	mu       sync.RWMutex
	plan     string            // settings that all tasks have
	worker   map[int]string    // whose each task is, from when its process was first heard of
	peers    map[int]*rpc.Peer // tasks that have joined and not left
	came     map[int]bool      // tasks that have joined
	clients  map[int]*client   // of them
	arrival  chan struct{}     // closed, and made anew, when a task joins or the job fails
	left     int
	ended    bool // nobody is part of it any more; a task that joins begins it anew
	clocks   *ssp.Clocks
	gate     ssp.Gate[chan struct{}]
	stage    ssp.Stage[delta]
	pending  map[int][]delta // of each task, under ASP: gradients that wait for the task's tick
	memory   *Memory         // of the server
	bytes    int64           // of the partitions, as counted there
	staged   int64           // bytes of the deltas in stage and pending
	matrices map[string]*owned
	saves    map[string]*pendingSave
	failed   error
}

// enter is the job of that name, a new one if there is none, with its lock held.
func (s *Server) enter(name string, want rpc.Join) *job {
	for {
		j := s.jobOf(name, want)
		j.mu.Lock()
		if !j.ended {
			return j
		}
		j.mu.Unlock()
		s.drop(j) // whoever ended it is about to do the same
	}
}

func (s *Server) jobOf(name string, want rpc.Join) *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[name]
	if j == nil {
		j = &job{
			name: name, tasks: want.Tasks, bound: want.Bound, plan: want.Plan, memory: s.Memory, clocks: ssp.NewClocks(want.Tasks),
			worker: map[int]string{}, peers: map[int]*rpc.Peer{}, came: map[int]bool{}, clients: map[int]*client{}, arrival: make(chan struct{}),
			matrices: map[string]*owned{}, saves: map[string]*pendingSave{}, pending: map[int][]delta{},
		}
		if s.jobs == nil {
			s.jobs = map[string]*job{}
		}
		s.jobs[name] = j
		s.logger().Info("job began", "job", name, "tasks", want.Tasks, "bound", want.Bound.String())
	}
	return j
}

// member reports whether the task joined over this connection and has not left.
func (j *job) member(from *rpc.Peer, task int) error {
	j.mu.RLock()
	defer j.mu.RUnlock()
	switch {
	case j.peers[task] == from:
		return nil
	case j.failed != nil:
		return j.failed
	}
	return fmt.Errorf("task %d of job %q has not joined over this connection, or has left: %w", task, j.name, rpc.ErrRefused)
}

// fail makes every request of the job answer with the error. The caller holds the lock.
func (j *job) fail(err error) {
	if j.failed == nil {
		j.failed = err
	}
	j.wake(ssp.Finished)
	j.arrived()
}

// wake releases the readers that need clock n or less. The caller holds the lock.
func (j *job) wake(n int) {
	for _, w := range j.gate.Reach(n) {
		close(w)
	}
}

// leave counts the task as finished. When all tasks have left, the job ends.
func (s *Server) leave(_ context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	j.mu.Lock()
	task := int(q.Task)
	delete(j.peers, task)
	if c := j.clients[task]; c != nil {
		c.left = true
	}
	j.left++
	err := j.tick(task, ssp.Finished)
	j.ended = len(j.peers) == 0 && (j.left == j.tasks || j.failed != nil)
	done := j.ended
	j.mu.Unlock()
	if done {
		s.drop(j)
	}
	return &rpc.Response{}, err
}

// barrier answers when every task has reached the clock.
func (s *Server) barrier(ctx context.Context, j *job, q *rpc.Request) (*rpc.Response, error) {
	if err := j.await(ctx, int(q.Clock)); err != nil {
		return nil, err
	}
	defer j.mu.RUnlock()
	return &rpc.Response{Clock: int32(j.clocks.Slowest())}, nil
}

// await returns with the read lock held when the slowest task has reached clock n; or without it and with an error.
func (j *job) await(ctx context.Context, n int) error {
	for {
		j.mu.RLock()
		if j.failed == nil && j.clocks.Slowest() >= n {
			return nil
		}
		j.mu.RUnlock()
		wait, err := j.park(n)
		if err != nil {
			return err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			j.mu.Lock()
			j.gate.Drop(func(w chan struct{}) bool { return w == wait })
			j.mu.Unlock()
			return context.Cause(ctx)
		}
	}
}

func (j *job) park(n int) (chan struct{}, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	wait := make(chan struct{})
	switch {
	case j.failed != nil:
		return nil, j.failed
	case j.clocks.Slowest() >= n:
		close(wait)
	default:
		j.gate.Park(n, wait)
	}
	return wait, nil
}

// find is the matrix of that name. The caller holds a lock.
func (j *job) find(name string) (*owned, error) {
	if m := j.matrices[name]; m != nil {
		return m, nil
	}
	names := make([]string, 0, len(j.matrices))
	for n := range j.matrices {
		names = append(names, n)
	}
	slices.Sort(names)
	return nil, fmt.Errorf("matrix %q of job %q: %w, there are %q", name, j.name, rpc.ErrNotFound, names)
}
