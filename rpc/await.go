package rpc

import (
	"context"
	"runtime"
	"time"
)

// looks is how often a goroutine looks for an answer of this process, and lets others run in between, before it sleeps: for about 50 µs,
// as long as it takes to wake it. Two tasks that wait for each other in every step go on a third faster. Answers of other processes come
// by the network, which is looked at only by threads that have nothing to run.
const looks = 400

// Await blocks until the answer is there, and reports whether it is; or until the context ends or the alarm rings. Unlike
// Wait it gives nothing up: the server is told nothing, and the call may be awaited again. Once it reports true, Wait
// returns at once. A nil alarm never rings.
func (c *Call) Await(ctx context.Context, alarm <-chan time.Time) bool {
	if c.Ready() {
		return true
	}
	for i := 0; c.near && i < looks; i++ {
		if runtime.Gosched(); c.Ready() {
			return true
		}
	}
	if c.read(ctx) {
		return true
	}
	select {
	case <-c.done:
		c.over = true
	case <-alarm:
		c.stopWaiting()
	case <-ctx.Done():
		c.stopWaiting()
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
