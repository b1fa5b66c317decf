package server

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"thole.example/access"
	"thole.example/rpc"
)

// A standby that copies the logs of a server (copying.go) has the same jobs, a little later. Until it has the role it answers readers of
// these jobs that accept a copy (rpc.Follow.Replica), and refuses everything else.
//
//   - A copy has only what is durable at the server. A reader sees it like a reader of the server does: the same code makes the changes,
//     and a read comes after all that was replayed before it. A job whose base is being read is not there yet.
//   - The server says twice a second, or with what comes, up to where its log is durable. From that the standby knows the age of its copy,
//     without comparing clocks: it counts from when it asked. A reader says how old a copy it accepts, and gets no answer from an older
//     one; so a standby that the network has cut off answers nobody for long.
//   - Readers do not hold the replay back: they wait for partitions as they do at the server, and are refused while much is to be
//     replayed, before the server would throttle pushes for the standby. What their connections take of the memory does not refuse what
//     the server has accepted.
//   - When the standby takes over, the jobs continue and so do the readers' connections; when the copy begins again, the jobs fail, and
//     readers look for another server.

// CopyReads is how many requests of readers were answered from copies of other servers' jobs so far. Any goroutine may call it.
func (s *Server) CopyReads() int64 { return s.copyReads.Load() }

// replicaReader is a reader that accepts the copy of a job.
type replicaReader struct {
	j      *job
	maxLag time.Duration
}

// newReplicaReader is what a reader accepts; nil: no copy.
func newReplicaReader(j *job, a *rpc.Follow) *replicaReader {
	if !a.Replica {
		return nil
	}
	return &replicaReader{j, cmp.Or(max(0, time.Duration(a.MaxLag)), rpc.ReplicaLag)}
}

// copied reports whether the job is a copy now.
func (r *replicaReader) copied() bool { return r != nil && r.j.copy.Load() != nil }

// Check implements rpc.Checker: once the job is no copy any more, the server has to have its role.
func (r *replicaReader) Check() error {
	_, err := r.lag()
	return err
}

// lag is how far the copy lags, nil if the job is none. The error says why it answers nothing now.
func (r *replicaReader) lag() (*rpc.Lag, error) {
	in := r.j.copy.Load()
	if in == nil {
		return nil, r.j.server.fenced()
	}
	if !in.readable.Load() {
		return nil, fmt.Errorf("job %q: this standby reads the base of its copy: %w", r.j.name, rpc.ErrLag)
	}
	bytes, age := in.age()
	if age > r.maxLag {
		return nil, fmt.Errorf("job %q: the copy of this standby is %v old and lacks %d bytes, want at most %v: %w", r.j.name,
			age.Round(time.Millisecond), bytes, r.maxLag, rpc.ErrLag)
	}
	if most := r.j.server.Copies.ahead() / 2; in.unreplayed() > most {
		return nil, fmt.Errorf("job %q: this standby has to replay more than %d bytes before it answers readers: %w", r.j.name, most, rpc.ErrLag)
	}
	return &rpc.Lag{Bytes: bytes, Seconds: age.Seconds()}, nil
}

// readsOnly reports whether an operation of a reader changes nothing.
func (o *operation) readsOnly() bool { return o.reader && o.of == ofTask && o.needs == access.Read }

// fromCopy reports whether a request is one that the copy of a job answers, and why it does not now.
func (s *Server) fromCopy(m *member, op *operation, x *rpc.Exchange) (is bool, err error) {
	if m == nil || m.accepts == nil || !op.readsOnly() {
		return false, nil
	}
	x.Checked(m.accepts)
	switch err := m.accepts.Check(); {
	case err != nil:
		return true, err
	case !m.accepts.copied():
		return true, nil
	case slices.ContainsFunc(x.Parts, asksMade):
		return true, fmt.Errorf("job %q: this standby reads from its copy and makes no columns: %w", m.job.name, rpc.ErrStandby)
	}
	s.copyReads.Add(1)
	return true, nil
}

// waitLook is how often a request that waits for a clock of a copy looks whether the copy still may answer it.
const waitLook = 500 * time.Millisecond

// boundWait ends a request that waits for a clock when its copy lags too far: the clock may never come here.
func (m *member) boundWait(x *rpc.Exchange) {
	var look *time.Timer
	var mu sync.Mutex
	mu.Lock()
	defer mu.Unlock()
	look = time.AfterFunc(waitLook, func() {
		mu.Lock()
		defer mu.Unlock()
		if x.Answered() || !m.accepts.copied() {
			return
		}
		if err := m.accepts.Check(); err != nil {
			x.Cancel(err)
			return
		}
		look.Reset(waitLook)
	})
}

// copyFreshness is how old a copy of a log is. What the server has said lately is remembered as two marks, of which the first is the older
// one that the replay has not reached: so the age is never too low, and at most twice too high while the replay lags.
type copyFreshness struct {
	mu    sync.Mutex
	end   uint64      // position before which everything is durable at the server, as it last said
	fresh time.Time   // the copy has what was durable then
	marks [2]copyMark // ascending; those from open on are reached
	open  int
}

// copyMark is what the server said to a question.
type copyMark struct {
	asked time.Time
	end   uint64
}

// heard notes what the server said to a question.
func (f *copyFreshness) heard(asked time.Time, end, replayed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end = max(f.end, end)
	f.open = min(f.open, 1)
	f.marks[f.open] = copyMark{asked, f.end}
	f.open++
	f.reach(replayed)
}

// reach notes that the replay has reached a position. f is locked.
func (f *copyFreshness) reach(replayed uint64) {
	for f.open > 0 && f.marks[0].end <= replayed {
		f.fresh = f.marks[0].asked
		f.marks[0] = f.marks[1]
		f.open--
	}
}

// age is how many bytes a replay at a position lacks, and for how long.
func (f *copyFreshness) age(replayed uint64) (bytes uint64, age time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reach(replayed)
	return f.end - min(f.end, replayed), time.Since(f.fresh)
}

// age is how far the copy is behind. It is for others than who copies, once the copy is readable.
func (in *copyIn) age() (bytes uint64, age time.Duration) {
	return in.fresh.age(in.log.replayed.load())
}

// unreplayed is how many bytes are here that are not replayed.
func (in *copyIn) unreplayed() uint64 {
	end := in.log.log.End()
	return end - min(end, in.log.replayed.load())
}

// heard notes what the server said to a question.
func (c *Copying) heard(asked time.Time, head *rpc.Copied) {
	for i := range head.Logs {
		in := c.logs[head.Logs[i].Name]
		if in == nil {
			continue
		}
		replayed := uint64(0)
		if in.log != nil {
			replayed = in.log.replayed.load()
		}
		in.fresh.heard(asked, head.Logs[i].Durable, replayed)
	}
}
