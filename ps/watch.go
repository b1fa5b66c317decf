package ps

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"thole.example/rpc"
)

// firstLook is after how long a call that waits says so; then after twice as long, and so on.
const firstLook = 10 * time.Second

// stopwatch knows how long the call under way has waited. Time passes only while a call waits for an answer.
type stopwatch struct {
	what  string
	of    *Matrix
	timer *time.Timer   // made when first needed
	since time.Duration // what it was last set for; 0: it does not run
	all   time.Duration // the call has waited when it rings
}

func (w *stopwatch) begin(what string, m *Matrix) { w.what, w.of = what, m }

func (w *stopwatch) end() {
	if w.since > 0 {
		w.timer.Stop()
		w.since, w.all = 0, 0
	}
}

func (w *stopwatch) set(d time.Duration) {
	if w.timer == nil {
		w.timer = time.NewTimer(d)
	} else {
		w.timer.Reset(d)
	}
	w.since, w.all = d, w.all+d
}

// await blocks until the exchange is answered, and reports whether it is; the context may end first. others are what the
// call waits for beside it.
func (c *Client) await(ctx context.Context, x *exchange, others []*exchange) bool {
	if c.o.Waiting == nil {
		return x.call.Await(ctx, nil)
	}
	for !x.call.Ready() {
		if c.watch.since == 0 {
			c.watch.set(firstLook)
		}
		if x.call.Await(ctx, c.watch.timer.C) {
			break
		}
		if ctx.Err() != nil {
			return false
		}
		c.o.Waiting(c.waiting(x, others))
		c.watch.set(c.watch.all)
	}
	return true
}

// waiting says who has waited for how long, and for whom: for which servers, and for which of their partitions where some were
// asked for.
func (c *Client) waiting(x *exchange, others []*exchange) string {
	what := fmt.Sprintf("task %d: %s", c.o.Task, c.watch.what)
	if c.watch.of != nil {
		what += " of matrix " + c.watch.of.meta.Name
	}
	asked, missing := map[*link]bool{x.link: true}, map[*link]*exchange{x.link: x}
	for _, o := range others {
		if o != nil {
			asked[o.link] = true
			if !o.done && (o.call == nil || !o.call.Ready()) {
				missing[o.link] = o
			}
		}
	}
	var names []string
	for _, l := range c.links {
		if o := missing[l]; o != nil {
			names = append(names, l.addr+partitions(o.q))
		}
	}
	return fmt.Sprintf("%s has waited %v for %d of %d servers: %s", what, c.watch.all, len(names), len(asked), strings.Join(names, ", "))
}

// partitions says which partitions a request asks for, if it does.
func partitions(q *rpc.Request) string {
	var all []uint32
	for i := range q.Parts {
		for _, g := range q.Parts[i].Groups {
			all = append(all, g.Partition)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	switch n := len(all); n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" (partition %d)", all[0])
	default:
		return fmt.Sprintf(" (%d partitions from %d to %d)", n, all[0], all[n-1])
	}
}
