package bench

import (
	"context"
	"errors"
	"sync"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/ssp"
)

// row pulls a whole dense row.
func row(ctx context.Context, c *Config) (Result, error) {
	client, err := c.dial(ctx)
	if err != nil {
		return Result{}, err
	}
	defer client.Close()
	if err := client.Create(ctx, "", matrix.Meta{Name: "bench", Rows: 1, Cols: c.Cols, DType: matrix.F32}); err != nil {
		return Result{}, err
	}
	m, err := client.Matrix("bench")
	if err != nil {
		return Result{}, err
	}
	meter := c.begin()
	for n := 0; n < 2 || meter.more(ctx); n++ {
		if n == 1 { // pages are there now
			meter = c.begin()
		}
		begun := time.Now()
		if _, err := m.GetRow(ctx, 0); err != nil {
			return Result{}, err
		}
		meter.done(begun)
	}
	wall := time.Since(meter.start).Seconds()
	r := meter.result(0)
	r.Bytes = float64(r.Requests) * float64(c.Cols) * 4 / 1e9 / wall
	return r, end(ctx, client)
}

// barrier lets tasks tick and wait for each other; one of them is measured.
func barrier(ctx context.Context, c *Config) (Result, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var meter *meter
	var wait sync.WaitGroup
	errs := make([]error, c.Tasks)
	for task := range c.Tasks {
		wait.Go(func() {
			errs[task] = c.barriers(ctx, task, &meter)
			if errs[task] != nil {
				stop()
			}
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return Result{}, err
	}
	return meter.result(0), nil
}

// barriers is one task. The first decides when it is enough, and the others see it in a matrix.
func (c *Config) barriers(ctx context.Context, task int, out **meter) error {
	client, err := ps.Dial(ctx, ps.Options{
		Network: c.Network, Servers: c.Servers, Job: "bench barrier", Task: task, Tasks: c.Tasks, Bound: ssp.BSP,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Create(ctx, "", matrix.Meta{Name: "over", Rows: 1, Cols: 1, DType: matrix.I64}); err != nil {
		return err
	}
	m, err := client.Matrix("over")
	if err != nil {
		return err
	}
	meter := c.begin()
	for n := 0; ; n++ {
		if task == 0 && n >= warm && n%32 == 0 && !meter.more(ctx) {
			one := matrix.Block{At: matrix.At(0, 1, 0, 1), Data: &matrix.Dense[int64]{Val: []int64{1}}}
			if err := m.Increment(one); err != nil {
				return err
			}
		}
		if n == warm {
			meter = c.begin()
		}
		begun := time.Now()
		if err := client.SyncClock(ctx); err != nil {
			return err
		}
		if err := client.Barrier(ctx); err != nil {
			return err
		}
		if n >= warm {
			meter.done(begun)
		}
		if n%32 != 0 {
			continue
		}
		over, err := m.GetRow(ctx, 0)
		if err != nil {
			return err
		}
		if over.Data.(*matrix.Dense[int64]).Val[0] > 0 {
			break
		}
	}
	if task == 0 {
		*out = meter
	}
	return client.Leave(ctx)
}
