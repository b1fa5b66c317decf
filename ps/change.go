package ps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"thole.example/rpc"
)

// round is a change of the task's: a numbered request to each server that it concerns.
type round struct {
	number  int         // among the client's changes, from 1 on
	of      []*exchange // by server; nil for a server that has none
	alone   bool        // no other change was under way when it began
	deltas  []delta     // what was taken from the oplog
	ticks   ticks       // the clocks that it moved
	changes []*Matrix   // whose values it changes at once, whatever the clocks: what was pulled of them before is stale
	results bool        // somebody else takes the answers and releases them
	judged  bool        // it was answered, and err says what came of it
	err     error
}

// ticks are the ends of clocks.
type ticks struct {
	of           []*Matrix
	own          bool // the task's own, too
	weight, rate float64
}

// change makes a change of what was pushed: it builds the requests, keeps them in the servers' logs and sends them. If the
// context ends before the requests are built, oplog and clocks are as before; after that the change is under way.
// complete, if not nil, adds to the requests, by server, nil where nothing is to be sent.
func (c *Client) change(ctx context.Context, t ticks, complete func(qs []*rpc.Request)) (*round, error) {
	for len(c.rounds) >= c.o.InFlight {
		if err := c.waitFirst(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.mayChange(); err != nil {
		return nil, err
	}
	c.dropPushed(t)
	r := &round{alone: len(c.rounds) == 0, ticks: t}
	qs := c.drain(r)
	c.tick(qs, t)
	if complete != nil {
		complete(qs)
		r.results = true
	}
	err := c.launch(ctx, r, qs)
	if err == nil {
		c.startDue(ctx)
	}
	return r, err
}

// mayChange tells why there can be no changes.
func (c *Client) mayChange() error {
	if c.follows {
		return fmt.Errorf("ps: a reader of job %q is none of its tasks, and changes nothing", c.o.Job)
	}
	return nil
}

// launch numbers the requests, keeps them in the servers' logs and sends them.
func (c *Client) launch(ctx context.Context, r *round, qs []*rpc.Request) error {
	r.of = make([]*exchange, len(qs))
	for i, q := range qs {
		if q != nil {
			l := c.links[i]
			l.seq++
			q.Seq = l.seq
			r.of[i] = &exchange{link: l, q: q}
			l.log = append(l.log, r.of[i])
		}
	}
	c.changes++
	r.number = c.changes
	c.rounds = append(c.rounds, r)
	forget(r.changes)
	return c.start(ctx, r.of)
}

// tick adds the ticks to requests for all servers and moves the clocks.
func (c *Client) tick(qs []*rpc.Request, t ticks) {
	if t.of == nil && !t.own {
		return
	}
	for i := range qs {
		if qs[i] == nil {
			qs[i] = &rpc.Request{Op: rpc.OpPush}
		}
		qs[i].Ticks = make([]rpc.Tick, 0, 1+len(t.of))
		if t.own {
			qs[i].Ticks = append(qs[i].Ticks, rpc.Tick{Clock: int32(c.clock)})
		}
		for _, m := range t.of {
			qs[i].Ticks = append(qs[i].Ticks, rpc.Tick{Matrix: m.numbers[i], Clock: int32(m.clock), Weight: t.weight, Rate: m.rateOf(t.rate)})
		}
		slices.SortFunc(qs[i].Ticks, func(a, b rpc.Tick) int { return cmp.Compare(a.Matrix, b.Matrix) })
	}
	c.move(t, 1)
}

// move moves the clocks.
func (c *Client) move(t ticks, by int) {
	for _, m := range t.of {
		m.clock += by
	}
	if t.own {
		c.clock += by
	}
}

// settle waits for the changes under way.
func (c *Client) waitAll(ctx context.Context) error {
	for len(c.rounds) > 0 {
		if err := c.waitFirst(ctx); err != nil {
			return err
		}
	}
	return c.failed
}

// waitFirst waits for the oldest of the changes under way.
func (c *Client) waitFirst(ctx context.Context) error {
	r := c.rounds[0]
	for _, x := range r.of {
		if x != nil && !x.done {
			if err := x.link.finish(ctx, x, r.of); err != nil {
				return err
			}
		}
	}
	last := len(c.rounds) == 1
	c.rounds = slices.Delete(c.rounds, 0, 1)
	err := c.judge(r, last)
	r.judged, r.err = true, err
	forget(r.changes) // another task of the process may have pulled until now
	for _, x := range r.of {
		if x != nil {
			x.q.Memory.Release()
		}
	}
	if !r.results || err != nil {
		release(r.of)
	}
	if err == nil {
		err = c.failed
	}
	return err
}

// judge tells what came of a change that was answered; last says that no other came after it. If every server refused it
// and no other change was under way, it is undone; staged functions that would be refused whenever they come are dropped.
func (c *Client) judge(r *round, last bool) error {
	var first error
	refused, all := 0, 0
	for _, x := range r.of {
		if x == nil {
			continue
		}
		all++
		if x.err == nil {
			continue
		}
		if first == nil {
			first = x.err
		}
		if !errors.Is(x.err, rpc.ErrLost) && !errors.Is(x.err, rpc.ErrClosed) && !errors.Is(x.err, rpc.ErrInternal) {
			refused++
		}
	}
	switch {
	case first == nil:
		return nil
	case refused < all || !r.alone || !last:
		return c.fail(first)
	}
	for i, x := range r.of {
		if x != nil && !x.sent { // it never left
			c.links[i].seq--
		}
	}
	c.move(r.ticks, -1)
	var again []delta
	for _, d := range r.deltas {
		if d.function() && (errors.Is(first, rpc.ErrMalformed) || errors.Is(first, rpc.ErrNotFound)) {
			continue
		}
		d.restore()
		again = append(again, d)
	}
	c.oplog = append(again, c.oplog...)
	return first
}

// answered reports whether every server has answered the change.
func (r *round) answered() bool {
	for _, x := range r.of {
		if x != nil && (!x.done || x.err != nil) {
			return false
		}
	}
	return true
}

// changeAlone makes a change that nothing was pushed for, once all before it are answered, and waits for it. What was pushed
// stays in the oplog. The change is one of the matrices' values.
func (c *Client) changeAlone(ctx context.Context, of []*Matrix, request func(server int) (*rpc.Request, error)) error {
	if _, err := c.startAlone(ctx, of, request); err != nil {
		return err
	}
	return c.waitAll(ctx)
}

// startAlone is changeAlone without waiting for the change itself.
func (c *Client) startAlone(ctx context.Context, of []*Matrix, request func(server int) (*rpc.Request, error)) (*round, error) {
	if err := c.mayChange(); err != nil {
		return nil, err
	}
	if err := c.waitAll(ctx); err != nil {
		return nil, err
	}
	qs := make([]*rpc.Request, len(c.links))
	for i := range qs {
		var err error
		if qs[i], err = request(i); err != nil {
			return nil, err
		}
	}
	r := &round{alone: true, changes: of}
	return r, c.launch(ctx, r, qs)
}
