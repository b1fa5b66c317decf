package rpc

import (
	"context"
	"sync/atomic"
)

// Call is a request under way, seen from the client. One goroutine waits for it; whoever gets a response releases it.
type Call struct {
	done   chan struct{} // gets one token
	over   bool          // the token was taken
	resp   *Response
	err    error
	id     uint64
	giveUp func(id uint64)
	given  atomic.Bool // nobody waits any more, as far as is known
	near   bool
	reader Reader
	waited atomic.Bool // a goroutine waits, and another one reads the answer
}

// Reader is a connection whose answers are read by a goroutine that waits for one, so that this one need not be woken.
type Reader interface {
	// Read is called by a goroutine that is about to wait for the call. It may read answers until the call is finished. If it returns
	// before that, as when the context ends, another goroutine reads, until StopWaiting or the end of the call.
	Read(ctx context.Context, c *Call)
	// StopWaiting is called when the goroutine does not wait for the call any more, which is not finished.
	StopWaiting(c *Call)
}

// Waited says that a goroutine waits for the call and does not read itself, or that it does not wait any more. It reports whether that
// changes anything. Only networks call it.
func (c *Call) Waited(yes bool) bool { return c.waited.Swap(yes) != yes }

// ReadBy makes the call one whose answer comes over the connection. Networks call it before anyone else has the call.
func (c *Call) ReadBy(r Reader) *Call {
	c.reader = r
	return c
}

// read lets the goroutine read the answer itself. It reports whether the call is finished.
func (c *Call) read(ctx context.Context) bool {
	if c.reader == nil || ctx.Err() != nil {
		return false
	}
	c.reader.Read(ctx, c)
	return c.Ready()
}

// stopWaiting is the other end of a read after which the call was not finished.
func (c *Call) stopWaiting() {
	if c.reader != nil {
		c.reader.StopWaiting(c)
	}
}

// NewCall is a call that Finish will end. giveUp, if not nil, is called with the id when a Wait ends before the answer is there;
// it may be called more than once. Only networks make calls.
func NewCall(id uint64, giveUp func(id uint64)) *Call {
	return &Call{done: make(chan struct{}, 1), id: id, giveUp: giveUp}
}

// NearCall is NewCall where the answer comes from a goroutine of this process, without a network.
func NearCall(giveUp func(id uint64)) *Call {
	c := NewCall(0, giveUp)
	c.near = true
	return c
}

// Finish ends the call; it must be called exactly once. What a call that was given up got is not counted any more, as
// perhaps nobody will release it.
func (c *Call) Finish(r *Response, err error) {
	if c.given.Load() && r != nil {
		r.Memory.uncount()
	}
	c.resp, c.err = r, err
	c.done <- struct{}{}
}

// Wait blocks until the answer is there or the context ends; then the server is told that nobody waits any more, and a
// later Wait may still get what it answered.
func (c *Call) Wait(ctx context.Context) (*Response, error) {
	if c.Ready() || c.read(ctx) {
		return c.resp, c.err
	}
	select {
	case <-c.done:
		c.over = true
		return c.resp, c.err
	case <-ctx.Done():
		c.stopWaiting()
		c.given.Store(true)
		if c.giveUp != nil {
			c.giveUp(c.id)
		}
		return nil, context.Cause(ctx)
	}
}
