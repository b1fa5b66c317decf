package bench

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/psf"
	"thole.example/shard"
	"thole.example/wire"
)

// table fills a partition and then reads and updates keys of it. The rate is that of the updates where there is a rule, that
// of the reads otherwise.
func table(ctx context.Context, c *Config) (Result, error) {
	meta := &matrix.Meta{
		Name: "bench", Rows: int64(c.Dim), Cols: math.MaxInt64, DType: matrix.F32, Layout: matrix.RowSparse, Rule: c.Rule,
	}
	var rule *psf.Rule
	if c.Rule != "" {
		funcs, err := psf.NewTable(nil, optim.Rules())
		if err != nil {
			return Result{}, err
		}
		if rule, err = funcs.Rule(c.Rule); err != nil {
			return Result{}, err
		}
	}
	s, err := shard.New(meta, meta.Rect(), 0, rule)
	if err != nil {
		return Result{}, err
	}
	defer s.Close()
	grads := wire.View(c.gradients())
	apply := func(keys []int64) error {
		d := shard.Delta{Rows: meta.Rect().Rows, Cols: meta.Rect().Cols, Keys: keys, Values: grads[:4*len(keys)*c.Dim]}
		return s.Apply([]shard.Delta{d}, 1, 0.01)
	}
	var slowest time.Duration
	err = c.fill(ctx, func(keys []int64) error {
		began := time.Now()
		err := apply(keys)
		slowest = max(slowest, time.Since(began))
		return err
	})
	if err != nil {
		return Result{}, err
	}
	batches := c.once()
	dst := make([]byte, 4*c.Batch*c.Dim)
	r, err := c.repeat(ctx, batches, "measuring reads", func(b []int64) error {
		return s.Read(dst[:4*len(b)*c.Dim], meta.Rect().Rows, b)
	})
	if err != nil {
		return Result{}, err
	}
	if rule != nil {
		reads := r.PerCPU.Both
		if r, err = c.repeat(ctx, batches, "measuring updates", apply); err != nil {
			return Result{}, err
		}
		r.Reads = reads
	}
	r.BytesKey, r.Growth = new(float64(s.Bytes())/float64(c.Keys)), new(micros(slowest))
	return r, nil
}

// once is batches that have each key once, as a delta does, in random order.
func (c *Config) once() [][]int64 {
	rng := rand.New(rand.NewPCG(3, 4))
	batches := c.batches()
	for i, b := range batches {
		slices.Sort(b)
		b = slices.Compact(b)
		rng.Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
		batches[i] = b
	}
	return batches
}

// repeat measures what is done with one batch after the other.
func (c *Config) repeat(ctx context.Context, batches [][]int64, what string, do func(keys []int64) error) (Result, error) {
	rows := 0
	meter := c.warmUp(warm, 1, what)
	for n := 0; meter.more(ctx); n++ {
		if len(meter.took) == 0 {
			rows = 0
		}
		began := time.Now()
		b := batches[n%len(batches)]
		if err := do(b); err != nil {
			return Result{}, err
		}
		rows += len(b)
		meter.done(began)
	}
	return meter.result(int64(rows / max(1, len(meter.took)))), context.Cause(ctx)
}
