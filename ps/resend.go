package ps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"thole.example/rpc"
)

// pending is a request under way, kept so that it can be sent again.
type pending struct {
	q      *rpc.Request
	server int
	conn   rpc.Conn
	call   *rpc.Call
}

// start sends the requests, one to each server that has one. Changes are numbered: a server makes each once, however often
// it comes. There is one change under way at a server at most.
func (c *Client) start(ctx context.Context, qs []*rpc.Request) []*pending {
	calls := make([]*pending, len(qs))
	for i, q := range qs {
		if q == nil {
			continue
		}
		if c.o.Retry > 0 && (q.Op == rpc.OpPush || q.Op == rpc.OpStep || q.Op == rpc.OpUpdate) {
			c.seq[i]++
			q.Seq = c.seq[i]
		}
		calls[i] = &pending{q: q, server: i, conn: c.conns[i], call: c.conns[i].Start(ctx, q)}
	}
	return calls
}

// wait waits for all answers; the place of a nil call stays nil.
func (c *Client) wait(ctx context.Context, calls []*pending) ([]*rpc.Response, error) {
	rs := make([]*rpc.Response, len(calls))
	var first error
	for i, call := range calls {
		if call == nil {
			continue
		}
		r, err := c.finish(ctx, call)
		if err != nil && first == nil {
			first = err
		}
		rs[i] = r
	}
	return rs, first
}

// finish waits for the answer. If the connection is lost it makes a new one and sends the request again.
func (c *Client) finish(ctx context.Context, p *pending) (*rpc.Response, error) {
	for {
		r, err := p.call.Wait(ctx)
		if !c.lost(err) || p.q.Op == rpc.OpQuit || ctx.Err() != nil {
			return r, err
		}
		gone, rerr := c.revive(ctx, p, err)
		switch {
		case gone && p.q.Op == rpc.OpLeave: // the server had heard it
			return &rpc.Response{}, nil
		case rerr != nil:
			return nil, rerr
		case p.q.Op == rpc.OpSave || p.q.Op == rpc.OpCommit: // only the whole can be repeated
			return nil, err
		}
		p.conn = c.conns[p.server]
		p.call = p.conn.Start(ctx, p.q)
	}
}

// lost reports whether the connection is at fault, and the server did not close it on purpose.
func (c *Client) lost(err error) bool {
	return c.o.Retry > 0 && c.joined && errors.Is(err, rpc.ErrLost) && !errors.Is(err, rpc.ErrClosed)
}

// Pauses between attempts to reach a server.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// revive makes a new connection to the server of the request in the place of the lost one, unless that is done, and joins
// the job again. gone says that the server does not know the task any more.
func (c *Client) revive(ctx context.Context, p *pending, why error) (gone bool, err error) {
	if c.conns[p.server] != p.conn {
		return false, nil
	}
	_ = p.conn.Close() // it is lost
	if c.o.Lost != nil {
		c.o.Lost(why)
	}
	within, cancel := context.WithTimeout(ctx, c.o.Retry)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := c.rejoin(within, p.server)
		switch {
		case err == nil:
			return false, nil
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case errors.Is(err, rpc.ErrNotFound):
			return true, fmt.Errorf("%w; then: %w", why, err)
		case within.Err() == nil && !errors.Is(err, rpc.ErrUnreachable) && !errors.Is(err, rpc.ErrLost):
			return false, fmt.Errorf("%w; then: %w", why, err)
		}
		select {
		case <-time.After(pause):
		case <-within.Done():
			if ctx.Err() != nil {
				return false, context.Cause(ctx)
			}
			return false, fmt.Errorf("%w; not reached again within %v", why, c.o.Retry)
		}
	}
}

// rejoin connects to the server and says who is back.
func (c *Client) rejoin(ctx context.Context, server int) error {
	conn, err := c.o.Network.Dial(ctx, c.o.Servers[server])
	if err != nil {
		return err
	}
	c.epoch[server]++
	q, err := c.control(rpc.OpJoin, c.joining, server)
	if err == nil {
		_, err = conn.Start(ctx, q).Wait(ctx)
	}
	if err != nil {
		_ = conn.Close() // the error of the join says more
		return err
	}
	c.conns[server] = conn
	return nil
}

// whole repeats what takes several requests if a connection is lost within: as long as the client tries to come back, and
// a few times whatever that takes, because one save may take longer.
func (c *Client) whole(ctx context.Context, do func() error) error {
	const attempts = 3
	within := ctx
	for try := 1; ; try++ {
		err := do()
		if !c.lost(err) || ctx.Err() != nil || try >= attempts && within.Err() != nil {
			return err
		}
		if try == 1 {
			var cancel context.CancelFunc
			within, cancel = context.WithTimeout(ctx, c.o.Retry)
			defer cancel()
		}
	}
}

// quitTime is how long a client that gives up tries to tell the servers so.
const quitTime = time.Second

// quit tells the servers that the task will not come back.
func (c *Client) quit() {
	ctx, cancel := context.WithTimeout(context.Background(), quitTime)
	defer cancel()
	qs := make([]*rpc.Request, len(c.conns))
	for i := range qs {
		qs[i] = c.request(rpc.OpQuit, nil)
	}
	_, _ = c.send(ctx, qs) // whoever does not hear it sees the connection end
}
