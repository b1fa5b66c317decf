// Package server is the parameter server: the partitions it owns, the clocks of the jobs that use them, and the
// functions beside the data, behind one rpc.Handler.
//
// A job is a set of tasks that share matrices and clocks. It begins with the first Join and ends when every task has
// left or its connection is gone. A task whose connection ends before it left, and that does not come back in the time
// it asked for, fails the job: everybody who waits gets an error that names the task, and nobody waits for ever.
//
// Under BSP and SSP deltas are staged per clock and folded in the order of (clock, task) when the slowest task has
// finished the clock; under ASP they are applied at once. See package ssp for what that promises.
package server

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/psf"
	"thole.example/rpc"
)

// Server serves one process's share of all jobs. The exported fields are set before the first request and not changed.
type Server struct {
	Funcs  *psf.Table   // functions and update rules
	Codecs format.Set   // for saving and loading
	Bucket blob.Bucket  // where models are saved and loaded; names in requests are names within it
	Log    *slog.Logger // nil: nothing is logged

	// StageBytes bounds the deltas of a job that wait here to be applied; 0: 4 GiB. A task that is ahead waits with its
	// push when half of it is used; what does not fit at all is refused.
	StageBytes int64

	// Memory bounds what the partitions of all jobs take; nil: nothing does.
	Memory *Memory

	mu      sync.Mutex
	jobs    map[string]*job
	held    map[string]func() // releases the marks of trials, by stage
	targets map[string]target // paths that jobs have tried to save to, and will
}

// Serve implements rpc.Handler.
func (s *Server) Serve(ctx context.Context, from *rpc.Peer, q *rpc.Request) (*rpc.Response, error) {
	if q.Op == rpc.OpJoin {
		return s.join(from, q)
	}
	j, err := s.job(q.Job)
	if err != nil {
		return nil, err
	}
	op, ok := ops[q.Op]
	if !ok {
		return nil, fmt.Errorf("operation %d: %w", q.Op, rpc.ErrMalformed)
	}
	if err := j.member(from, int(q.Task)); err != nil {
		return nil, err
	}
	return op(s, ctx, j, q)
}

// ops is the table of what a job can be asked.
var ops = map[rpc.Op]func(s *Server, ctx context.Context, j *job, q *rpc.Request) (*rpc.Response, error){
	rpc.OpLeave:   (*Server).leave,
	rpc.OpCreate:  (*Server).create,
	rpc.OpPull:    (*Server).pull,
	rpc.OpPush:    (*Server).push,
	rpc.OpStep:    (*Server).step,
	rpc.OpBarrier: (*Server).barrier,
	rpc.OpRoll:    (*Server).roll,
	rpc.OpQuit:    (*Server).quit,
	rpc.OpGet:     (*Server).get,
	rpc.OpUpdate:  (*Server).update,
	rpc.OpSave:    (*Server).save,
	rpc.OpCommit:  (*Server).commit,
	rpc.OpAbort:   (*Server).abort,
	rpc.OpLoad:    (*Server).load,
}

func (s *Server) job(name string) (*job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[name]; j != nil {
		return j, nil
	}
	return nil, fmt.Errorf("job %q: %w: nobody has joined it, or it ended", name, rpc.ErrNotFound)
}

// drop forgets a job that nobody is part of any more, and what it had staged of saves.
func (s *Server) drop(j *job) {
	s.mu.Lock()
	mine := s.jobs[j.name] == j
	if mine {
		delete(s.jobs, j.name)
	}
	maps.DeleteFunc(s.targets, func(_ string, t target) bool { return t.of == j })
	s.mu.Unlock()
	s.abortSaves(j)
	if mine {
		j.mu.Lock()
		j.memory.give(j.bytes)
		j.bytes, j.memory = 0, nil
		j.close()
		j.mu.Unlock()
		s.logger().Info("job ended", "job", j.name)
	}
}

func (s *Server) logger() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}
