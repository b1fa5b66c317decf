package bench

import (
	"context"
	"crypto/rand"
	"math"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/ssp"
)

// options are those of a job of one task under ASP. Its name is like no other: nothing else on the servers is touched.
func (c *Config) options() ps.Options {
	return ps.Options{
		Network: c.Network, Servers: c.Servers, Job: "bench " + c.What + " " + rand.Text(), Tasks: 1, Bound: ssp.ASP, InFlight: c.Depth,
	}
}

// keyed makes a matrix with all keys, and a client for it.
func (c *Config) keyed(ctx context.Context) (*ps.Client, *ps.Matrix, error) {
	client, err := ps.Dial(ctx, c.options())
	if err != nil {
		return nil, nil, err
	}
	m, err := c.create(ctx, client)
	if err != nil {
		client.Close()
		return nil, nil, err
	}
	return client, m, nil
}

func (c *Config) create(ctx context.Context, client *ps.Client) (*ps.Matrix, error) {
	meta := matrix.Meta{
		Name: "bench", Rows: int64(c.Dim), Cols: math.MaxInt64, DType: matrix.F32, Layout: matrix.RowSparse, Rule: c.Rule,
	}
	if err := client.Create(ctx, "hash", meta); err != nil {
		return nil, err
	}
	m, err := client.Matrix("bench")
	if err != nil {
		return nil, err
	}
	if err := m.SetWire(c.Wire); err != nil { // before the table is filled: then what rounding loses is there for all keys
		return nil, err
	}
	var plan *ps.Keys
	grads := c.gradients()
	err = c.fill(ctx, func(keys []int64) error {
		if plan, err = m.Plan(plan, keys); err != nil {
			return err
		}
		if err := ps.PushKeys(m, plan, grads[:len(keys)*c.Dim]); err != nil {
			return err
		}
		return client.Clock(ctx, 1, 0.01)
	})
	if err != nil {
		return nil, err
	}
	return m, client.Flush(ctx)
}

// trip is a pull under way.
type trip struct {
	plan  *ps.Keys
	dst   []float32
	pull  *ps.Pull // nil: none
	began time.Time
}

// measuring is the phase that is measured.
const measuring = "measuring"

// pull keeps Depth pulls under way, each with the plan of its keys.
func pull(ctx context.Context, c *Config) (Result, error) {
	client, m, err := c.keyed(ctx)
	if err != nil {
		return Result{}, err
	}
	defer client.Close()
	stale := c.Staleness
	if stale == 0 {
		stale = math.MaxInt32
	}
	if err := m.SetCache(c.Cache, stale); err != nil {
		return Result{}, err
	}
	batches, redraw, warming := c.batches(), c.redrawing(), warm
	if c.Cache > 0 {
		warming = 20 * warm // until it has the hot keys
	}
	trips := make([]trip, c.Depth)
	for i := range trips {
		trips[i].dst = make([]float32, c.Batch*c.Dim)
	}
	meter := c.warmUp(warming, c.Depth, measuring)
	var before ps.Traffic
	var cached ps.CacheStats
	for n := 0; meter.more(ctx); n++ {
		t := &trips[n%c.Depth]
		if t.pull != nil {
			if err := t.pull.Wait(ctx); err != nil {
				return Result{}, err
			}
			if len(meter.took) == 0 { // the first that is measured, or warms up
				before, cached = client.Traffic(), m.CacheStats()
			}
			meter.done(t.began)
		}
		if c.Cache > 0 {
			redraw(batches[n%len(batches)])
		}
		if c.Staleness > 0 {
			if err := m.Clock(ctx, 0, 0); err != nil {
				return Result{}, err
			}
		}
		t.began = time.Now()
		if t.plan, err = m.Plan(t.plan, batches[n%len(batches)]); err != nil {
			return Result{}, err
		}
		if t.pull, err = ps.StartPullKeys(ctx, m, t.plan, t.dst); err != nil {
			return Result{}, err
		}
	}
	r := meter.result(int64(c.Batch))
	if now, n := client.Traffic(), float64(r.Requests-1); n > 0 {
		r.Wire = new(float64(now.Sent-before.Sent+now.Received-before.Received) / n)
	}
	if s := m.CacheStats(); s.Hits+s.Misses > cached.Hits+cached.Misses {
		r.Hits = new(float64(s.Hits-cached.Hits) / float64(s.Hits+s.Misses-cached.Hits-cached.Misses))
	}
	for i := range trips {
		if trips[i].pull != nil {
			if err := trips[i].pull.Wait(ctx); err != nil {
				return Result{}, err
			}
		}
	}
	return r, client.Leave(ctx)
}

// push sums the gradients of a batch by its plan, and sends them with a tick; the client keeps Depth of them under way.
func push(ctx context.Context, c *Config) (Result, error) {
	client, m, err := c.keyed(ctx)
	if err != nil {
		return Result{}, err
	}
	defer client.Close()
	batches, grads := c.batches(), c.gradients()
	var plan *ps.Keys
	began := make([]time.Time, c.Depth)
	meter := c.warmUp(warm, c.Depth, measuring)
	for n := 0; meter.more(ctx); n++ {
		began[n%c.Depth] = time.Now()
		if plan, err = m.Plan(plan, batches[n%len(batches)]); err != nil {
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
		if n >= c.Depth-1 { // Clock went on, so the one that began Depth-1 before was answered
			meter.done(began[(n+1)%c.Depth])
		}
	}
	r := meter.result(int64(c.Batch))
	return r, client.Leave(ctx)
}
