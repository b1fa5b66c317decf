package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
)

// storm lets all tasks of a job push a delta of a whole dense row at once: more than the servers have memory for. It checks
// the sum.
func storm(ctx context.Context, c *Config) (Result, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	meter := c.begin()
	var mu sync.Mutex
	var wait sync.WaitGroup
	errs := make([]error, c.Tasks)
	for task := range c.Tasks {
		wait.Go(func() {
			begun := time.Now()
			if errs[task] = c.stormTask(ctx, task); errs[task] != nil {
				stop()
			}
			mu.Lock()
			defer mu.Unlock()
			meter.done(begun)
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return Result{}, err
	}
	wall := time.Since(meter.start).Seconds()
	r := meter.result(0)
	r.Bytes = float64(r.Requests) * float64(c.Cols) * 4 / 1e9 / wall
	return r, nil
}

func (c *Config) stormTask(ctx context.Context, task int) error {
	client, err := ps.Dial(ctx, ps.Options{
		Network: c.Network, Servers: c.Servers, Job: "bench storm", Task: task, Tasks: c.Tasks, Bound: c.Bound,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	meta := matrix.Meta{Name: "bench", Rows: 1, Cols: c.Cols, DType: matrix.F32}
	if err := client.Create(ctx, "", meta); err != nil {
		return err
	}
	if err := client.Push("bench", c.ones()); err != nil {
		return err
	}
	if err := client.SyncClock(ctx); err != nil {
		return err
	}
	if err := client.Barrier(ctx); err != nil {
		return err
	}
	if task == 0 {
		m, err := client.Matrix("bench")
		if err != nil {
			return err
		}
		row, err := m.GetRow(ctx, 0)
		if err != nil {
			return err
		}
		for i, v := range row.Data.(*matrix.Dense[float32]).Val {
			if v != float32(c.Tasks) {
				return fmt.Errorf("cell %d is %v after %d deltas of 1, want their sum", i, v, c.Tasks)
			}
		}
	}
	return client.Leave(ctx)
}

// ones is a delta of 1 for each column.
func (c *Config) ones() matrix.Block {
	b := matrix.Block{At: matrix.At(0, 1, 0, c.Cols)}
	val := make([]float32, c.Cols)
	for i := range val {
		val[i] = 1
	}
	if !c.ByKey {
		b.Data = &matrix.Dense[float32]{Val: val}
		return b
	}
	keys := make([]int64, c.Cols)
	for i := range keys {
		keys[i] = int64(i)
	}
	b.Data = &matrix.Cols[float32]{Idx: keys, Val: val}
	return b
}
