package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"thole.example/access"
	"thole.example/budget"
	"thole.example/journal"
	"thole.example/rpc"
	"thole.example/ssp"
)

// What is done for each kind of record.

func (r *replay) begin(body []byte) error {
	var b beginning
	if err := json.Unmarshal(body, &b); err != nil {
		return err
	}
	r.name = access.JobName{Owner: b.Owner, Name: b.Job}
	return nil
}

// beginJob makes a job of the name.
func (r *replay) beginJob(name access.JobName) {
	r.s.mu.Lock()
	before := r.s.jobs[name]
	r.j = r.s.newJob(name, r.log)
	r.j.copy.Store(r.copy)
	r.j.about.charge = r.s.Ledger.Force(budget.Metadata, jobBytes+2*int64(len(name.Name)))
	r.s.mu.Unlock()
	j := r.j // what it loads ends with the replay
	r.free = context.AfterFunc(r.ctx, func() { j.cancel(context.Cause(r.ctx)) })
	if before != nil { // it had ended, and the server died before its log was removed
		before.post(ssp.Abort{Err: fmt.Errorf("job %q has begun again: %w", name.Name, rpc.ErrAborted)}, nil)
	}
}

// connect is the other side of a connection of a task that nobody has.
func (r *replay) connect(task int, name string, at *seat) *rpc.Peer {
	gone := make(chan struct{})
	peer := &rpc.Peer{Name: name, Gone: gone, State: at}
	r.peers[task], r.ends = peer, append(r.ends, gone)
	return peer
}

func (r *replay) join(body []byte) error {
	var a joining
	if err := json.Unmarshal(body, &a); err != nil {
		return err
	}
	if r.j == nil {
		r.beginJob(r.name)
		r.attempt = a.Attempt
	}
	if a.Job != r.j.name || a.Attempt != r.attempt {
		return fmt.Errorf("attempt %d of job %q is joined, want attempt %d of job %q: %w",
			a.Attempt, a.Job, r.attempt, r.j.name, journal.ErrForeign)
	}
	at := &seat{conn: r.s.conns.Add(1)}
	x := r.exchange(&rpc.Request{Op: rpc.OpJoin}, r.connect(a.Task, a.Name, at), r.must)
	r.s.bring(at, x, &joinArgs{a.Join, r.j.full}, nil)
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
	serve, c := operationOf(q.Op).serve, change{m.task, q.Seq}
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
	r.drain() // a load is there when it has begun
	load, is := r.log.loads[c]
	delete(r.log.loads, c)
	switch {
	case is && o.Error == "":
		r.waitAll()
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
	var o outcome // of a task that need not have joined
	err := json.Unmarshal(body, &o)
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
	return fmt.Errorf("%w: %w", errFailed, r.err(&o))
}

func (r *replay) target(body []byte) error {
	var t loggedTarget
	err := json.Unmarshal(body, &t)
	if err == nil {
		_ = r.s.setTarget(r.j, t.Path, t.Over) // else it is another job's now
	}
	return err
}

// stop ends a job that was made again, and leaves its log as it is.
func (r *replay) stop(why error) {
	r.log.keep.Store(true)
	r.s.copies.remove(r.log)
	if err := r.log.log.Close(); err != nil {
		r.s.logger().Warn("a log could not be closed", "log", r.log.name, "err", err)
	}
	r.giveUp(why)
}
