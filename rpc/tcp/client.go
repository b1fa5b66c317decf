package tcp

import (
	"context"
	"fmt"
	"net"
	"sync"

	"thole.example/rpc"
)

// conn is the client's end of a connection.
type conn struct {
	addr   string
	nc     net.Conn
	server rpc.Server
	in     *reader
	out    *sender
	slot   chan struct{} // one token for each request that the server has not answered
	limit  uint32        // the largest body that the server accepts
	gone   chan struct{} // closed with the connection
	cancel context.CancelFunc
	work   sync.WaitGroup

	turn    turn
	answers uint64 // got so far; the reader's
	abandon func(id uint64)

	mu    sync.Mutex
	calls map[uint64]*rpc.Call // sent and not answered; nil once the connection has ended
	last  uint64               // number of the latest request
	err   error                // why the connection ended
}

// dialed is the connection after its handshake.
func dialed(n Network, nc net.Conn, addr string, theirs hello) *conn {
	ctx, cancel := context.WithCancel(context.Background())
	c := &conn{
		addr: addr, nc: nc, server: rpc.ParseServer(theirs.name), limit: theirs.limit, gone: make(chan struct{}), cancel: cancel,
		calls: map[uint64]*rpc.Call{},
		slot:  make(chan struct{}, min(n.Window, int(theirs.window))),
	}
	c.abandon = c.giveUp
	c.out = newSender(nc, !n.NoChecksum, func() {})
	c.in = newReader(ctx, nc, n.FrameLimit, n.Ledger)
	p := newPulse(n, theirs, c.in, c.out, nil)
	c.turn.begin(c)
	c.work.Go(c.read)
	c.work.Go(func() {
		if err := p.watch(c.gone, nil); err != nil {
			c.fail(fmt.Errorf("server %s: %w: %w", c.addr, rpc.ErrLost, err))
		}
	})
	return c
}

// Server implements rpc.Greeted.
func (c *conn) Server() rpc.Server { return c.server }

// Close ends the connection: calls under way fail with rpc.ErrClosed.
func (c *conn) Close() error {
	c.fail(fmt.Errorf("server %s: %w", c.addr, rpc.ErrClosed))
	c.work.Wait()
	c.out.work.Wait()
	return nil
}

// Start implements rpc.Conn. A request that is given up keeps its place in the window until the server has answered.
func (c *conn) Start(ctx context.Context, q *rpc.Request) *rpc.Call {
	call, err := c.start(ctx, q)
	if err != nil {
		call = rpc.NewCall(0, nil)
		call.Finish(nil, err)
	}
	return call
}

func (c *conn) start(ctx context.Context, q *rpc.Request) (*rpc.Call, error) {
	if err := c.take(ctx); err != nil {
		return nil, err
	}
	f := c.out.frame(kindRequest, 0)
	err := q.Append(&f.Gather)
	if err == nil && f.body() > int(c.limit) {
		err = fmt.Errorf("request of %d bytes, want at most %d: %w", f.body(), c.limit, rpc.ErrTooLarge)
	}
	if err != nil {
		c.out.drop(f)
		<-c.slot
		return nil, fmt.Errorf("server %s: %w", c.addr, err)
	}
	f.memory = q.Memory.Retain()
	if mayBeLarge(q) {
		c.turn.expectLarge()
	}
	return c.launch(f)
}

// take waits for a place in the window.
func (c *conn) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return c.givenUp(ctx)
	}
	select {
	case c.slot <- struct{}{}:
		return nil
	default:
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

// launch gives the request its number and sends it. Requests are sent in the order of their numbers.
func (c *conn) launch(f *frame) (*rpc.Call, error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		c.out.drop(f)
		<-c.slot
		return nil, c.err
	}
	c.last++
	id := c.last
	call := rpc.NewCall(id, c.abandon).ReadBy(c)
	c.calls[id] = call
	f.id = id
	begin, alone := c.out.enqueue(f), len(c.calls) == 1
	c.mu.Unlock()
	if begin {
		c.out.begin(alone)
	}
	return call, nil
}

// giveUp tells the server that nobody waits for the answer any more.
func (c *conn) giveUp(id uint64) {
	c.mu.Lock()
	under := c.calls[id] != nil
	c.mu.Unlock()
	if under {
		c.out.send(c.out.frame(kindCancel, id), false)
	}
}

func (c *conn) givenUp(ctx context.Context) error {
	return fmt.Errorf("server %s: %w", c.addr, context.Cause(ctx))
}

// lost is why the connection ended.
func (c *conn) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fail ends the connection and all its calls.
func (c *conn) fail(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	calls := c.calls
	c.calls = nil
	close(c.gone)
	c.mu.Unlock()
	c.cancel()
	_ = c.nc.Close()
	c.out.close()
	c.in.credit.Close()
	for _, call := range calls {
		call.Finish(nil, err)
	}
}

// next reads the next frame.
func (c *conn) next() error {
	h, err := c.head()
	if err != nil || h.kind == kindAlive {
		return err
	}
	return c.answer(h)
}

// head reads the head of the next frame, and takes what is not an answer.
func (c *conn) head() (head, error) {
	h, err := c.in.next()
	switch {
	case err != nil:
		return h, err
	case h.kind == kindAlive && h.id != c.answers:
		return h, fmt.Errorf("%d answers came, want %d: the others were lost on the way", c.answers, h.id)
	case h.kind != kindAlive && h.kind != kindResponse && h.kind != kindFault:
		return h, fmt.Errorf("frame of kind %d from a server", h.kind)
	}
	return h, c.in.follow(h)
}

// answer reads the body of an answer and finishes its call. After errInterrupted it is to be called again.
func (c *conn) answer(h head) error {
	body, err := c.in.body(h)
	if err != nil && !tooLarge(err) {
		return err
	}
	if h.kind == kindFault {
		return c.fault(h, body)
	}
	call, finish := c.answered(h.id)
	if finish != nil {
		body.Release()
		return finish
	}
	if err != nil {
		c.finish(call, nil, fmt.Errorf("server %s: response: %w: %w", c.addr, rpc.ErrTooLarge, err))
		return nil
	}
	r, err := rpc.ReadResponse(body.Bytes())
	if err != nil {
		body.Release()
		c.finish(call, nil, fmt.Errorf("server %s: response: %w", c.addr, err))
		return nil
	}
	r.Memory = body
	c.finish(call, r, nil)
	return nil
}

// fault takes an error that the server answered.
func (c *conn) fault(h head, body *rpc.Buffer) error {
	defer body.Release()
	fault, err := rpc.ReadFault(body.Bytes(), c.addr)
	switch {
	case err != nil:
		return fmt.Errorf("error frame: %w", err)
	case h.id == 0:
		return &lastWords{fault}
	}
	call, err := c.answered(h.id)
	if err == nil {
		c.finish(call, nil, fault)
	}
	return err
}

// lastWords is why a server ended the connection, as it said itself.
type lastWords struct{ fault *rpc.Fault }

func (l *lastWords) Error() string { return "the server ended it: " + l.fault.Text }

func (l *lastWords) Unwrap() error { return l.fault.Kind }

// answered is the call of a request that is answered now.
func (c *conn) answered(id uint64) (*rpc.Call, error) {
	c.mu.Lock()
	call := c.calls[id]
	delete(c.calls, id)
	gone := c.err
	c.mu.Unlock()
	switch {
	case gone != nil:
		return nil, gone
	case call == nil:
		return nil, fmt.Errorf("answer to request %d, which is not under way", id)
	}
	c.answers++
	<-c.slot
	return call, nil
}
