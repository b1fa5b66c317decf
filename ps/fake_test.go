package ps_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"thole.example/rpc"
	"thole.example/wire"
)

// fate is what becomes of a request.
type fate int

const (
	delivered  fate = iota
	lostBefore      // the connection ends before the server sees it
	lostAfter       // the connection ends before the client sees the answer
	kept            // the server sees it when release is called
	mute            // the server sees it, and the answer never comes
)

// fake is a network of handlers in this process on which a test says what becomes of each request. Every message goes
// through its bytes. Handlers run on the goroutine of the caller.
type fake struct {
	handlers []rpc.Handler
	fate     func(server int, q *rpc.Request) fate // nil: all are delivered
	window   int                                   // requests under way on a connection; 0: any number
	limit    int                                   // bytes of a request; 0: any number

	mu    sync.Mutex
	sent  []int // requests by server
	down  map[int]bool
	hold  []func()
	conns []*fakeConn
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
	c := &fakeConn{f: f, server: server, addr: addr, calls: map[*rpc.Call]bool{}, gone: make(chan struct{})}
	c.peer = rpc.Peer{Name: "client of " + addr, Gone: c.gone}
	f.conns = append(f.conns, c)
	return c, nil
}

// become says what becomes of requests from now on.
func (f *fake) become(fate func(server int, q *rpc.Request) fate) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fate = fate
}

// forget loses what was kept.
func (f *fake) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hold = nil
}

// cut ends the connection of the peer.
func (f *fake) cut(peer *rpc.Peer) {
	f.mu.Lock()
	conns := f.conns
	f.mu.Unlock()
	for _, c := range conns {
		if &c.peer == peer {
			c.end(rpc.ErrLost)
		}
	}
}

// release delivers what was kept, in order, and all from then on. Nobody may call become before it has returned.
func (f *fake) release() {
	for {
		f.mu.Lock()
		if len(f.hold) == 0 {
			f.fate = nil
			f.mu.Unlock()
			return
		}
		deliver := f.hold[0]
		f.hold = f.hold[1:]
		f.mu.Unlock()
		deliver()
	}
}

type fakeConn struct {
	f      *fake
	server int
	addr   string
	peer   rpc.Peer
	gone   chan struct{}

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

// open is how many calls are under way.
func (c *fakeConn) open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

func (c *fakeConn) Start(ctx context.Context, q *rpc.Request) *rpc.Call {
	var x *rpc.Exchange
	call := rpc.NewCall(0, func(uint64) {
		if x != nil {
			x.Cancel(rpc.ErrAborted)
		}
	})
	if err := ctx.Err(); err != nil {
		call.Finish(nil, fmt.Errorf("server %s: %w", c.addr, context.Cause(ctx)))
		return call
	}
	if n := size(q); c.f.limit > 0 && n > c.f.limit {
		call.Finish(nil, fmt.Errorf("request of %d bytes, want at most %d: %w", n, c.f.limit, rpc.ErrTooLarge))
		return call
	}
	for c.f.window > 0 && c.open() >= c.f.window {
		if time.Sleep(time.Millisecond); ctx.Err() != nil {
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
	var what fate
	x = rpc.NewExchange(through(q), &c.peer, func(_ *rpc.Exchange, r *rpc.Response, err error) {
		switch {
		case what == mute:
		case what == lostAfter:
			c.end(rpc.ErrLost)
		case err != nil:
			c.finish(call, nil, rpc.NewFault(c.addr, err))
		default:
			c.finish(call, back(r), nil)
		}
	})
	serve := func() { rpc.Serve(c.f.handlers[c.server], x, slog.New(slog.DiscardHandler)) }
	switch c.f.decide(c.server, q, &what, serve) {
	case lostBefore:
		c.end(rpc.ErrLost)
	case kept:
	default:
		serve()
	}
	return call
}

// decide says what becomes of a request, and keeps it if it is kept.
func (f *fake) decide(server int, q *rpc.Request, what *fate, serve func()) fate {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.sent) <= server {
		f.sent = append(f.sent, 0)
	}
	f.sent[server]++
	if f.fate != nil {
		*what = f.fate(server, q)
	}
	if *what == kept {
		f.hold = append(f.hold, serve)
		return kept // somebody else has it now
	}
	return *what
}

func size(q *rpc.Request) int {
	var g rpc.Gather
	if err := q.Append(&g); err != nil {
		panic(err)
	}
	return g.Len()
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
