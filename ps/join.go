package ps

import (
	"context"
	"errors"
	"slices"

	"thole.example/rpc"
)

// join says to every server that the task is there: to the first one alone at first, so that of two that claim the same
// task one goes through, and that one alone has it wait where the others have gone on without it.
func (c *Client) join(ctx context.Context) error {
	c.watch.begin("join", nil)
	defer c.watch.end()
	for _, links := range [][]*link{c.links[:1], c.links[1:]} {
		xs := make([]*exchange, len(links))
		for i, l := range links {
			q, err := l.joining()
			if err != nil {
				return err
			}
			xs[i] = &exchange{link: l, q: q, once: true, conn: l.conn}
			xs[i].call = l.conn.Start(ctx, q)
		}
		for i, l := range links {
			if err := l.joinFirst(ctx, xs[i], xs); err != nil {
				abandon(xs)
				return err
			}
		}
		c.mu.Lock()
		c.joined = true
		c.mu.Unlock()
	}
	for _, l := range c.links {
		if c.goesOn && l.seq == 0 { // one server has not heard of the other client, or was started anew
			return &LaterAttempt{Job: c.o.Job, Attempt: c.o.Attempt + 1}
		}
	}
	return nil
}

// joinFirst waits for the answer to the first Join. If the answer is lost, the server may or may not have received the Join, so the client
// sends it again over a new connection. In both cases the error is a [*Taken] if another process has the task.
func (l *link) joinFirst(ctx context.Context, x *exchange, others []*exchange) error {
	if err := l.finish(ctx, x, others); err != nil {
		return err
	}
	err := x.err
	switch {
	case err == nil:
		err = l.welcome(x.resp)
	case l.conn == nil: // lost
		err = l.connect(ctx)
	}
	if errors.Is(err, rpc.ErrExists) {
		return &Taken{err}
	}
	return err
}

// Members waits until all tasks of the job have joined. At first, and each time when it hears of another or of a worker
// that was refused, it tells how things are: how many have joined, which are missing (some of them if they are many), how
// many workers were refused and why the last one was.
func (c *Client) Members(ctx context.Context, tell func(rpc.Membership)) error {
	if err := c.begin(ctx, "members", nil); err != nil {
		return err
	}
	defer c.end()
	known := rpc.Members{}
	for known.Joined < c.o.Tasks {
		q, err := control(rpc.OpMembers, known)
		if err != nil {
			return err
		}
		xs, err := c.ask(ctx, []*rpc.Request{q}) // the first server, which all join first
		if err != nil {
			return err
		}
		var now rpc.Membership
		if err := xs[0].link.read(xs[0].resp, &now); err != nil {
			return err
		}
		before := known
		known = rpc.Members{Joined: now.Joined, Refused: now.Refused}
		same := known.Joined == before.Joined && known.Refused == before.Refused
		if same || now.Joined < before.Joined || now.Refused < before.Refused || now.Joined > c.o.Tasks {
			return xs[0].link.lie("%d of %d tasks have joined and %d were refused, after %d and %d",
				now.Joined, c.o.Tasks, now.Refused, before.Joined, before.Refused)
		}
		tell(now)
	}
	return nil
}

// Attendance is what the servers know now of who has joined: as many as have joined all of them, and who is missing on any. If it says so,
// the others go on without the tasks from now on that without names, which are away or have not joined; none of them may be one that is not
// [Options].Optional.
func (c *Client) Attendance(ctx context.Context, without ...int) (now rpc.Membership, err error) {
	if err := c.begin(ctx, "attendance", nil); err != nil {
		return now, err
	}
	defer c.end()
	xs, err := c.askAll(ctx, rpc.OpMembers, func(int) any { return rpc.Members{Without: without} })
	if err != nil {
		return now, err
	}
	defer release(xs)
	for i, x := range xs {
		var one rpc.Membership
		if err := x.link.read(x.resp, &one); err != nil {
			return now, err
		}
		if i == 0 {
			now = one
			continue
		}
		now.Joined = min(now.Joined, one.Joined)
		now.Missing = append(now.Missing, one.Missing...)
		slices.Sort(now.Missing)
		now.Missing = slices.Compact(now.Missing)
	}
	return now, nil
}

// NonFinite is how many parts of pushes had values that are infinite or no number, and were refused, left out or applied, as
// the job says (Options.NonFinite): those of all tasks, in all matrices. What was refused counts at once, as often as it came,
// the rest as of the slowest clock of each matrix: after a Barrier that of every step before it. A part is what a push brings
// to a matrix on one server: all its keys, or what lies in one partition of a dense matrix; of a push that is refused the first
// one counts. The count begins anew with the job, also with one that goes on from a checkpoint.
func (c *Client) NonFinite(ctx context.Context) (int64, error) {
	if err := c.begin(ctx, "count of what is not finite", nil); err != nil {
		return 0, err
	}
	defer c.end()
	nobody := func(int) any { return rpc.Members{} } // has joined, as far as the caller knows: so the answer is there at once
	xs, err := c.askAll(ctx, rpc.OpMembers, nobody)
	if err != nil {
		return 0, err
	}
	defer release(xs)
	total := int64(0)
	for _, x := range xs {
		var now rpc.Membership
		if err := x.link.read(x.resp, &now); err != nil {
			return 0, err
		}
		if total += now.NonFinite; now.NonFinite < 0 || total < 0 {
			return 0, x.link.lie("%d parts of pushes are not finite, want 0 or more", now.NonFinite)
		}
	}
	return total, nil
}

// Barrier waits until every task's own clock has ticked as often as this one's, whatever the bound. What was pulled before is not
// used again: all tasks read the same parameters after it.
func (c *Client) Barrier(ctx context.Context) error {
	if err := c.begin(ctx, "barrier", nil); err != nil {
		return err
	}
	defer c.end()
	xs, err := c.askAll(ctx, rpc.OpBarrier, nil)
	release(xs)
	if err == nil {
		forget(c.order)
	}
	return err
}

// Leave says that the task is done; the job ends when all tasks have left. What was pushed is sent before, and waited for.
func (c *Client) Leave(ctx context.Context) error {
	if err := c.begin(ctx, "leave", nil); err != nil {
		return err
	}
	defer c.end()
	c.leaving = true
	if err := c.flush(ctx); err != nil {
		return err
	}
	xs, err := c.askAll(ctx, rpc.OpLeave, nil)
	release(xs)
	if err == nil {
		c.mu.Lock()
		c.joined = false
		c.mu.Unlock()
	}
	return err
}
