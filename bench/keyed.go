package bench

import (
	"context"
	"math"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/ssp"
)

// dial joins a job of one task under ASP.
func (c *Config) dial(ctx context.Context) (*ps.Client, error) {
	return ps.Dial(ctx, ps.Options{
		Network: c.Network, Servers: c.Servers, Job: "bench " + c.What, Tasks: 1, Bound: ssp.ASP, InFlight: c.Depth,
	})
}

// keyed makes a matrix with all keys, and a client for it.
func (c *Config) keyed(ctx context.Context) (*ps.Client, *ps.Matrix, error) {
	client, err := c.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	meta := matrix.Meta{
		Name: "bench", Rows: int64(c.Dim), Cols: math.MaxInt64, DType: matrix.F32, Layout: matrix.RowSparse, Rule: c.Rule,
	}
	if err := client.Create(ctx, "hash", meta); err != nil {
		return client, nil, err
	}
	m, err := client.Matrix("bench")
	if err != nil {
		return client, nil, err
	}
	keys := make([]int64, 0, c.Batch)
	grads := c.gradients()
	var plan *ps.Keys
	for i := range c.Keys {
		keys = append(keys, key(i))
		if len(keys) < c.Batch && i < c.Keys-1 {
			continue
		}
		if plan, err = m.Plan(plan, keys); err == nil {
			err = ps.PushKeys(m, plan, grads[:len(keys)*c.Dim])
		}
		if err == nil {
			err = client.Clock(ctx, 1, 0.01)
		}
		if err != nil {
			return client, m, err
		}
		keys = keys[:0]
		if i%(1<<20) < c.Batch {
			c.tell("%d of %d keys", i+1, c.Keys)
		}
	}
	return client, m, client.Flush(ctx)
}

// warm is how many requests are made before the measuring begins.
const warm = 100

// pull keeps Depth pulls under way, each with the plan of its keys.
func pull(ctx context.Context, c *Config) (Result, error) {
	client, m, err := c.keyed(ctx)
	if client != nil {
		defer client.Close()
	}
	if err != nil {
		return Result{}, err
	}
	batches := c.batches()
	type trip struct {
		plan  *ps.Keys
		dst   []float32
		pull  *ps.Pull
		begun time.Time
	}
	trips := make([]trip, c.Depth)
	for i := range trips {
		trips[i].dst = make([]float32, c.Batch*c.Dim)
	}
	meter := c.begin()
	for n := 0; n < warm || meter.more(ctx); n++ {
		t := &trips[n%c.Depth]
		if t.pull != nil {
			if err := t.pull.Wait(ctx); err != nil {
				return Result{}, err
			}
			meter.done(t.begun)
		}
		if n == warm {
			meter = c.begin()
		}
		t.begun = time.Now()
		if t.plan, err = m.Plan(t.plan, batches[n%batchCount]); err != nil {
			return Result{}, err
		}
		if t.pull, err = ps.StartPullKeys(ctx, m, t.plan, t.dst); err != nil {
			return Result{}, err
		}
	}
	r := meter.result(c.Batch)
	for i := range trips {
		if trips[i].pull != nil {
			if err := trips[i].pull.Wait(ctx); err != nil {
				return r, err
			}
		}
	}
	return r, end(ctx, client)
}

// push sums the gradients of a batch by its plan, and sends them with a tick; the client keeps Depth of them under way.
func push(ctx context.Context, c *Config) (Result, error) {
	client, m, err := c.keyed(ctx)
	if client != nil {
		defer client.Close()
	}
	if err != nil {
		return Result{}, err
	}
	batches, grads := c.batches(), c.gradients()
	var plan *ps.Keys
	begun := make([]time.Time, c.Depth)
	meter := c.begin()
	for n := 0; n < warm || meter.more(ctx); n++ {
		if n == warm {
			meter = c.begin()
		}
		begun[n%c.Depth] = time.Now()
		if plan, err = m.Plan(plan, batches[n%batchCount]); err != nil {
			return Result{}, err
		}
		if err := ps.PushKeys(m, plan, grads); err != nil {
			return Result{}, err
		}
		if err := client.Clock(ctx, 1, 0.01); err != nil {
			return Result{}, err
		}
		if c.Depth == 1 {
			if err := client.Flush(ctx); err != nil {
				return Result{}, err
			}
		}
		meter.done(begun[(n+1)%c.Depth]) // the one that began Depth-1 before was answered for Clock to go on
	}
	r := meter.result(c.Batch)
	return r, end(ctx, client)
}

// end leaves the job.
func end(ctx context.Context, client *ps.Client) error {
	if err := client.Flush(ctx); err != nil {
		return err
	}
	return client.Leave(ctx)
}
