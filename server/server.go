// Package server is the parameter server: the partitions it holds, the clocks of the jobs that use them, and the functions
// beside the data, as one rpc.Handler.
//
// # The story of a request
//
// A job is a set of tasks that share matrices and clocks. It begins with the first Join and ends when every task has left
// or is lost. From its Join on a connection is its task's. The network hands over the requests of a connection one after
// the other, in the order in which they were sent, and nobody waits on the way:
//
//   - A pull whose clocks are reached goes straight to the partitions: each has a mailbox, whose owner reads what is asked of
//     it into the frame that goes out, and whoever brings the last share sends it.
//   - Everything that needs a decision (a change, a pull that is early, a barrier, a join) becomes an event of the job's core,
//     an [ssp.Job], which is stepped in the job's mailbox and answers with effects: deltas to be applied, requests to be
//     answered. The shell posts the former to the partitions, in that order, and sends the latter once it has left the mailbox.
//   - What takes long (functions, saves, loads) runs in goroutines of its own and visits the partitions in bands.
//
// A mailbox belongs to one goroutine at a time: that of whoever finds it idle. No lock is held while a partition is read,
// changed or written to a bucket; what one matrix does delays no other.
//
// Under BSP and SSP deltas are staged per clock and folded in the order of (clock, task) when the slowest task has finished
// the clock; under ASP they are applied at once. See package ssp for what that promises.
//
// With Server.Logs the changes of each job are logged in the order in which its mailbox executes them, answers wait until what they say is
// durable, and a server that is started again brings its jobs back to where they were (Server.Recover): log.go says how.
//
// A task whose connection ends before it left, and that does not come back in the time it asked for, fails the job (or, if
// it is optional, is left behind): everybody who waits gets an error that names it.
package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"thole.example/access"
	"thole.example/blob"
	"thole.example/budget"
	"thole.example/format"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/wasm"
)

// Server serves one process's share of all jobs. The exported fields are set before the first request and not changed.
type Server struct {
	Funcs  *psf.Table   // functions and update rules
	Codecs format.Set   // for saving and loading
	Bucket blob.Bucket  // where models are saved and loaded; names in requests are names within it
	Log    *slog.Logger // nil: nothing is logged
	// Modules runs functions of users' own; nil: they are refused.
	Modules *wasm.Runtime
	Ledger  *budget.Ledger // bounds what the process takes; nil: nothing does. The network has the same one

	JobLimits access.Limits // of each job, whoever's it is
	// Tokens are those of the network, the owners of jobs. nil: jobs have no owners.
	Tokens *access.Table

	// Replica makes it a server of checkpoints, which answers readers and accepts no changes; nil: it serves jobs.
	Replica *CheckpointReplica

	// Role is what the process has to be while it answers: another may be in its place. nil: nobody else can be.
	Role Role

	// Scratch is a folder for deltas that wait and have no room in memory, and for rows of sparse matrices that have none. "": the
	// system's temporary one, for deltas; rows stay in memory.
	Scratch string

	// Logs are where the changes of jobs are logged, so that a server that is started again is where it died (Recover); nil: nowhere.
	Logs Logs
	// LogUnsynced has what was written to a log count as durable: it survives the process, and not the machine.
	LogUnsynced bool
	// LogBase is how many bytes may come to a log before the state of its job is written beside it, which makes them needless. 0: 256 MiB, or
	// a third of the bytes of that state if that is more. A log may take four times LogBase, or as much as the state if that is more: then
	// answers wait until the next state is there.
	LogBase int64
	// LogSegment is how many bytes a file of a log has, or those of a larger record. 0: 64 MiB, or a quarter of LogBase if that is less.
	LogSegment int64
	// LogPatience is how long a log waits for room on a full disk before its job fails, which the next attempt may do better. 0: 30 s.
	LogPatience time.Duration
	// Replicas is how many servers are to have what the logs say, this one and standbys that copy them; 0 and 1: no standby does. With
	// fewer than that the server goes on alone, once Role.Copied has said so.
	Replicas int
	// Copies bound how far standbys may be behind, on both sides.
	Copies CopyLimits
	// SlowStandby is what becomes of a standby that does not keep up.
	SlowStandby SlowStandby

	scratch scratch
	conns   atomic.Int64 // number of the last connection that joined
	begin   sync.Once
	start   time.Time

	mu      sync.Mutex
	jobs    map[access.JobName]*job
	endings map[access.JobName]*job // attempts that have ended and not given everything back yet, by the names of their jobs
	pasts   []past                  // jobs that came to their end, the last ones
	// launches are those of jobs that have ended otherwise (rpc.Join.Launch), by name: no lower one comes after them.
	launches map[access.JobName]int
	marks    map[string]mark         // of rehearsals, by stage
	folders  map[string]*folderClaim // folders that jobs write checkpoints to
	targets  map[string]target       // paths that jobs have rehearsed a save to
	lastLog  int                     // number of the last log
	leaving  bool                    // it takes no new jobs
	copies   copies
	copying  atomic.Pointer[Copying] // nil: it copies no logs
	// copyReads is how many requests of readers were answered from copies.
	copyReads atomic.Int64
	shares    shares
}

// now is the time for the cores of jobs.
func (s *Server) now() time.Duration {
	s.begin.Do(func() { s.start = time.Now() })
	return time.Since(s.start)
}

// Serve implements rpc.Handler.
func (s *Server) Serve(x *rpc.Exchange) {
	m, op := memberOf(x.From), operationOf(x.Op)
	if err := cmp.Or(op.allowed(m, x), s.servesOnly(op, x), s.inRole(m, op, x)); err != nil {
		x.Fail(err)
		return
	}
	s.decoded(x)
	switch {
	case op.of == ofTask && m == nil:
		x.Fail(fmt.Errorf("%v from a connection over which no task has joined: %w", x.Op, rpc.ErrRefused))
	case m != nil && m.reads && !op.reader && op.of == ofTask:
		x.Fail(fmt.Errorf("%v by a reader of job %q, who is none of its tasks: %w", x.Op, m.job.name, rpc.ErrRefused))
	default:
		op.serve(s, m, x)
	}
}

// refuse answers with an error: why the task is not of the job, if that is so, or else err.
func (m *member) refuse(x *rpc.Exchange, err error) {
	failed := m.job.failed.Load()
	switch {
	case failed != nil:
		err = *failed
	case m.dropped.Load():
		err = fmt.Errorf("job %q has gone on without task %d: %w", m.job.name, m.task, rpc.ErrAborted)
	case !m.joined.Load():
		err = fmt.Errorf("no task of job %q has joined over this connection, or it has left: %w", m.job.name, rpc.ErrRefused)
	}
	x.Fail(err)
}

// background runs what takes long in a goroutine of its own and answers with what it gives.
func (m *member) background(x *rpc.Exchange, run func(ctx context.Context) (*rpc.Response, error)) {
	if !m.joined.Load() || m.job.failed.Load() != nil {
		m.refuse(x, nil)
		return
	}
	m.run(x, run)
}

// run is background for what was begun: it has to be ended, also if the task is not of the job any more.
func (m *member) run(x *rpc.Exchange, run func(ctx context.Context) (*rpc.Response, error)) {
	go x.Guard(m.job.server.logger(), func() {
		r, err := run(x.Context())
		if err != nil {
			x.Fail(err)
			return
		}
		if r == nil {
			r = &rpc.Response{}
		}
		r.Clock = m.job.slowest.Load()
		x.Answer(r)
	})
}

// drop forgets a job that nobody is part of any more: its partitions, and what it had staged of saves. Whoever left last does
// not wait for those.
func (s *Server) drop(j *job) {
	s.mu.Lock()
	maps.DeleteFunc(s.targets, func(_ string, t target) bool { return t.of == j })
	s.mu.Unlock()
	saves, others := j.saves.close()
	marks := s.marksOf(j)
	if len(saves)+len(others)+len(marks) == 0 {
		s.close(j)
		return
	}
	go func() {
		for _, tree := range marks {
			_ = s.erase(context.Background(), s.Bucket, tree) // there is nobody to tell
		}
		j.saves.endAll(saves, others)
		s.close(j)
	}()
}

// close gives the memory of a job back, its functions last: partitions may still run them.
func (s *Server) close(j *job) {
	var left atomic.Int32
	left.Store(1)
	done := func() {
		if left.Add(-1) == 0 {
			for _, st := range (*j.stores.Load())[1:] {
				st.about.release()
			}
			j.about.release()
			j.functions.close()
			go s.gone(j)
		}
	}
	for _, st := range (*j.stores.Load())[1:] {
		for _, p := range st.partitions {
			if p == nil {
				continue
			}
			left.Add(1)
			if p.post(p.deed(func() { defer done(); p.close() })) {
				p.run()
			}
		}
	}
	done()
	s.logger().Info("job ended", "job", j.full.String())
}

// close gives the partition's memory back.
func (p *partition) close() {
	if p.shard != nil {
		p.shard.Close()
	}
	p.shard = nil
	p.away.Store(0)
	p.movable.Store(0)
	p.bytes.Release()
	p.of.accounts.add(-p.counted.Swap(0), -1)
}

func (s *Server) logger() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}
