package mem

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"thole.example/rpc"
)

// conn is a connection; both ends of it.
type conn struct {
	to     *listener
	log    *slog.Logger
	peer   rpc.Peer
	slot   chan struct{}                             // one token for each request that is not answered
	gone   chan struct{}                             // closed with the connection
	answer func(*rpc.Exchange, *rpc.Response, error) // answered, as a value
	turn   sync.Mutex                                // of the request that the handler gets; it does not block

	mu    sync.Mutex
	under map[*rpc.Exchange]*rpc.Call // not answered; nil once the connection has ended
	cause error                       // why it ended
}

func newConn(l *listener, name string, window int, log *slog.Logger) *conn {
	c := &conn{to: l, log: log, slot: make(chan struct{}, window), gone: make(chan struct{}),
		under: map[*rpc.Exchange]*rpc.Call{}}
	c.answer = c.answered
	c.peer = rpc.Peer{Name: name, Gone: c.gone}
	return c
}

// Close ends the connection: calls under way fail with rpc.ErrClosed.
func (c *conn) Close() error {
	c.end(rpc.ErrClosed)
	c.to.leave(c)
	return nil
}

// end fails all calls under way and ends the contexts of their handlers.
func (c *conn) end(why error) {
	c.mu.Lock()
	under := c.under
	if under == nil {
		c.mu.Unlock()
		return
	}
	c.under, c.cause = nil, why
	c.mu.Unlock()
	for x := range under {
		x.Cancel(why)
	}
	close(c.gone) // who sees it finds the contexts ended
	for _, call := range under {
		call.Finish(nil, c.lost())
	}
}

// lost is the error of a call that the end of the connection cut off.
func (c *conn) lost() error { return fmt.Errorf("server %s: %w", c.to.addr, c.cause) }

func (c *conn) givenUp(ctx context.Context) error {
	return fmt.Errorf("server %s: %w", c.to.addr, context.Cause(ctx))
}

// Start implements rpc.Conn: the handler gets the request in this goroutine. A request that is given up keeps its place
// in the window until it is answered.
func (c *conn) Start(ctx context.Context, q *rpc.Request) *rpc.Call {
	if err := c.take(ctx); err != nil {
		return failed(err)
	}
	if !c.to.enter() {
		<-c.slot
		return failed(fmt.Errorf("server %s: %w", c.to.addr, rpc.ErrLost))
	}
	defer c.to.serving.Done()
	c.turn.Lock()
	defer c.turn.Unlock()
	x := rpc.NewExchange(q, &c.peer, c.answer)
	call := rpc.NearCall(func(uint64) { x.Cancel(rpc.ErrAborted) })
	c.mu.Lock()
	if c.under == nil {
		c.mu.Unlock()
		<-c.slot
		return failed(c.lost())
	}
	c.under[x] = call
	c.mu.Unlock()
	q.Memory.Retain()
	rpc.Serve(c.to.handler, x, c.log)
	return call
}

// answered ends the call of the exchange. An answer after the end of the connection does not count, as if it had been on
// its way.
func (c *conn) answered(x *rpc.Exchange, r *rpc.Response, err error) {
	c.mu.Lock()
	call := c.under[x]
	delete(c.under, x)
	c.mu.Unlock()
	<-c.slot
	switch {
	case call == nil:
		r.Release()
	case err != nil:
		call.Finish(nil, rpc.NewFault(c.to.addr, err))
	default:
		call.Finish(r, nil)
	}
}

// take waits for a place in the window.
func (c *conn) take(ctx context.Context) error {
	select {
	case <-c.gone:
		return c.lost()
	default:
	}
	if ctx.Err() != nil {
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

func failed(err error) *rpc.Call {
	call := rpc.NewCall(0, nil)
	call.Finish(nil, err)
	return call
}
