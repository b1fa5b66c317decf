package ps

import (
	"context"
	"strings"

	"thole.example/rpc"
)

// Orders is a task's ear for orders. One to move its job to other servers it makes between two attempts: it writes a checkpoint that says
// so, tells that it is there ([Client.Moved]) and gives its attempt up; all tasks come back on the other servers. One without servers is of
// somebody who is about to end: the task writes a checkpoint, tells that it is there, and goes on. It belongs to its client's goroutine.
type Orders struct {
	c  *Client
	xs []*exchange // one for each server; nil: it is to be asked anew
}

// Order is one to move, or to write a checkpoint.
type Order struct {
	Servers []string // addresses to move to, in their order; nil: only a checkpoint is wanted
	of      int      // the server that was told
}

// Orders begins to wait for orders. The job has to have attempts.
func (c *Client) Orders() *Orders { return &Orders{c: c, xs: make([]*exchange, len(c.links))} }

// Poll is the order that has come; nil: there is none. It does not wait. After an order, and whatever becomes of it, it may be called for
// the next.
func (o *Orders) Poll(ctx context.Context) (*Order, error) {
	for i, l := range o.c.links {
		if o.xs[i] == nil && l.conn != nil {
			o.xs[i] = &exchange{link: l, q: &rpc.Request{Op: rpc.OpAwait}, once: true}
			if err := l.send(ctx, o.xs[i]); err != nil {
				return nil, err
			}
		}
		x := o.xs[i]
		if x == nil || !l.poll(ctx, x) {
			continue
		}
		if o.xs[i] = nil; x.err != nil { // a connection that was lost, or a job that has failed: other calls say so
			continue
		}
		var a rpc.Order
		if err := l.read(x.resp, &a); err != nil {
			return nil, err
		}
		if a.Checkpoint != (len(a.Servers) == 0) {
			return nil, l.lie("an order to move to no servers, or to write a checkpoint and to move")
		}
		return &Order{a.Servers, i}, nil
	}
	return nil, nil
}

// Quiesce has all other tasks quiesce at one of their own clocks, from lo to hi: the first that none of them has reached, which it tells.
// Who ends that clock waits, until the order is over. If all have been reached the error is rpc.ErrPassed; if the order was withdrawn it is
// rpc.ErrNotFound.
func (c *Client) Quiesce(ctx context.Context, o *Order, lo, hi int) (clock int, err error) {
	return c.moving(ctx, o, rpc.Moving{Step: rpc.MovingQuiesce, From: lo, To: hi})
}

// CommitMove says that the job is about to move: from now on nobody can withdraw the order. If somebody has the error is rpc.ErrNotFound.
func (c *Client) CommitMove(ctx context.Context, o *Order) error {
	_, err := c.moving(ctx, o, rpc.Moving{Step: rpc.MovingCommit})
	return err
}

// Moved says that the checkpoint is there from which the job goes on on the other servers, or that which was wanted.
func (c *Client) Moved(ctx context.Context, o *Order, checkpoint string) error {
	_, err := c.moving(ctx, o, rpc.Moving{Step: rpc.MovingMoved, Checkpoint: checkpoint})
	return err
}

// Stays says that nothing comes of the order, and why. Tasks that quiesced go on.
func (c *Client) Stays(ctx context.Context, o *Order, why error) error {
	text := why.Error()
	_, err := c.moving(ctx, o, rpc.Moving{Step: rpc.MovingVoid,
		Reason: strings.ToValidUTF8(text[:min(len(text), rpc.ReasonLimit)], "")})
	return err
}

func (c *Client) moving(ctx context.Context, o *Order, a rpc.Moving) (clock int, err error) {
	if err := c.begin(ctx, "move", nil); err != nil {
		return 0, err
	}
	defer c.end()
	qs := make([]*rpc.Request, len(c.links))
	if qs[o.of], err = control(rpc.OpMoving, a); err != nil {
		return 0, err
	}
	xs, err := c.ask(ctx, qs)
	if err != nil {
		return 0, err
	}
	defer release(xs)
	return int(xs[o.of].resp.Clock), nil
}

// Move orders a job to other servers, or a checkpoint of it ([rpc.Move]), by one of those where it is, and answers when it has moved, or
// the checkpoint is there. If ctx ends before, the order is withdrawn, unless it is too late for that.
func Move(ctx context.Context, network rpc.Network, addr string, a rpc.Move) (*rpc.Moved, error) {
	out := &rpc.Moved{}
	if err := askOne(ctx, network, addr, rpc.OpMove, a, out); err != nil {
		return nil, err
	}
	return out, nil
}

// CheckpointsAt is what [Client.Checkpoints] lists, as any server sees it, by somebody who has joined no job.
func CheckpointsAt(ctx context.Context, network rpc.Network, addr, folder string) (all []rpc.Kept, err error) {
	err = askOne(ctx, network, addr, rpc.OpCatalog, rpc.Catalog{Path: folder}, &all)
	return all, err
}

// askOne asks a server over a connection of its own.
func askOne(ctx context.Context, network rpc.Network, addr string, op rpc.Op, settings, into any) error {
	q, err := control(op, settings)
	if err != nil {
		return err
	}
	conn, err := network.Dial(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	r, err := conn.Start(ctx, q).Wait(ctx)
	if err != nil {
		return err
	}
	l := &link{addr: addr}
	return l.read(r, into)
}
