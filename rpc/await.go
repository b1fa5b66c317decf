package rpc

import (
	"context"
	"time"
)

// Await blocks until the answer is there, and reports whether it is; or until the context ends or the alarm rings. Unlike
// Wait it gives nothing up: the server is told nothing, and the call may be awaited again. Once it reports true, Wait
// returns at once. A nil alarm never rings.
func (c *Call) Await(ctx context.Context, alarm <-chan time.Time) bool {
	if c.Ready() {
		return true
	}
	select {
	case <-c.done:
		c.over = true
	case <-alarm:
	case <-ctx.Done():
	}
	return c.over
}

// Ready reports whether the answer is there. Like Wait it is for the goroutine that waits for the call.
func (c *Call) Ready() bool {
	if !c.over {
		select {
		case <-c.done:
			c.over = true
		default:
		}
	}
	return c.over
}
