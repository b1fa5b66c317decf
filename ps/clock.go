package ps

import (
	"context"

	"thole.example/ssp"
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

func (c *Client) flush(ctx context.Context) error {
	if err := c.settle(ctx); err != nil {
		return err
	}
	if len(c.oplog) == 0 {
		return nil
	}
	if _, err := c.change(ctx, ticks{}, nil); err != nil {
		return err
	}
	return c.settle(ctx)
}

// Clock sends what was pushed, says that the gradients of this clock are sums over weight examples and are to be applied
// with the learning rate, and moves the clocks of all matrices and the task's own on by one. Unless a matrix is under ASP
// it does not wait: what comes of it is told by a later call.
//
// If the context ends while it waits the change is under way, and the clocks have moved; if it ends before, nothing
// changes.
func (c *Client) Clock(ctx context.Context, weight, rate float64) error {
	if err := c.begin(ctx, "clock", nil); err != nil {
		return err
	}
	defer c.end()
	return c.tickAll(ctx, weight, rate, false)
}

// SyncClock is Clock without a rule's step, and waits until the servers have the deltas.
func (c *Client) SyncClock(ctx context.Context) error {
	if err := c.begin(ctx, "sync clock", nil); err != nil {
		return err
	}
	defer c.end()
	return c.tickAll(ctx, 0, 0, true)
}

func (c *Client) tickAll(ctx context.Context, weight, rate float64, wait bool) error {
	wait = wait || c.o.Bound == ssp.ASP
	for _, m := range c.order {
		wait = wait || m.bound == ssp.ASP
	}
	return c.tickSome(ctx, ticks{c.order, true, weight, rate}, wait)
}

// tickSome sends what was pushed with the ticks.
func (c *Client) tickSome(ctx context.Context, t ticks, wait bool) error {
	if wait {
		if err := c.settle(ctx); err != nil {
			return err
		}
	}
	if _, err := c.change(ctx, t, nil); err != nil || !wait {
		return err
	}
	return c.settle(ctx) // under ASP a task must see its own updates
}

// Clock is the client's Clock for this matrix alone: the clocks of others, and the task's own, stay. What was pushed to
// any matrix is sent.
func (m *Matrix) Clock(ctx context.Context, weight, rate float64) error {
	c := m.c
	if err := c.begin(ctx, "clock", m); err != nil {
		return err
	}
	defer c.end()
	return c.tickSome(ctx, ticks{[]*Matrix{m}, false, weight, rate}, m.bound == ssp.ASP)
}

// Now is the task's clock for the matrix.
func (m *Matrix) Now() int { return m.clock }
