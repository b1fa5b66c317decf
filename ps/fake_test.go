package ps_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"

	"thole.example/rpc"
	"thole.example/wire"
)

// fate is what becomes of a request.
type fate int

const (
	delivered  fate = iota
	lostBefore      // the connection ends before the server sees it
	lostAfter       // the connection ends before the client sees the answer
	held            // the server sees it when release is called
)

// fake is a network of handlers in this process on which a test says what becomes of each request. Every message goes
// through its bytes. Handlers run on the goroutine of the caller.
type fake struct {
	handlers []rpc.Handler
	fate     func(server int, q *rpc.Request) fate // nil: all are delivered
	window   int                                   // requests under way on a connection; 0: any number

	mu    sync.Mutex
	sent  []int // requests by server
	down  map[int]bool
	hold  []func()
	conns int
}

func (f *fake) addrs() []string {
	var all []string
	for i := range f.handlers {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

func (f *fake) Listen(context.Context, string, rpc.Handler) (rpc.Listener, error) {
	panic("not needed")
}

func (f *fake) Dial(ctx context.Context, addr string) (rpc.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	server := 0
	fmt.Sscan(addr, &server)
	if f.down[server] {
		return nil, fmt.Errorf("server %s: %w", addr, rpc.ErrUnreachable)
	}
	f.conns++
	c := &fakeConn{f: f, server: server, addr: addr, calls: map[*rpc.Call]bool{}, gone: make(chan struct{})}
	if f.window > 0 {
		c.slots = make(chan struct{}, f.window)
	}
	c.peer = rpc.Peer{Name: fmt.Sprint("client ", f.conns), Gone: c.gone}
	return c, nil
}

// release delivers what was held.
func (f *fake) release() {
	f.mu.Lock()
	hold := f.hold
	f.hold = nil
	f.mu.Unlock()
	for _, deliver := range hold {
		deliver()
	}
}

type fakeConn struct {
	f      *fake
	server int
	addr   string
	peer   rpc.Peer
	gone   chan struct{}
	slots  chan struct{}

	mu    sync.Mutex
	calls map[*rpc.Call]bool
	over  error
}

func (c *fakeConn) Close() error { c.end(rpc.ErrClosed); return nil }

// end fails the calls under way.
func (c *fakeConn) end(why error) {
	c.mu.Lock()
	if c.over != nil {
		c.mu.Unlock()
		return
	}
	c.over = fmt.Errorf("server %s: %w", c.addr, why)
	calls := c.calls
	c.calls = nil
	close(c.gone)
	c.mu.Unlock()
	for call := range calls {
		call.Finish(nil, c.over)
	}
}

func (c *fakeConn) finish(call *rpc.Call, r *rpc.Response, err error) {
	c.mu.Lock()
	mine := c.calls[call]
	delete(c.calls, call)
	c.mu.Unlock()
	if mine {
		call.Finish(r, err)
	}
}

func (c *fakeConn) Start(ctx context.Context, q *rpc.Request) *rpc.Call {
	var x *rpc.Exchange
	call := rpc.NewCall(func(error) {
		if x != nil {
			x.Cancel(rpc.ErrAborted)
		}
	})
	if err := ctx.Err(); err != nil {
		call.Finish(nil, fmt.Errorf("server %s: %w", c.addr, context.Cause(ctx)))
		return call
	}
	if c.slots != nil {
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			call.Finish(nil, fmt.Errorf("server %s: %w", c.addr, context.Cause(ctx)))
			return call
		}
	}
	c.mu.Lock()
	if c.over != nil {
		c.mu.Unlock()
		call.Finish(nil, c.over)
		return call
	}
	c.calls[call] = true
	c.mu.Unlock()
	fate := delivered
	c.f.mu.Lock()
	for len(c.f.sent) <= c.server {
		c.f.sent = append(c.f.sent, 0)
	}
	c.f.sent[c.server]++
	c.f.mu.Unlock()
	if c.f.fate != nil {
		fate = c.f.fate(c.server, q)
	}
	if fate == lostBefore {
		c.end(rpc.ErrLost)
		return call
	}
	x = rpc.NewExchange(through(q), &c.peer, func(_ *rpc.Exchange, r *rpc.Response, err error) {
		if c.slots != nil {
			<-c.slots
		}
		switch {
		case fate == lostAfter:
			c.end(rpc.ErrLost)
		case err != nil:
			c.finish(call, nil, rpc.NewFault(c.addr, err))
		default:
			c.finish(call, back(r), nil)
		}
	})
	serve := func() { rpc.Serve(c.f.handlers[c.server], x, slog.New(slog.DiscardHandler)) }
	if fate == held {
		c.f.mu.Lock()
		c.f.hold = append(c.f.hold, serve)
		c.f.mu.Unlock()
		return call
	}
	serve()
	return call
}

// through is the request after a way through its bytes.
func through(q *rpc.Request) *rpc.Request {
	var g rpc.Gather
	if err := q.Append(&g); err != nil {
		panic(err)
	}
	out, err := rpc.ReadRequest(aligned(g.Bytes()))
	if err != nil {
		panic(err)
	}
	return out
}

// back is the response after a way through its bytes.
func back(r *rpc.Response) *rpc.Response {
	var g rpc.Gather
	if err := r.Append(&g); err != nil {
		panic(err)
	}
	out, err := rpc.ReadResponse(aligned(g.Bytes()))
	if err != nil {
		panic(err)
	}
	return out
}

func aligned(b []byte) []byte {
	out := wire.View(make([]uint64, (len(b)+7)/8+1))[:len(b)]
	copy(out, b)
	return out
}

// lossy loses connections before and after requests were handled, one of about every requests.
func lossy(seed uint64, every int) func(int, *rpc.Request) fate {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 1))
	return func(int, *rpc.Request) fate {
		mu.Lock()
		defer mu.Unlock()
		switch rng.IntN(2 * every) {
		case 0:
			return lostBefore
		case 1:
			return lostAfter
		}
		return delivered
	}
}
