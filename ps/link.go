package ps

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"thole.example/rpc"
)

// link is the client's side of one server.
type link struct {
	c      *Client
	index  int
	addr   string
	role   uint64   // the epoch of the server's role; 0: it has none
	conn   rpc.Conn // nil: lost. Set under the client's mu
	joined bool     // the server knows the client
	epoch  int      // connections lost
	seq    uint64   // number of the last change
	done   uint64   // the last change that the server had made when the client came back
	log    []*exchange
	lost   error                 // why there is no connection
	trying context.Context       // ends when the client stops trying to make one
	stop   func()                // ends it
	lag    *rpc.Lag              // of a reader that reads from a copy; nil: it does not
	served *rpc.ServedCheckpoint // of a reader whose server serves checkpoints; nil: it does not
	of     int                   // of a reader: the attempt of the job that it reads
	near   nearby                // likewise
}

// exchange is a request to a server, and its answer. Changes (requests with a number) stay in the log of their link until
// they are answered; whatever was under way when a connection was lost is sent again over the next one.
type exchange struct {
	link *link
	q    *rpc.Request
	once bool     // not sent again: only the whole can be repeated that it is a part of
	conn rpc.Conn // over which it was sent; nil: not yet
	call *rpc.Call
	// It was sent more than once: servers of this process may still read what it asked for, whoever has answered.
	again bool

	done bool
	resp *rpc.Response
	err  error
	sent bool // the answer is the server's, not what kept the request from being sent
}

// release gives the memory of the answer back.
func (x *exchange) release() {
	x.resp.Release()
	x.resp = nil
}

// send brings the exchange on its way, after the changes in the log that were not sent over this connection.
func (l *link) send(ctx context.Context, x *exchange) error {
	if l.conn != nil && x.conn == l.conn {
		return nil
	}
	switch err := l.connect(ctx); {
	case err == nil:
	case ctx.Err() != nil || x != nil && x.q.Op == rpc.OpLeave:
		return err
	default:
		return l.c.fail(err)
	}
	for _, change := range l.log {
		if change.conn != l.conn {
			if err := l.start(ctx, change); err != nil {
				return err
			}
		}
	}
	if x == nil || x.conn == l.conn {
		return nil
	}
	return l.start(ctx, x)
}

// start starts the exchange on the connection there is. The error is why the context ended before it was sent.
func (l *link) start(ctx context.Context, x *exchange) error {
	q := x.q
	if q.Seq > 0 && q.Seq <= l.done {
		q = verdict(q)
	}
	x.again = x.call != nil
	x.call, x.conn = l.conn.Start(ctx, q), l.conn
	l.c.traffic.sent(q)
	if ctx.Err() != nil && x.call.Ready() {
		_, err := x.call.Wait(ctx)
		if err != nil && !isFault(err) && errors.Is(err, context.Cause(ctx)) {
			x.conn = nil
			return context.Cause(ctx)
		}
	}
	return nil
}

// verdict is a change that the server has made, without its deltas: it is asked for the answer alone.
func verdict(q *rpc.Request) *rpc.Request {
	bare := *q
	bare.Parts, bare.Memory = nil, nil
	for _, p := range q.Parts {
		if p.Values == nil {
			bare.Parts = append(bare.Parts, p)
		}
	}
	return &bare
}

// finish waits until the exchange is answered. Its error is why the waiting ended: the context, or a connection that
// could not be made again.
func (l *link) finish(ctx context.Context, x *exchange, others []*exchange) error {
	for !x.done {
		if l.cutOff(x) {
			return nil
		}
		switch err := l.send(ctx, x); {
		case err == nil:
		case x.q.Op == rpc.OpLeave && errors.Is(err, rpc.ErrNotFound): // the server had heard it
			x.done = true
			return nil
		default:
			return err
		}
		if !l.c.await(ctx, x, others) {
			if x.q.Seq == 0 {
				r, _ := x.call.Wait(ctx) // tells the server that nobody waits any more
				r.Release()
			}
			return context.Cause(ctx)
		}
		r, err := x.call.Wait(ctx)
		l.answered(x, r, err)
	}
	return nil
}

// cutOff ends an exchange that is not sent again if the connection over which it was sent is not the link's any more, as a
// change before it has found. It reports whether it was that.
func (l *link) cutOff(x *exchange) bool {
	if !x.once || x.conn == nil || x.conn == l.conn {
		return false
	}
	if x.call.Ready() {
		r, err := x.call.Wait(context.Background())
		if err == nil || isFault(err) {
			l.answered(x, r, err)
			return true
		}
	}
	x.done, x.err = true, fmt.Errorf("server %s: %w before it answered a %v", l.addr, rpc.ErrLost, x.q.Op)
	return true
}

// answered notes what came of an exchange.
func (l *link) answered(x *exchange, r *rpc.Response, err error) {
	if l.c.elsewhere(err) {
		err = fmt.Errorf("%w: %v", rpc.ErrLost, err)
	}
	gone := errors.Is(err, rpc.ErrLost) && !errors.Is(err, rpc.ErrClosed)
	switch {
	case l.leaves(err):
		l.leave(x, err)
		x.conn = nil
		return
	case err == nil || isFault(err):
		x.sent = true
	case gone && l.c.o.Retry > 0:
		l.drop(x.conn, err)
		if !x.once {
			x.conn = nil
			return
		}
	case gone || errors.Is(err, rpc.ErrClosed) || errors.Is(err, rpc.ErrLost):
		x.sent = true
		_ = l.c.fail(err) // the connection is gone for good
	}
	x.done, x.resp, x.err = true, r, err
	l.c.traffic.received(r)
	if x.q.Seq > 0 {
		for i, change := range l.log {
			if change == x {
				l.log = append(l.log[:i], l.log[i+1:]...)
				break
			}
		}
	}
}

// elsewhere reports whether what a server held may go on at another: it answers that it may not have its role, or has ended in order.
func (c *Client) elsewhere(err error) bool {
	if c.o.Find == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Is(err, rpc.ErrStandby) || errors.Is(err, rpc.ErrClosed) && !isFault(err) && !c.closed
}

// isFault reports whether the error is a server's answer.
func isFault(err error) bool {
	_, ok := errors.AsType[*rpc.Fault](err)
	return ok
}

// drop gives up a connection that was lost.
func (l *link) drop(conn rpc.Conn, why error) {
	if l.conn != conn {
		return
	}
	l.disconnect(conn)
	l.lose(why)
}

// lose notes why there is no connection, and allows the client some time to make one.
func (l *link) lose(why error) {
	l.lost = why
	l.try(l.c.o.Retry)
	if l.c.o.Lost != nil {
		l.c.o.Lost(why)
	}
}

// Pauses between attempts to reach a server.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// SetRetry changes Options.Retry for connections that are lost from now on. Servers wait for the client as long as they were told when it
// joined, which is Options.Grace if that is longer.
func (c *Client) SetRetry(d time.Duration) { c.o.Retry = d }

// Retry is how long the client tries to reach a server again.
func (c *Client) Retry() time.Duration { return c.o.Retry }

// try allows the client some time to make a new connection.
func (l *link) try(d time.Duration) {
	l.trying, l.stop = context.WithTimeout(context.Background(), d)
}

// connect makes a new connection instead of a lost one, and says who is back.
func (l *link) connect(ctx context.Context) error {
	if l.conn == nil && l.trying.Err() != nil {
		l.try(lastPause) // the loss was found long ago, by a call that ended
	}
	return l.repeat(ctx, l.rejoin)
}

// repeat tries to get a connection until there is one, or the time for that is over.
func (l *link) repeat(ctx context.Context, try func(ctx context.Context) error) error {
	for pause := firstPause; l.conn == nil; pause = min(max(firstPause, 2*pause), lastPause) {
		within, cancel := context.WithCancel(ctx)
		unlink := context.AfterFunc(l.trying, cancel)
		err := try(within)
		unlink()
		cancel()
		switch {
		case err == nil:
			l.stop()
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case l.trying.Err() != nil && !errors.Is(err, rpc.ErrNotFound):
		case !errors.Is(err, rpc.ErrUnreachable) && !errors.Is(err, rpc.ErrLost) && !l.c.elsewhere(err):
			return fmt.Errorf("%w; then: %w", l.lost, err)
		}
		switch moved := l.pause(ctx, pause); {
		case l.trying.Err() != nil:
			return fmt.Errorf("%w; not reached again within %v", l.lost, l.c.o.Retry)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case moved:
			pause = 0
		}
	}
	return nil
}

// pause waits for some time, or until the server may be elsewhere, which it reports; or until nobody waits for a connection any more.
func (l *link) pause(ctx context.Context, d time.Duration) (moved bool) {
	within, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	defer context.AfterFunc(l.trying, cancel)()
	if l.c.o.Moved != nil && l.c.o.Moved(within, l.index) == nil {
		return true
	}
	<-within.Done()
	return false
}

// first makes the first connection. Where a server may be another one meanwhile, that is looked for as if a connection had been lost.
func (l *link) first(ctx context.Context) error {
	o := &l.c.o
	conn, err := l.reach(ctx)
	switch {
	case err == nil:
		l.conn = conn
		return nil
	case o.Find == nil || o.Retry <= 0 || !errors.Is(err, rpc.ErrUnreachable):
		return err
	}
	l.lose(err)
	return l.repeat(ctx, func(ctx context.Context) error {
		conn, err := l.dial(ctx)
		if err == nil {
			l.conn, l.lost = conn, nil
		}
		return err
	})
}

// dial makes a connection to the server, wherever that is now.
func (l *link) dial(ctx context.Context) (rpc.Conn, error) {
	if l.c.o.Find != nil {
		addr, role, err := l.c.o.Find(ctx, l.index)
		if err != nil {
			return nil, err
		}
		l.addr, l.role = addr, role
	} else {
		l.addr = l.c.o.Servers[l.index]
	}
	conn, err := l.reach(ctx)
	if err != nil {
		return nil, err
	}
	if err := inPlace(l.addr, rpc.ServerOf(conn), l.index); l.c.o.Numbered && err != nil { // the right one may come to the address later
		_ = conn.Close() // nothing was said over it
		return nil, fmt.Errorf("%w: %w", rpc.ErrUnreachable, err)
	}
	return conn, nil
}

// reach makes a connection to the server at the link's address, or to a copy of it.
func (l *link) reach(ctx context.Context) (rpc.Conn, error) {
	if l.chooses() {
		return l.choose(ctx)
	}
	return l.c.o.Network.Dial(ctx, l.addr)
}

// rejoin connects to the server and says who is back, or again who is there if the server may not have heard it.
func (l *link) rejoin(ctx context.Context) error {
	conn, err := l.dial(ctx)
	if err != nil {
		return err
	}
	l.epoch++ // a Join that was on its way over an earlier one may still arrive, and must not count
	if err = l.greet(ctx, conn); l.leaves(err) {
		err = l.fails(err)
	}
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if err == nil && l.c.closed {
		err = fmt.Errorf("ps: %w", rpc.ErrClosed)
	}
	if err != nil {
		_ = conn.Close() // the error of the join says more
		return err
	}
	l.conn, l.lost = conn, nil
	return nil
}

// greet says over the connection who is there, and takes the answer.
func (l *link) greet(ctx context.Context, conn rpc.Conn) error {
	q, err := l.joining()
	if err != nil {
		return err
	}
	r, err := conn.Start(ctx, q).Wait(ctx)
	if err != nil {
		return err
	}
	return l.welcome(r)
}

// joining is the request by which the server gets to know the client, or knows that it is back.
func (l *link) joining() (*rpc.Request, error) {
	o := &l.c.o
	if l.c.follows {
		return control(rpc.OpFollow, l.following())
	}
	return control(rpc.OpJoin, rpc.Join{
		Job: o.Job, Task: o.Task, Tasks: o.Tasks, Bound: o.Bound, Plan: o.agreed(), Worker: o.Worker, Mine: o.Mine,
		Client: l.c.id, Epoch: l.epoch, First: !l.joined, Grace: int64(max(o.Retry, o.Grace)),
		Optional: o.Optional, Attempt: o.Attempt, Replace: o.Replace, Role: l.role, Elsewhere: l.index > 0,
		Launch: o.Launch, Place: l.index + 1, Places: len(l.c.links), Moves: o.Moves,
	})
}

// agreed is what all tasks of the job must have alike, beside their number and the bound.
func (o *Options) agreed() string { return strings.TrimSpace(o.Plan + " non-finite=" + o.NonFinite) }

// welcome takes the answer to a Join.
func (l *link) welcome(r *rpc.Response) error {
	if l.c.follows {
		var now rpc.Followed
		if err := l.read(r, &now); err != nil {
			return err
		}
		return l.followed(&now, l.c.order)
	}
	var joined rpc.Joined
	if err := l.read(r, &joined); err != nil {
		return err
	}
	switch to := joined.Attempt; {
	case joined.Ended:
		return &Ended{l.c.o.Job}
	case joined.Moved && l.c.o.Attempt > 0:
		return &Moved{l.c.o.Job}
	case joined.Moved:
		return l.lie("the job has moved, and the task has joined in its only attempt")
	case to > l.c.o.Attempt && l.c.o.Attempt > 0:
		return &LaterAttempt{l.c.o.Job, to, joined.Without}
	case to != 0:
		return l.lie("the task has to join in attempt %d, and did in attempt %d: want a later one", to, l.c.o.Attempt)
	}
	if !l.joined && l.c.o.Replace && joined.Seq > 0 {
		l.seq = joined.Seq
		if err := l.c.goOnAt(joined.Clock); err != nil {
			return err
		}
	}
	if joined.Seq > l.seq {
		return l.lie("the last of its changes is number %d, want at most %d", joined.Seq, l.seq)
	}
	l.joined, l.done = true, joined.Seq
	return nil
}
