package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"thole.example/rpc"
)

// conn is the client's end of a connection.
type conn struct {
	addr  string
	nc    net.Conn
	out   *sender
	slot  chan struct{} // one token for each request that the server has not answered
	limit uint32        // the largest body that the server accepts
	gone  chan struct{} // closed with the connection
	moved atomic.Uint64 // counts signs of life of the server
	work  sync.WaitGroup

	mu    sync.Mutex
	calls map[uint64]*flight // sent and not answered
	last  uint64             // number of the latest request
	err   error              // why the connection ended
}

// flight is a request that the server has not answered.
type flight struct {
	call  *rpc.Call
	stop  func() bool // no more watching of the caller's context; nil if it never ends
	given bool        // given up: the call is finished, the server's answer is not wanted
}

// dialed is the connection after its handshake.
func dialed(n Network, nc net.Conn, addr string, theirs hello) *conn {
	c := &conn{
		addr: addr, nc: nc, limit: theirs.limit, gone: make(chan struct{}), calls: map[uint64]*flight{},
		slot: make(chan struct{}, min(n.Window, int(theirs.window))),
	}
	c.out = newSender(nc, n.QueueLimit, &c.moved)
	in := newReader(nc, n.FrameLimit, &c.moved)
	c.work.Go(func() { c.read(in) })
	c.work.Go(func() { c.watch(n.PingEvery, n.Timeout) })
	return c
}

// Close ends the connection: calls under way fail with rpc.ErrClosed.
func (c *conn) Close() error {
	c.fail(fmt.Errorf("server %s: %w", c.addr, rpc.ErrClosed))
	c.work.Wait()
	c.out.work.Wait()
	return nil
}

// Start implements rpc.Conn. When ctx ends before the answer is there the call fails and the handler's context ends;
// the request keeps its place in the window until the server has answered.
func (c *conn) Start(ctx context.Context, q *rpc.Request) *rpc.Call {
	call := rpc.NewCall()
	if err := c.start(ctx, q, call); err != nil {
		call.Finish(nil, err)
	}
	return call
}

func (c *conn) start(ctx context.Context, q *rpc.Request, call *rpc.Call) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	f := c.out.frame()
	if err := c.encode(ctx, f, q); err != nil {
		c.out.drop(f)
		<-c.slot
		return err
	}
	id, err := c.launch(ctx, &flight{call: call})
	if err != nil {
		c.out.drop(f)
		<-c.slot
		return err
	}
	f.seal(kindRequest, id, c.limit)
	c.out.send(f)
	return nil
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

// encode fills the frame and waits until the queue has room for it.
func (c *conn) encode(ctx context.Context, f *frame, q *rpc.Request) error {
	if err := q.Append(&f.Gather); err != nil {
		return fmt.Errorf("server %s: %w", c.addr, err)
	}
	if !f.seal(kindRequest, 0, c.limit) {
		return fmt.Errorf("server %s: request of %d bytes, want at most %d: %w",
			c.addr, f.Len()-headSize, c.limit, rpc.ErrTooLarge)
	}
	var ok bool
	if f.charge, ok = c.out.budget.take(ctx, c.gone, int64(f.Len())+frameCost); ok {
		return nil
	}
	if ctx.Err() != nil {
		return c.givenUp(ctx)
	}
	return c.lost()
}

// launch gives the request its number and watches the caller's context.
func (c *conn) launch(ctx context.Context, f *flight) (id uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	c.last++
	id = c.last
	c.calls[id] = f
	if ctx.Done() != nil {
		f.stop = context.AfterFunc(ctx, func() { c.giveUp(ctx, id) })
	}
	return id, nil
}

// giveUp ends the call of a caller whose context has ended and tells the server.
func (c *conn) giveUp(ctx context.Context, id uint64) {
	c.mu.Lock()
	f := c.calls[id]
	if f == nil || f.given {
		c.mu.Unlock()
		return
	}
	f.given = true
	c.mu.Unlock()
	f.call.Finish(nil, c.givenUp(ctx))
	c.signal(kindCancel, id)
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

// signal sends a frame without a body.
func (c *conn) signal(k kind, id uint64) {
	f := c.out.frame()
	f.seal(k, id, c.limit)
	c.out.send(f)
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
	_ = c.nc.Close()
	c.out.close()
	for _, f := range calls {
		if f.stop != nil {
			f.stop()
		}
		if !f.given {
			f.call.Finish(nil, err)
		}
	}
}

// read takes the answers until the connection ends.
func (c *conn) read(in *reader) {
	for {
		err := c.readOne(in)
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			err = errors.New("the server closed it")
		}
		c.fail(fmt.Errorf("server %s: %w: %w", c.addr, rpc.ErrLost, err))
		return
	}
}

func (c *conn) readOne(in *reader) error {
	h, err := in.next()
	if err != nil || h.kind == kindPong {
		return err
	}
	body, err := in.body(h.size)
	switch {
	case err != nil:
		return err
	case h.kind == kindResponse:
		return c.answer(h.id, func() (*rpc.Response, error) {
			r, err := rpc.ReadResponse(body)
			if err != nil {
				err = fmt.Errorf("server %s: response: %w", c.addr, err)
			}
			return r, err
		})
	case h.kind != kindFault:
		return fmt.Errorf("frame of kind %d from a server", h.kind)
	}
	fault, err := rpc.ReadFault(body, c.addr)
	switch {
	case err != nil:
		return fmt.Errorf("error frame: %w", err)
	case h.id == 0:
		return &lastWords{fault}
	}
	return c.answer(h.id, func() (*rpc.Response, error) { return nil, fault })
}

// lastWords is why a server ended the connection, as it said itself.
type lastWords struct{ fault *rpc.Fault }

func (l *lastWords) Error() string { return "the server ended it: " + l.fault.Text }

func (l *lastWords) Unwrap() error { return l.fault.Kind }

// answer ends the call of the request with what read gives.
func (c *conn) answer(id uint64, read func() (*rpc.Response, error)) error {
	c.mu.Lock()
	f := c.calls[id]
	if f == nil {
		c.mu.Unlock()
		return fmt.Errorf("answer to request %d, which is not under way", id)
	}
	delete(c.calls, id)
	given := f.given
	c.mu.Unlock()
	<-c.slot
	if f.stop != nil {
		f.stop()
	}
	if !given {
		f.call.Finish(read())
	}
	return nil
}

// watch sends pings while calls are under way and ends the connection when nothing moves any more.
func (c *conn) watch(every, timeout time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var quiet time.Duration
	seen, waiting := uint64(0), false
	for {
		select {
		case <-c.gone:
			return
		case <-tick.C:
		}
		c.mu.Lock()
		calls := len(c.calls)
		c.mu.Unlock()
		now := c.moved.Load()
		if calls == 0 || !waiting || now != seen {
			quiet = 0
		} else {
			quiet += every
		}
		seen, waiting = now, calls > 0
		if quiet >= timeout {
			c.fail(fmt.Errorf("server %s: %w: nothing heard for %v", c.addr, rpc.ErrLost, timeout))
			return
		}
		if calls > 0 {
			c.signal(kindPing, 0)
		}
	}
}
