package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"thole.example/budget"
	"thole.example/format"
	"thole.example/journal"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/wire"
)

// Recover brings the jobs back whose logs are there, each as it was when the last of its changes became durable: the records are fed to
// the same code as requests, over connections that nobody has. In the end these are gone, and every task has its grace from then on to come
// back. A server with Logs needs it before its first request. The error is of a log that cannot be read; a job that cannot be made again
// is given up, and its tasks hear that it is not there.
func (s *Server) Recover(ctx context.Context) error {
	names, err := s.Logs.List()
	if err != nil {
		return fmt.Errorf("logs: %w", err)
	}
	var all []*replay
	for _, name := range slices.Sorted(slices.Values(names)) {
		n, err := strconv.Atoi(name)
		if err != nil {
			continue // not ours
		}
		s.lastLog = max(s.lastLog, n)
		r, err := s.replay(ctx, name)
		if err != nil {
			return fmt.Errorf("%w; without the folder %s the server begins without that job", err, name)
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
	of    rpc.Join          // the first
	ends  []chan struct{}   // of their connections

	under sync.WaitGroup // exchanges
	mu    sync.Mutex
	odd   error            // what went otherwise than it did
	wrong map[change]error // updates that were refused, and of which the log has not said so yet

	began          time.Time
	records, bytes int64
	since          int64 // bytes that partitions may have to do with
}

// nobody is the number of a task that is none.
const nobody = -1

// settleBytes is after how many bytes of records the replay waits for the partitions.
const settleBytes = 64 << 20

// replay reads a log and makes its job again; nil if there is none.
func (s *Server) replay(ctx context.Context, name string) (*replay, error) {
	l, err := s.openLog(name)
	if err != nil {
		return nil, err
	}
	if cut := l.log.Cut(); cut != nil {
		s.logger().Info("the end of a log, which nobody was told of, was torn", "log", name, "cut", cut)
	}
	l.replays.Store(true)
	l.loads = map[change]loadingAgain{}
	r := &replay{s: s, log: l, peers: map[int]*rpc.Peer{}, last: map[int]uint64{}, wrong: map[change]error{}, began: time.Now()}
	odd, err := r.read(ctx)
	switch {
	case err != nil && r.j == nil:
		_ = l.log.Close() // the error of reading says more
		return nil, err
	case err != nil:
		l.keep.Store(true)
		r.giveUp(err)
		return nil, err
	case r.j == nil:
		l.end(s)
		return nil, nil
	case odd != nil:
		s.logger().Error("a job cannot be made again from its log, and is given up", "job", r.j.name, "log", name, "err", odd)
		r.giveUp(odd)
		return nil, nil
	}
	r.live()
	return r, nil
}

// read makes all that the log says. The first error is of what cannot be made again.
func (r *replay) read(ctx context.Context) (odd, err error) {
	from, err := r.log.log.Read(r.log.log.First())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	said := r.began
	for end := r.log.log.Durable(); from.Position() < end; {
		rec, err := from.Next(ctx)
		if err != nil {
			return nil, err
		}
		again, known := replays[rec.Kind]
		if !known || (r.j == nil) != (rec.Kind == recordBegin) {
			return nil, fmt.Errorf("log %s: a record of kind %d at position %d: %w", r.log.name, rec.Kind, rec.Position, journal.ErrForeign)
		}
		if err := r.goesOn(); err != nil {
			return err, nil
		}
		if err := again(r, rec.Body); err != nil {
			return fmt.Errorf("record %d at position %d: %w", r.records, rec.Position, err), nil
		}
		r.records++
		r.bytes += int64(len(rec.Body))
		if r.since += int64(len(rec.Body)); r.since > settleBytes {
			r.settle()
		}
		if time.Since(said) > time.Second {
			said = time.Now()
			r.s.logger().Info("replaying a log", "job", r.j.name, "records", r.records, "read", format.Bytes(r.bytes),
				"of", format.Bytes(int64(end-r.log.log.First())))
		}
	}
	if r.j != nil {
		r.settle()
	}
	return r.oddity(), nil
}

// goesOn wants the job not to have ended: nothing comes after that.
func (r *replay) goesOn() error {
	if r.j == nil {
		return nil
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.s.jobs[r.j.name] != r.j {
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
}

// beginning is what the first record says.
type beginning struct {
	Job string `json:"job"`
}

// joining is what the log has of a Join.
type joining struct {
	rpc.Join
	Name string `json:"name"` // of the other side, for people
}

func (r *replay) begin(body []byte) error {
	var b beginning
	if err := json.Unmarshal(body, &b); err != nil {
		return err
	}
	r.s.mu.Lock()
	before := r.s.jobs[b.Job]
	r.j = r.s.newJob(b.Job, r.log)
	r.s.mu.Unlock()
	if before != nil { // it had ended, and the server died before its log was removed
		before.post(ssp.Abort{Err: fmt.Errorf("job %q has begun again: %w", b.Job, rpc.ErrAborted)}, nil)
	}
	return nil
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

// settle waits until partitions have done what they were told.
func (r *replay) settle() {
	r.under.Wait()
	for _, s := range (*r.j.stores.Load())[1:] {
		for _, p := range s.partitions {
			if p != nil {
				p.wait(func() {})
			}
		}
	}
	r.since = 0
}

func (r *replay) join(body []byte) error {
	var a joining
	if err := json.Unmarshal(body, &a); err != nil {
		return err
	}
	if r.ends == nil {
		r.of = a.Join
	}
	if a.Job != r.j.name || a.Attempt != r.of.Attempt {
		return fmt.Errorf("attempt %d of job %q is joined, want attempt %d of job %q: %w", a.Attempt, a.Job, r.of.Attempt, r.j.name, journal.ErrForeign)
	}
	at, gone := &seat{conn: r.s.conns.Add(1)}, make(chan struct{})
	peer := &rpc.Peer{Name: a.Name, Gone: gone, State: at}
	r.peers[a.Task], r.ends = peer, append(r.ends, gone)
	r.s.bring(at, r.exchange(&rpc.Request{Op: rpc.OpJoin}, peer, r.must), &a.Join, nil)
	r.under.Wait()
	return r.oddity()
}

// request is the request of a record, in memory of its own, and the task that it is of.
func (r *replay) request(body []byte) (q *rpc.Request, m *member, err error) {
	c := wire.NewCursor(body, 0, wire.Little)
	task, rest := int(c.I32("task")), c.U32("zeros")
	if c.Err() != nil || rest != 0 {
		return nil, nil, fmt.Errorf("a record of %d bytes, want a request: %w", len(body), journal.ErrForeign)
	}
	body = body[requestHead:]
	memory := rpc.NewBuffer(len(body), r.s.Ledger.Force(budget.Queues, int64(len(body))))
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

func (r *replay) create(body []byte) error { return r.serve(body, (*Server).create) }

func (r *replay) define(body []byte) error { return r.serve(body, (*Server).define) }

// update is one of somebody who is no task: if it was an error then it is one now.
func (r *replay) update(body []byte) error {
	q, m, err := r.request(body)
	if err == nil {
		r.s.updateOnce(m, r.exchange(q, r.peer(m), func(error) {}))
	}
	return err
}

func (r *replay) makes(body []byte) error {
	q, m, err := r.request(body)
	if err != nil {
		return err
	}
	x := r.exchange(q, r.peer(m), func(error) {}) // what there is no room for now is made when it is needed
	g, err := r.j.newGather(x)
	if err != nil {
		x.Fail(err)
		return err
	}
	r.j.submit(deed(func() { r.j.read(g) }))
	return nil
}

// turn wants a change to come after the one before: it is executed at once.
func (r *replay) turn(c change) error {
	if c.seq != r.last[c.task]+1 {
		return fmt.Errorf("change %d of task %d after change %d: %w", c.seq, c.task, r.last[c.task], journal.ErrForeign)
	}
	r.last[c.task] = c.seq
	return nil
}

// change makes a change again. Nobody waits for one that takes long: it has its place later.
func (r *replay) change(body []byte) error {
	q, m, err := r.request(body)
	if err != nil {
		return err
	}
	serve, c := ops[q.Op], change{m.task, q.Seq}
	if err = r.turn(c); err == nil && q.Op == rpc.OpPush && slices.ContainsFunc(q.Parts, func(p rpc.Part) bool { return p.Values == nil }) {
		err = fmt.Errorf("a change that asks for values: %w", journal.ErrForeign)
	}
	if err != nil {
		q.Memory.Release()
		return err
	}
	switch q.Op {
	case rpc.OpPush:
		serve(r.s, m, r.exchange(q, r.peer(m), r.must))
	case rpc.OpUpdate, rpc.OpDirect:
		serve(r.s, m, r.exchange(q, r.peer(m), func(err error) { r.refusedAgain(c, err) }))
	case rpc.OpLoad:
		serve(r.s, m, rpc.NewExchange(q, r.peer(m), func(_ *rpc.Exchange, a *rpc.Response, _ error) { a.Release() }))
	default:
		q.Memory.Release()
		return fmt.Errorf("a change that is a %v: %w", q.Op, journal.ErrForeign)
	}
	return r.oddity()
}

// refusedAgain remembers what came of an update until the log says that it was so.
func (r *replay) refusedAgain(c change, err error) {
	if err != nil {
		r.mu.Lock()
		r.wrong[c] = err
		r.mu.Unlock()
	}
}

// outcome reads what a record says of a task, which has to be there.
func (r *replay) outcome(body []byte) (o outcome, m *member, err error) {
	if err = json.Unmarshal(body, &o); err == nil {
		m, err = r.member(o.Task)
	}
	return o, m, err
}

// loggedError is an error that was logged.
type loggedError struct {
	text  string
	kinds []error
}

func (l *loggedError) Error() string   { return l.text }
func (l *loggedError) Unwrap() []error { return l.kinds }

// err is the error that a record tells.
func (r *replay) err(o *outcome) error {
	l := &loggedError{text: o.Error}
	for kind, err := range kinds {
		if err.Error() == o.Kind {
			l.kinds = append(l.kinds, kind)
		}
	}
	if st, err := r.j.store(o.NonFinite); err == nil {
		l.kinds = append(l.kinds, &nonFinite{of: st, task: o.Task})
	}
	return l
}

// refused has the number of a change be used, as it was.
func (r *replay) refused(body []byte) error {
	o, m, err := r.outcome(body)
	if err != nil {
		return err
	}
	if err := r.turn(change{o.Task, o.Seq}); err != nil {
		return err
	}
	q := m.change(r.exchange(&rpc.Request{Op: rpc.OpPush, Seq: o.Seq}, r.peer(m), func(error) {}))
	r.j.post(ssp.Push[*delta, *request]{Req: q, Conn: m.conn, Seq: o.Seq, Err: r.err(&o)}, q)
	return nil
}

// ran has a change that takes long be made now, or fail, and an update be one that failed.
func (r *replay) ran(body []byte) error {
	o, _, err := r.outcome(body)
	if err != nil {
		return err
	}
	c := change{o.Task, o.Seq}
	load, is := r.log.loads[c]
	delete(r.log.loads, c)
	switch {
	case is && o.Error == "":
		r.settle()
		return r.j.loadAgain(c, load, o.Found)
	case is:
		r.j.post(ssp.Ran{Task: c.task, Seq: c.seq, Err: r.err(&o)}, nil)
		return nil
	}
	r.under.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wrong[c] == nil {
		return fmt.Errorf("change %d of task %d goes well, and did not: %s", c.seq, c.task, o.Error)
	}
	delete(r.wrong, c)
	return nil
}

func (r *replay) leave(body []byte) error {
	_, m, err := r.outcome(body)
	if err != nil {
		return err
	}
	r.s.leave(m, r.exchange(&rpc.Request{Op: rpc.OpLeave}, r.peer(m), r.must))
	r.under.Wait()
	return r.oddity()
}

func (r *replay) givenUp(body []byte) error {
	o, _, err := r.outcome(body)
	if err == nil {
		r.j.post(ssp.GiveUp{Task: o.Task, Why: o.Error}, nil)
	}
	return err
}

func (r *replay) failed(body []byte) error {
	var o outcome
	if err := json.Unmarshal(body, &o); err != nil {
		return err
	}
	return fmt.Errorf("it had failed: %w", r.err(&o))
}

// live lets the job go on where the log ends, as if the connections were there.
func (r *replay) live() {
	loads := r.log.loads
	r.j.submit(deed(func() {
		r.log.replays.Store(false)
		for c, load := range loads { // they were under way, and nobody has heard of them
			r.j.load(c, load.path, load.do)
		}
	}))
	took := time.Since(r.began).Round(time.Millisecond)
	r.s.logger().Info("job goes on where its log ends", "job", r.j.name, "attempt", r.j.core.Attempt(), "clock", r.j.slowest.Load(),
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
}

// giveUp ends a job that cannot be made again.
func (r *replay) giveUp(why error) {
	r.under.Wait()
	r.j.post(ssp.Abort{Err: fmt.Errorf("job %q: %w", r.j.name, why)}, nil)
	r.disconnect()
	if r.j.core.Tasks() == 0 { // nobody has joined whose leaving would end it
		r.j.submit(deed(func() { r.j.effect(ssp.End{}) }))
	}
}
