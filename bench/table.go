package bench

import (
	"context"
	"math"
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
	meta := &matrix.Meta{Name: "bench", Rows: int64(c.Dim), Cols: math.MaxInt64, DType: matrix.F32, Layout: matrix.RowSparse, Rule: c.Rule}
	var rule *psf.Rule
	if c.Rule != "" {
		funcs, err := psf.NewTable(nil, nil, optim.Rules())
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
	keys := make([]int64, 0, c.Batch)
	for i := range c.Keys {
		if keys = append(keys, key(i)); len(keys) < c.Batch && i < c.Keys-1 {
			continue
		}
		begun := time.Now()
		if err := apply(keys); err != nil {
			return Result{}, err
		}
		slowest = max(slowest, time.Since(begun))
		keys = keys[:0]
	}
	batches := c.batches()
	for i, b := range batches { // a delta has a key once
		slices.Sort(b)
		batches[i] = shuffled(slices.Compact(b))
	}
	dst := make([]byte, 4*c.Batch*c.Dim)
	read := func(b []int64) error { return s.Read(dst[:4*len(b)*c.Dim], meta.Rect().Rows, b) }
	r, err := c.repeat(ctx, batches, read)
	if err == nil && rule != nil {
		reads := r.PerCPU.Both
		r, err = c.repeat(ctx, batches, apply)
		r.Reads = reads
	}
	r.BytesKey, r.Growth = float64(s.Bytes())/float64(c.Keys), micros(slowest)
	return r, err
}

// repeat measures something that is done with one batch after the other.
func (c *Config) repeat(ctx context.Context, batches [][]int64, do func(keys []int64) error) (Result, error) {
	rows := 0
	meter := c.begin()
	for n := 0; n < warm || meter.more(ctx); n++ {
		if n == warm {
			meter, rows = c.begin(), 0
		}
		begun := time.Now()
		b := batches[n%batchCount]
		if err := do(b); err != nil {
			return Result{}, err
		}
		rows += len(b)
		meter.done(begun)
	}
	return meter.result(rows / max(1, len(meter.took))), nil
}

// shuffled is the keys in an order that has nothing to do with their size.
func shuffled(keys []int64) []int64 {
	slices.SortFunc(keys, func(a, b int64) int { return int(uint32(a*0x9e3779b1)>>1) - int(uint32(b*0x9e3779b1)>>1) })
	return keys
}
