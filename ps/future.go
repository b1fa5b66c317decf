package ps

import "context"

// Future is a change that is under way, or was. It belongs to its client's goroutine.
type Future struct {
	c   *Client
	r   *round
	err error // why there is no change, if r is nil
}

// Wait waits until the change is made and tells what came of it. When the context ends the change stays under way. An error of
// a change that came before is told here, too, if no call has told it yet.
func (f *Future) Wait(ctx context.Context) error {
	if f.r == nil {
		return f.err
	}
	if f.Done() {
		return f.r.err
	}
	if err := f.c.begin(ctx, "wait for a change", nil); err != nil {
		return err
	}
	defer f.c.end()
	return f.wait(ctx)
}

// wait is Wait within a call of the client.
func (f *Future) wait(ctx context.Context) error {
	if f.r == nil {
		return f.err
	}
	for !f.r.judged {
		if err := f.c.waitFirst(ctx); err != nil {
			return err
		}
	}
	return f.r.err
}

// Done reports whether it is known what came of the change; then Wait does not wait.
func (f *Future) Done() bool { return f.r == nil || f.r.judged }

// future is the change that a call began, or why there is none.
func (c *Client) future(r *round, err error) *Future {
	if err != nil && (r == nil || r.of == nil) {
		return &Future{err: err}
	}
	return &Future{c: c, r: r} // also if the context ended meanwhile: it is under way
}

// StartFlush is Flush without waiting, unless Options.InFlight changes are under way.
func (c *Client) StartFlush(ctx context.Context) *Future {
	if err := c.begin(ctx, "flush", nil); err != nil {
		return &Future{err: err}
	}
	defer c.end()
	return c.startFlush(ctx)
}

// startFlush sends what was pushed. If nothing is to be sent, the future is that of the last change under way.
func (c *Client) startFlush(ctx context.Context) *Future {
	c.fold()
	switch n := len(c.rounds); {
	case c.failed != nil:
		return &Future{err: c.failed}
	case len(c.oplog) > 0:
		return c.future(c.change(ctx, ticks{}, nil))
	case n > 0:
		return &Future{c: c, r: c.rounds[n-1]}
	}
	return &Future{}
}

// StartClock is Clock with a future that tells what comes of it.
func (c *Client) StartClock(ctx context.Context, weight, rate float64) *Future {
	if err := c.begin(ctx, "clock", nil); err != nil {
		return &Future{err: err}
	}
	defer c.end()
	return c.future(c.change(ctx, ticks{c.order, true, weight, rate}, nil))
}
