package mem

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"thole.example/rpc"
)

// conn is a connection; both ends of it.
type conn struct {
	to   *listener
	log  *slog.Logger
	peer rpc.Peer
	slot chan struct{} // one token for each handler at work
	idle chan flight   // takes the next request to a goroutine that is done with its last: its stack has grown already

	base   context.Context // of the handlers; ends with the connection
	cancel context.CancelCauseFunc
	gone   chan struct{}
	once   sync.Once
	cause  error // why it ended, before gone is closed
}

func newConn(l *listener, name string, window int, log *slog.Logger) *conn {
	c := &conn{to: l, log: log, slot: make(chan struct{}, window), idle: make(chan flight), gone: make(chan struct{})}
	c.base, c.cancel = context.WithCancelCause(l.base)
	c.peer = rpc.Peer{Name: name, Gone: c.gone}
	return c
}

// Close ends the connection: calls under way fail with rpc.ErrClosed.
func (c *conn) Close() error {
	c.end(rpc.ErrClosed)
	c.to.leave(c)
	return nil
}

func (c *conn) end(why error) {
	c.once.Do(func() {
		c.cause = why
		close(c.gone)
		c.cancel(why)
	})
}

// lost is the error of a call that the end of the connection cut off.
func (c *conn) lost() error { return fmt.Errorf("server %s: %w", c.to.addr, c.cause) }

func (c *conn) isGone() bool {
	select {
	case <-c.gone:
		return true
	default:
		return false
	}
}

func (c *conn) givenUp(ctx context.Context) error {
	return fmt.Errorf("server %s: %w", c.to.addr, context.Cause(ctx))
}

// Start implements rpc.Conn. When ctx ends before the answer is there the call fails and the handler's context ends;
// the request keeps its place in the window until the handler has returned.
func (c *conn) Start(ctx context.Context, q *rpc.Request) *rpc.Call {
	call := rpc.NewCall()
	if err := c.take(ctx); err != nil {
		call.Finish(nil, err)
		return call
	}
	if !c.to.enter() {
		<-c.slot
		call.Finish(nil, fmt.Errorf("server %s: %w", c.to.addr, rpc.ErrLost))
		return call
	}
	f := flight{ctx, q, &ending{call: call}}
	select {
	case c.idle <- f:
	default:
		go c.work(f)
	}
	return call
}

// work serves one request after the other until the connection ends. There are never more workers than places in the
// window.
func (c *conn) work(f flight) {
	for {
		c.serve(f.ctx, f.q, f.end)
		select {
		case f = <-c.idle:
		case <-c.gone:
			return
		}
	}
}

// take waits for a place in the window.
func (c *conn) take(ctx context.Context) error {
	switch {
	case c.isGone():
		return c.lost()
	case ctx.Err() != nil:
		return c.givenUp(ctx)
	}
	select {
	case c.slot <- struct{}{}:
		return nil
	case <-c.gone:
		return c.lost()
	case <-ctx.Done():
		return c.givenUp(ctx)
	}
}

// serve runs the handler. The call ends with the first of its answer, the caller's context and the connection.
func (c *conn) serve(ctx context.Context, q *rpc.Request, f *ending) {
	defer c.to.calls.Done()
	work, cancel := context.WithCancelCause(c.base)
	stopLost := context.AfterFunc(c.base, func() { f.finish(nil, c.lost()) })
	stopGiven := context.AfterFunc(ctx, func() {
		f.finish(nil, c.givenUp(ctx))
		cancel(rpc.ErrAborted)
	})
	r, err := rpc.Serve(work, c.to.handler, &c.peer, q, c.log)
	stopLost()
	stopGiven()
	cancel(nil)
	<-c.slot
	switch { // an answer that comes after the end does not count, as if it had been on its way
	case c.isGone():
		r, err = nil, c.lost()
	case ctx.Err() != nil:
		r, err = nil, c.givenUp(ctx)
	case err != nil:
		r, err = nil, rpc.NewFault(c.to.addr, err)
	}
	f.finish(r, err)
}

// flight is a request under way.
type flight struct {
	ctx context.Context // the caller's
	q   *rpc.Request
	end *ending
}

// ending lets one of several ends finish a call.
type ending struct {
	over atomic.Bool
	call *rpc.Call
}

func (f *ending) finish(r *rpc.Response, err error) {
	if f.over.CompareAndSwap(false, true) {
		f.call.Finish(r, err)
	}
}
