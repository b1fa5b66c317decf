package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"thole.example/access"
	"thole.example/budget"
	"thole.example/format"
	"thole.example/journal"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/wire"
)

// Recover brings the jobs back whose logs are there, each as it was when the last of its changes became durable: the records are fed to
// the same code as requests, over connections that nobody has. In the end these are gone, and every task has its grace from then on to come
// back. A server with Logs needs it before its first request. A job whose log cannot be read, or does not make it again, is given up: its
// tasks hear that it is not there, and the log is kept aside. A disk without room for a log is waited for (LogPatience). The error is of
// such a disk, which is blob.ErrUnavailable and leaves all logs as they are, or of a folder that cannot be listed or given another name.
// The server is to answer nothing then.
func (s *Server) Recover(ctx context.Context) error { return s.recover(ctx, false) }

// RecoverWhole is Recover for a server in whose place somebody else has what the logs are to have: if one cannot be read, or does not make
// its job again, that is the error, and the log stays as it is. It waits for no disk. The server is to answer nothing then.
func (s *Server) RecoverWhole(ctx context.Context) error { return s.recover(ctx, true) }

func (s *Server) recover(ctx context.Context, whole bool) (err error) {
	names, err := s.Logs.List()
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	var all []*replay
	defer func() {
		if err != nil {
			for _, r := range all {
				r.stop(err)
			}
		}
	}()
	for _, name := range slices.Sorted(slices.Values(names)) {
		number, kept := strings.CutPrefix(name, keptPrefix)
		n, err := strconv.Atoi(number)
		if err != nil {
			continue // not ours
		}
		if s.lastLog = max(s.lastLog, n); kept {
			continue
		}
		r, err := s.replay(ctx, name, whole)
		if err != nil {
			return err
		}
		if r != nil {
			all = append(all, r)
		}
	}
	for _, r := range all {
		r.disconnect()
	}
	return nil
}

// replay is a log that is being read.
type replay struct {
	s     *Server
	j     *job
	log   *jobLog
	peers map[int]*rpc.Peer // by task
	last  map[int]uint64    // change of each task
	ends  []chan struct{}   // of their connections

	name    access.JobName // of the job: there is none before somebody has joined
	attempt int
	ctx     context.Context // of run
	free    func() bool     // has the job not end with that any more

	under sync.WaitGroup // exchanges
	mu    sync.Mutex
	odd   error            // what went otherwise than it did
	wrong map[change]error // updates that were refused, and of which the log has not said so yet

	began          time.Time
	records, bytes int64
	since          int64 // bytes that partitions may have to do with

	whole bool    // if the job cannot be made again, that is an error
	copy  *copyIn // the log is a copy, to which more comes; nil: it is not
	why   error   // the job could not be made again
}

// nobody is the number of a task that is none.
const nobody = -1

// waitBytes is after how many bytes of records the replay waits for the partitions.
const waitBytes = 64 << 20

// errFailed is why a job is not made again that had failed.
var errFailed = errors.New("it had failed")

// replay reads a log and makes its job again; nil if there is none. The error is of a log that could not be put aside, or of ctx; or of
// one that is to be whole and is not.
func (s *Server) replay(ctx context.Context, name string, whole bool) (*replay, error) {
	wait := s.patience()
	if whole {
		wait = 0 // somebody has a copy
	}
	l, err := s.reopenLog(ctx, name, wait)
	if err != nil && (whole || ctx.Err() != nil || errors.Is(err, journal.ErrFull)) {
		return nil, err
	}
	if err != nil {
		s.logger().Error("a log cannot be read, and its job is given up", "log", name, "err", err)
		return nil, s.keepLog(name)
	}
	r := s.newReplay(l)
	r.whole = whole
	live, err := r.run(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("log %s: %w", name, err)
	case !live:
		return nil, nil
	}
	return r, nil
}

// newReplay is a replay of a log that nothing else is done with.
func (s *Server) newReplay(l *jobLog) *replay {
	if cut := l.log.Cut(); cut != nil {
		s.logger().Info("the end of a log, which nobody was told of, was torn", "log", l.name, "cut", cut)
	}
	l.replays.Store(true)
	l.loads = map[change]loadingAgain{}
	return &replay{s: s, log: l, peers: map[int]*rpc.Peer{}, last: map[int]uint64{}, wrong: map[change]error{}, began: time.Now()}
}

// run reads the log and makes its job again, and reports whether there is one that goes on.
func (r *replay) run(ctx context.Context) (live bool, err error) {
	s, l := r.s, r.log
	r.ctx, r.free = ctx, func() bool { return true }
	err = r.read(ctx)
	r.free()
	over := ctx.Err() != nil
	if over { // which may be why something else has failed
		err = context.Cause(ctx)
	}
	switch {
	case over, r.whole && err != nil && !errors.Is(err, errFailed):
		l.keep.Store(true) // as it is
		err = errors.Join(err, l.log.Close())
		r.giveUp(err)
		return false, err
	case r.j == nil && err == nil:
		l.remove(s)
		return false, nil
	case err == nil && r.hasEnded(): // the next attempt may have replaced it before its tasks were gone
		r.disconnect()
		return false, nil
	case err == nil && r.j.core.Tasks() == 0: // nobody was told that the job is there
		err = fmt.Errorf("nobody has joined: %w", rpc.ErrNotFound)
	case errors.Is(err, errFailed):
		s.logger().Warn("a job is given up that had failed", "job", r.j.full.String(), "log", l.name, "err", err)
	case err != nil:
		s.logger().Error("a job cannot be made again from its log, and is given up", "job", r.job(), "log", l.name, "err", err)
		var bad error
		if r.why = err; r.copy == nil { // else it is removed
			bad = l.aside(s)
		}
		r.giveUp(err)
		return false, bad
	default:
		r.live()
		return true, nil
	}
	r.giveUp(err)
	return false, nil
}

// hasEnded reports whether the job has come to its end with what the log says, or another has begun in its place.
func (r *replay) hasEnded() bool {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.s.jobs[r.j.full] != r.j
}

// job is the name of the job, as far as it is known.
func (r *replay) job() string {
	if r.j == nil {
		return ""
	}
	return r.j.name
}

// read makes all that the log says.
func (r *replay) read(ctx context.Context) (err error) {
	position, err := r.rebase(ctx)
	if err != nil {
		return err
	}
	if r.copy != nil {
		r.copy.readable.Store(true)
	}
	from, err := r.log.log.Read(position)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if r.copy == nil { // more is there than comes
		room := r.s.Ledger.Force(budget.Queues, journal.AheadBytes)
		defer room.Release()
		from.ReadAhead()
	}
	said, end := r.began, r.log.log.Durable()
	for {
		if more, err := r.more(ctx, from.Position(), end); err != nil {
			return err
		} else if !more {
			break
		}
		rec, err := from.Next(ctx)
		if err != nil {
			return err
		}
		again, known := replays[rec.Kind]
		if !known || !r.fits(rec.Kind) {
			return fmt.Errorf("log %s: a record of kind %d at position %d: %w", r.log.name, rec.Kind, rec.Position, journal.ErrForeign)
		}
		if err := r.goesOn(); err != nil {
			return err
		}
		if err := again(r, rec.Body); err != nil {
			return fmt.Errorf("record %d at position %d: %w", r.records, rec.Position, err)
		}
		r.records++
		r.bytes += int64(len(rec.Body))
		if r.since += int64(len(rec.Body)); r.since > waitBytes {
			r.waitAll()
		}
		if time.Since(said) > time.Second && r.copy == nil {
			said = time.Now()
			r.s.logger().Info("replaying a log", "job", r.j.full.String(), "records", r.records, "read", format.Bytes(r.bytes),
				"of", format.Bytes(int64(end-position)))
		}
	}
	if r.j != nil {
		r.waitAll()
	}
	return r.oddity()
}

// more reports whether there are records after a position: those of a copy come until it is over, and are waited for.
func (r *replay) more(ctx context.Context, position, end uint64) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if r.copy == nil {
		return position < end, nil
	}
	r.copy.read.Store(r.copy.size)
	r.log.replayed.advance(position)
	r.baseCopy(position)
	if position < r.log.log.Durable() {
		return true, nil
	}
	more := false
	err := r.s.copies.changes.await(ctx, func() (bool, error) {
		over := r.copy.over.get()
		if more = position < r.log.log.Durable(); more || over && position == r.log.log.End() || r.j != nil && r.hasEnded() {
			return true, nil
		}
		return false, r.log.ended()
	})
	return more, err
}

// baseCopy begins a base of a copy, if much has come to it since it got one.
func (r *replay) baseCopy(position uint64) {
	l := r.log
	if r.j == nil || !l.due(position) {
		return
	}
	r.waitAll()
	r.mu.Lock()
	wrong := len(r.wrong)
	r.mu.Unlock()
	if len(l.loads) > 0 || wrong > 0 || r.hasEnded() { // a record says later what becomes of them
		l.basing.Store(false)
		return
	}
	r.j.grown()
	r.drain()
}

// fits reports whether a record of the kind can come here. Of several Joins that begin a job at once one does, and the others leave
// logs in which nobody has joined.
func (r *replay) fits(kind uint32) bool {
	switch {
	case r.j != nil:
		return kind != recordBegin
	case r.name != access.JobName{}:
		return kind == recordJoin
	}
	return kind == recordBegin
}

// goesOn wants the job not to have ended: nothing comes after that.
func (r *replay) goesOn() error {
	if r.j != nil && r.hasEnded() {
		return fmt.Errorf("job %q has ended, and %d records were not the last: %w", r.j.name, r.records, journal.ErrForeign)
	}
	return nil
}

// replays is what is done for each kind of record. An error is of what cannot be made again.
var replays = map[uint32]func(r *replay, body []byte) error{
	recordBegin:   (*replay).begin,
	recordJoin:    (*replay).join,
	recordCreate:  (*replay).create,
	recordDefine:  (*replay).define,
	recordChange:  (*replay).change,
	recordRefused: (*replay).refused,
	recordRan:     (*replay).ran,
	recordUpdate:  (*replay).update,
	recordMake:    (*replay).makes,
	recordLeave:   (*replay).leave,
	recordGivenUp: (*replay).givenUp,
	recordFailed:  (*replay).failed,
	recordTarget:  (*replay).target,
}

// beginning is what the first record says.
type beginning struct {
	Job   string `json:"job"`
	Owner string `json:"owner,omitempty"`
}

// joining is what the log has of a Join.
type joining struct {
	rpc.Join
	Name string `json:"name"` // of the other side, for people
}

// exchange is one whose answer nobody hears. told is called with what came of it.
func (r *replay) exchange(q *rpc.Request, from *rpc.Peer, told func(error)) *rpc.Exchange {
	r.under.Add(1)
	return rpc.NewExchange(q, from, func(_ *rpc.Exchange, a *rpc.Response, err error) {
		a.Release()
		told(err)
		r.under.Done()
	})
}

// must is told of what went well when it was in the log.
func (r *replay) must(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && r.odd == nil {
		r.odd = fmt.Errorf("it went well before: %w", err)
	}
}

func (r *replay) oddity() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.odd
}

// drain waits until the job's mailbox has done what it was given.
func (r *replay) drain() {
	done := make(chan struct{})
	r.j.submit(deed(func() { close(done) }))
	<-done
}

// waitAll waits until partitions have done what they were told.
func (r *replay) waitAll() {
	r.under.Wait()
	r.drain()
	for _, s := range (*r.j.stores.Load())[1:] {
		for _, p := range s.partitions {
			if p != nil {
				p.wait(func() {})
			}
		}
	}
	r.since = 0
}

// request is the request of a record, in memory of its own, and the task that it is of.
func (r *replay) request(body []byte) (q *rpc.Request, m *member, err error) {
	c := wire.NewCursor(body, 0, wire.Little)
	task, rest := int(c.I32("task")), c.U32("zeros")
	if c.Err() != nil || rest != 0 {
		return nil, nil, fmt.Errorf("a record of %d bytes, want a request: %w", len(body), journal.ErrForeign)
	}
	body = body[requestHead:]
	memory := rpc.MappedBuffer(len(body), r.s.Ledger.Force(budget.Queues, rpc.Taken(len(body))))
	copy(memory.Bytes(), body)
	q, err = rpc.ReadRequest(memory.Bytes())
	if err == nil {
		m, err = r.member(task)
	}
	if err != nil {
		memory.Release()
		return nil, nil, err
	}
	q.Memory = memory
	return q, m, nil
}

// member is who a task is on the connection that it has here.
func (r *replay) member(task int) (*member, error) {
	if task == nobody {
		m := &member{job: r.j, task: nobody, reads: true, left: make(chan struct{})}
		m.joined.Store(true)
		return m, nil
	}
	peer := r.peers[task]
	if peer == nil {
		return nil, fmt.Errorf("task %d has not joined: %w", task, journal.ErrForeign)
	}
	return memberOf(peer), nil
}

// peer is the other side of a member's connection.
func (r *replay) peer(m *member) *rpc.Peer {
	if peer := r.peers[m.task]; peer != nil {
		return peer
	}
	return &rpc.Peer{Name: "the log"}
}

// serve serves the request of a record, which must go well, and waits for that.
func (r *replay) serve(body []byte, serve func(s *Server, m *member, x *rpc.Exchange)) error {
	q, m, err := r.request(body)
	if err != nil {
		return err
	}
	serve(r.s, m, r.exchange(q, r.peer(m), r.must))
	r.under.Wait()
	return r.oddity()
}

// live lets the job go on where the log ends, as if the connections were there.
func (r *replay) live() {
	r.j.submit(deed(func() {
		r.j.copy.Store(nil)
		r.log.replays.Store(false)
		for c, load := range r.log.loads { // they were under way, and nobody has heard of them
			r.j.load(c, load.path, load.do)
		}
	}))
	took := time.Since(r.began).Round(time.Millisecond)
	r.log.setReplay(&ReplayStatus{Records: r.records, Bytes: r.bytes, Seconds: took.Seconds()})
	r.s.logger().Info("job continues where its log ends", "job", r.j.full.String(), "attempt", r.j.core.Attempt(), "clock", r.j.slowest.Load(),
		"records", r.records, "read", format.Bytes(r.bytes), "took", took)
}

// disconnect ends the connections that nobody has.
func (r *replay) disconnect() {
	for _, peer := range r.peers {
		r.j.post(ssp.Gone{Conn: peer.State.(*seat).conn}, nil)
	}
	for _, gone := range r.ends {
		close(gone)
	}
	r.ends = nil
}

// giveUp ends a job that cannot be made again.
func (r *replay) giveUp(why error) {
	r.under.Wait()
	r.abandon(why)
}

// abandon is giveUp of a job, if there is one, of whose exchanges some may never be answered.
func (r *replay) abandon(why error) {
	if r.j == nil {
		return
	}
	r.j.post(ssp.Abort{Err: fmt.Errorf("job %q: %w", r.j.name, why)}, nil)
	r.disconnect()
	r.j.submit(deed(func() {
		if r.j.core.Tasks() == 0 && !r.j.ended { // nobody has joined whose leaving would end it
			r.j.effect(ssp.End{})
		}
	}))
}
