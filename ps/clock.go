package ps

import (
	"context"
)

// Flush sends what was pushed and waits until the servers have it. Under ASP it is then applied; under BSP and SSP it
// becomes visible with the rest of this task's clock.
func (c *Client) Flush(ctx context.Context) error {
	if err := c.begin(ctx, "flush", nil); err != nil {
		return err
	}
	defer c.end()
	return c.flush(ctx)
}

// flush is StartFlush and Wait, once all changes before it are answered: one that the servers refuse is undone.
func (c *Client) flush(ctx context.Context) error {
	if err := c.waitAll(ctx); err != nil {
		return err
	}
	return c.startFlush(ctx).wait(ctx)
}

// Clock sends what was pushed, says that the gradients of this clock are sums over weight examples and are to be applied
// with the learning rate, and moves the clocks of all matrices and the task's own on by one. It does not wait, unless
// Options.InFlight changes are under way: what comes of it is told by a later call. A later pull of this task sees it, as
// far as the bound lets it: servers take the requests of a task in their order.
//
// If the context ends while it waits the change is under way, and the clocks have moved; if it ends before, nothing
// changes.
func (c *Client) Clock(ctx context.Context, weight, rate float64) error {
	if err := c.begin(ctx, "clock", nil); err != nil {
		return err
	}
	defer c.end()
	return c.tickSome(ctx, ticks{c.order, true, weight, rate})
}

// OwnClock is Clock for the task's own clock alone: those of matrices stay.
func (c *Client) OwnClock(ctx context.Context) error {
	if err := c.begin(ctx, "own clock", nil); err != nil {
		return err
	}
	defer c.end()
	return c.tickSome(ctx, ticks{own: true})
}

// SyncClock is Clock without a rule's step, and waits until the servers have the deltas.
func (c *Client) SyncClock(ctx context.Context) error {
	if err := c.begin(ctx, "sync clock", nil); err != nil {
		return err
	}
	defer c.end()
	return c.syncTicks(ctx, ticks{of: c.order, own: true})
}

// tickSome sends what was pushed with the ticks.
func (c *Client) tickSome(ctx context.Context, t ticks) error {
	_, err := c.change(ctx, t, nil)
	return err
}

// syncTicks is tickSome once all changes before it are answered, and waits for the answers.
func (c *Client) syncTicks(ctx context.Context, t ticks) error {
	if err := c.waitAll(ctx); err != nil {
		return err
	}
	return c.future(c.change(ctx, t, nil)).wait(ctx)
}

// Clock is the client's Clock for this matrix alone: the clocks of others, and the task's own, stay. What was pushed to
// any matrix is sent.
func (m *Matrix) Clock(ctx context.Context, weight, rate float64) error {
	c := m.c
	if err := c.begin(ctx, "clock", m); err != nil {
		return err
	}
	defer c.end()
	return c.tickSome(ctx, ticks{[]*Matrix{m}, false, weight, rate})
}

// Now is the task's clock for the matrix.
func (m *Matrix) Now() int { return m.clock }
