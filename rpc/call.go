package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Call is a request under way, seen from the client. One goroutine waits for it.
type Call struct {
	done   chan struct{} // gets one token
	over   bool          // the token was taken
	resp   *Response
	err    error
	giveUp func(error)
}

// NewCall is a call that Finish will end. giveUp, if not nil, is called when a Wait ends before the answer is there, with
// the reason; it may be called more than once. Only networks make calls.
func NewCall(giveUp func(error)) *Call { return &Call{done: make(chan struct{}, 1), giveUp: giveUp} }

// Finish ends the call; it must be called exactly once.
func (c *Call) Finish(r *Response, err error) {
	c.resp, c.err = r, err
	c.done <- struct{}{}
}

// Wait blocks until the answer is there or the context ends; then the server is told that nobody waits any more, and a
// later Wait may still get what it answered.
func (c *Call) Wait(ctx context.Context) (*Response, error) {
	if c.over {
		return c.resp, c.err
	}
	select {
	case <-c.done:
		c.over = true
		return c.resp, c.err
	default:
	}
	select {
	case <-c.done:
		c.over = true
		return c.resp, c.err
	case <-ctx.Done():
		if c.giveUp != nil {
			c.giveUp(context.Cause(ctx))
		}
		return nil, context.Cause(ctx)
	}
}

// Exchange is a request that a server has got, and its answer.
type Exchange struct {
	*Request
	From *Peer

	send     func(*Exchange, *Response, error)
	answered atomic.Bool

	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelCauseFunc
	ended  error
}

// NewExchange is an exchange whose answer is given to send, once. Only networks make exchanges.
func NewExchange(q *Request, from *Peer, send func(*Exchange, *Response, error)) *Exchange {
	return &Exchange{Request: q, From: from, send: send}
}

// Answer sends the response, which is the network's from then on; nil is an empty one.
func (x *Exchange) Answer(r *Response) {
	if r == nil {
		r = &Response{}
	}
	x.finish(r, nil)
}

// Fail answers with an error.
func (x *Exchange) Fail(err error) { x.finish(nil, err) }

func (x *Exchange) finish(r *Response, err error) {
	if x.answered.Swap(true) {
		r.Release()
		return
	}
	x.Cancel(nil)
	x.send(x, r, err)
}

// Answered reports whether the exchange was answered.
func (x *Exchange) Answered() bool { return x.answered.Load() }

// Context ends when nobody waits for the answer any more: the caller gave it up, or the connection ended.
func (x *Exchange) Context() context.Context {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ctx == nil {
		x.ctx, x.cancel = context.WithCancelCause(context.Background())
		if x.ended != nil {
			x.cancel(x.ended)
		}
	}
	return x.ctx
}

// Cancel ends the context. Networks call it.
func (x *Exchange) Cancel(why error) {
	if why == nil {
		why = context.Canceled
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ended = why
	if x.cancel != nil {
		x.cancel(why)
	}
}

// Guard runs a part of a handler's work: a panic is logged with its stack and answered as ErrInternal.
func (x *Exchange) Guard(log *slog.Logger, work func()) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("rpc: handler panicked", "op", x.Op.String(), "from", x.From.Name, "panic", p, "stack", string(debug.Stack()))
			x.Fail(fmt.Errorf("%w: %v", ErrInternal, p))
		}
	}()
	work()
}

// Serve gives the exchange to the handler, for networks.
func Serve(h Handler, x *Exchange, log *slog.Logger) { x.Guard(log, func() { h.Serve(x) }) }
