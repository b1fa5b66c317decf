package server

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/shard"
	"thole.example/spill"
)

// partition is a partition of a matrix on this server. What its mailbox does alone may look at the shard.
type partition struct {
	mailbox
	id      int
	at      int // place in the store's owned
	of      *store
	shard   *shard.Shard
	bytes   budget.Charge // what the shard takes
	columns atomic.Int64  // that it has stored, about: it may be having others
	counted atomic.Int64  // of its bytes, in the accounts of its matrix
	fate    atomic.Pointer[shard.Fate]
	away    atomic.Int64 // bytes of rows that lie on disk
	movable atomic.Int64 // bytes of rows that could
}

// delta is a part of a push that waits for its clock, or is being applied.
type delta struct {
	of        *store
	from      *message   // nil: it does not wait in a stage
	nonFinite *nonFinite // nil: all its values are finite. What is left out for that has nothing of what follows
	part      rpc.Part   // without Keys and Values when they are on disk
	size      int        // bytes of all values
	counted   int64      // of its bytes, in the accounts of its job
	keys      int        // their number
	call      *psf.Call  // an update function instead of values
	text      []byte     // as it came

	mu     sync.RWMutex // held while the values are used, and exclusively while they go to disk
	memory *rpc.Buffer  // where keys and values lie
	disk   *spill.Store // where they lie instead, under name
	name   string
	over   bool
	growth budget.Charge // for columns that it makes

	dropped atomic.Bool
	users   atomic.Int32 // beside the job: checkpoints that still have to write it
}

// bytes is what the delta brings.
func (d *delta) bytes() int64 { return int64(d.size + 8*d.keys) }

// release gives back what the delta holds in memory.
func (d *delta) release() {
	d.growth.Release()
	d.memory.Release()
}

// drop ends a delta that has been applied, or never will be.
func (d *delta) drop() {
	d.of.job.stage.remove(d)
	if d.dropped.CompareAndSwap(false, true) {
		d.of.job.accounts.add(-d.counted, 0)
		d.end()
	}
}

// use keeps a delta that waits for its clock from ending until the caller calls end.
func (d *delta) use() { d.users.Add(1) }

// end gives back what the delta holds when nobody needs it any more.
func (d *delta) end() {
	if d.users.Add(-1) >= 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	d.release()
	if d.disk != nil {
		d.forget()
	}
}

// gone is the error of whoever comes to a partition that is not there: the job has ended, or it could not be made.
func (p *partition) gone() error {
	return fmt.Errorf("matrix %q: partition %d is not here any more: %w", p.of.meta.Name, p.id, rpc.ErrAborted)
}

// recovered turns a panic into an error, and logs where it was: what a mailbox does must not leave it without an owner.
func (s *Server) recovered(err *error) {
	if p := recover(); p != nil {
		s.logger().Error("a panic", "panic", p, "stack", string(debug.Stack()))
		*err = fmt.Errorf("%w: %v", rpc.ErrInternal, p)
	}
}

// try calls the function, and turns a panic into an error.
func (s *Server) try(f func()) (err error) {
	defer s.recovered(&err)
	f()
	return nil
}

// deed is work of the partition that is a function. One that panics is a mistake in the server, and fails the job.
func (p *partition) deed(f func()) deed {
	return func() {
		if err := p.of.job.server.try(f); err != nil {
			p.of.job.abort(fmt.Errorf("matrix %q: partition %d: %w", p.of.meta.Name, p.id, err))
		}
	}
}

// wait has the mailbox do something and waits for it. It is not for mailboxes themselves.
func (p *partition) wait(f func()) {
	done := make(chan struct{})
	if p.post(p.deed(func() { defer close(done); f() })) {
		p.run()
	}
	<-done
}

// recount counts what the shard takes now.
func (p *partition) recount() {
	if p.shard != nil {
		n := p.shard.Bytes()
		p.bytes.Resize(n)
		p.columns.Store(int64(p.shard.Columns()))
		p.countPages()
		if p.of.meta.Keep != (matrix.Keep{}) {
			fate := p.shard.Fate()
			p.fate.Store(&fate)
		}
		if before := p.counted.Swap(n); before != n {
			p.of.accounts.add(n-before, 0)
		}
	}
}

const (
	// helpedBytes is for how much work another processor helps, if one is idle: to wake it, and to have it fetch what this one has at
	// hand, takes as long as some 100 KiB, of which a request of less than this has too few.
	helpedBytes = 1 << 20
	// handedBytes is the work that whoever brought it leaves to others, so as to take what its connection brings next.
	handedBytes = 4 << 20
	// replayedBytes is the same for the replay of a log, which always has a next record at hand: others are awake.
	replayedBytes = 64 << 10
)

// runAll runs mailboxes that the caller owns, with a lot to do by several processors. From handed bytes on others do it.
func runAll(idle []*partition, bytes, handed int64) {
	if len(idle) == 0 {
		return
	}
	j := idle[0].of.job
	workers := j.most(min(runtime.GOMAXPROCS(0), len(idle), 1+int(bytes/min(helpedBytes, handed))))
	if workers < 2 && bytes < handed {
		for _, p := range idle {
			p.run()
		}
		return
	}
	r := &runner{idle: slices.Clone(idle)}
	if bytes < handed {
		workers--
		defer r.run()
	}
	for range workers {
		done := j.leaves()
		go func() { defer done(); r.run() }()
	}
}

// runner runs mailboxes on several goroutines, each of which takes the next one.
type runner struct {
	idle []*partition
	next atomic.Int64
}

func (r *runner) run() {
	for i := r.next.Add(1); i <= int64(len(r.idle)); i = r.next.Add(1) {
		r.idle[i-1].run()
	}
}
