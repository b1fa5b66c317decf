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
		c.given.Store(true)
		if c.giveUp != nil {
			c.giveUp(c.id)
		}
		return nil, context.Cause(ctx)
	}
}
