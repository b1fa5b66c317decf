package ps

import (
	"context"
	"errors"
	"fmt"

	"thole.example/matrix"
	"thole.example/part"
	"thole.example/rpc"
	"thole.example/ssp"
)

// Follow connects to all servers as a reader of a running job: somebody who is no task, for evaluation, serving and tools.
// Of the options Network, Servers, Find, Job, Retry, Funcs, Lost, Waiting, ReadFrom, Replicas and MaxLag count. The client has
// the job's matrices; it pulls values as they are ([Matrix.GetRow] and the other pulls, [Matrix.Get]) or of one moment
// ([Client.Cut]), holds no task back, and does not keep the job alive. Of changes it can only run update functions, at once.
// Calls that are for tasks return an error.
func Follow(ctx context.Context, o Options) (*Client, error) {
	c, err := newClient(ctx, o, true)
	if err != nil {
		return nil, err
	}
	if err := c.follow(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// follow says to the servers who is there, and takes what they tell of the job.
func (c *Client) follow(ctx context.Context) error {
	if err := c.begin(ctx, "follow", nil); err != nil {
		return err
	}
	defer c.end()
	return c.lookAround(ctx)
}

// lookAround learns of the job's matrices, and how far they are: of each the clock of the server that is furthest.
func (c *Client) lookAround(ctx context.Context) error {
	xs, err := c.askAll(ctx, rpc.OpFollow, func(i int) any { return c.links[i].following() })
	if err != nil {
		return err
	}
	defer release(xs)
	var fresh []*Matrix
	for i, x := range xs {
		var now rpc.Followed
		if err := x.link.read(x.resp, &now); err != nil {
			return err
		}
		if i == 0 {
			for k := range now.Matrices {
				fresh = append(fresh, &Matrix{
					c: c, meta: now.Matrices[k].Meta, bound: ssp.ASP, clock: asItIs,
					cache: &cache{}, filter: unfiltered, numbers: make([]uint32, len(c.links)),
				})
			}
			c.tasks = now.Tasks
		}
		if err := x.link.followed(&now, fresh); err != nil {
			return err
		}
	}
	for _, m := range fresh {
		if have := c.mats[m.meta.Name]; have != nil && !have.alike(&m.meta) {
			return fmt.Errorf("ps: matrix %s of job %q is another one now: the job that was followed has ended: %w",
				m.meta.Name, c.o.Job, rpc.ErrNotFound)
		}
	}
	for _, m := range fresh {
		if have := c.mats[m.meta.Name]; have != nil {
			have.numbers, have.parts, have.reached = m.numbers, m.parts, m.reached
			continue
		}
		c.mats[m.meta.Name] = m
		c.order = append(c.order, m)
	}
	return nil
}

// asItIs is the clock of whoever wants values as they are.
const asItIs = -1

// alike reports whether a matrix of the metadata can be read as this one.
func (m *Matrix) alike(as *matrix.Meta) bool {
	return m.meta.Name == as.Name && m.meta.Rows == as.Rows && m.meta.Cols == as.Cols && m.meta.DType == as.DType && m.meta.Layout == as.Layout
}

// followed takes what a server tells of the matrices.
func (l *link) followed(now *rpc.Followed, fresh []*Matrix) error {
	if now.Place > 0 && (now.Place != l.index+1 || now.Places != len(l.c.links)) {
		return &serversError{fmt.Sprintf("server %s is server %d of %d of job %q, and was named as server %d of %d (from 0 on): want all "+
			"servers of the job in their order", l.addr, now.Place-1, now.Places, l.c.o.Job, l.index, len(l.c.links))}
	}
	l.lag, l.served, l.of = now.Replica, now.Checkpoint, now.Attempt
	if len(now.Matrices) < len(fresh) {
		return fmt.Errorf("ps: server %s has %d matrices of job %q, the first server has %d: %w",
			l.addr, len(now.Matrices), l.c.o.Job, len(fresh), rpc.ErrNotFound)
	}
	for i, m := range fresh {
		one := &now.Matrices[i]
		if err := one.Meta.Check(); err != nil {
			return l.lie("%v", err)
		}
		parts, err := part.Parse(one.Map, &one.Meta, len(l.c.links))
		switch {
		case err != nil:
			return fmt.Errorf("ps: server %s: %w (are these all servers of the job, in their order?)", l.addr, err)
		case !m.alike(&one.Meta) || m.parts != nil && !parts.Equal(m.parts) || one.Number == 0 || one.Clock < 0:
			return l.lie("matrix %s is not that of the first server", one.Meta.Name)
		}
		m.parts, m.numbers[l.index] = parts, one.Number
		m.reached = max(m.reached, one.Clock)
	}
	return nil
}

// Matrices are the matrices that the client knows, in the order in which they were created.
func (c *Client) Matrices() []*Matrix { return append([]*Matrix(nil), c.order...) }

// Tasks is how many tasks the job has.
func (c *Client) Tasks() int { return c.tasks }

// cutTries is how often a cut looks where the clocks are. Each time it aims further ahead.
const cutTries = 12

// Cut gives the values of the lookups as they all are at one moment: of every matrix at the clock that [Matrix.AsOf] tells
// afterwards, with all that the tasks pushed before it and nothing later, on all servers. It waits for the next clock if the
// servers are not at the same one, and begins again if another attempt of the job begins. What a server reads comes in one message. Under
// ASP matrices have no such moments, and are read as they are. Where servers serve checkpoints, the moment is the newest checkpoint that
// one of them has loaded, for which it waits at the others, and the clock is its number of steps.
func (c *Client) Cut(ctx context.Context, lookups []matrix.Lookup) ([]matrix.Block, error) {
	if err := c.begin(ctx, "cut", nil); err != nil {
		return nil, err
	}
	defer c.end()
	if !c.follows {
		return nil, fmt.Errorf("ps: a task's own clock says what it sees, want Pull (or a client of Follow)")
	}
	for try, ahead := 0, 0; ; try, ahead = try+1, 2*ahead+try {
		got, err := c.cutAhead(ctx, lookups, ahead)
		if !errors.Is(err, rpc.ErrPassed) || try == cutTries {
			return got, err
		}
	}
}

// cutAhead cuts so many clocks ahead of where the servers are. The error is rpc.ErrPassed if one has passed that clock or reads another
// attempt of the job than the others.
func (c *Client) cutAhead(ctx context.Context, lookups []matrix.Lookup, ahead int) ([]matrix.Block, error) {
	if err := c.lookAround(ctx); err != nil {
		return nil, err
	}
	attempt, err := c.attempt()
	if err != nil {
		return nil, err
	}
	if c.links[0].served != nil { // the next clock is that of a checkpoint which may never come
		ahead = 0
	}
	reads, err := c.readings(lookups)
	if err != nil {
		return nil, err
	}
	for _, r := range reads {
		r.clock = min(r.m.reached+ahead, ssp.Finished)
	}
	b := c.batch(reads)
	if err = b.start(ctx); err == nil {
		err = b.finish(ctx)
	}
	if err != nil {
		return nil, err
	}
	switch now, err := c.attempt(); {
	case err != nil:
		return nil, err
	case now != attempt: // connections were made again
		return nil, fmt.Errorf("ps: attempt %d of job %q has begun: %w", now, c.o.Job, rpc.ErrPassed)
	}
	return blocks(reads), nil
}

// Reached is the slowest task's clock of the matrix, as a client of Follow has heard of it last.
func (m *Matrix) Reached() int { return m.reached }
