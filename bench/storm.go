package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
)

// storm lets all tasks of a job push a delta of a whole dense row at once, and checks the sum.
func storm(ctx context.Context, c *Config) (Result, error) {
	c.tell(Phase{Name: fmt.Sprintf("%d tasks push", c.Tasks)})
	meter := c.begin()
	var mu sync.Mutex // of meter
	err := c.tasks(ctx, func(ctx context.Context, client *ps.Client, task int) error {
		began := time.Now()
		if err := c.stormTask(ctx, client, task); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		meter.done(began)
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	return meter.dense(), nil
}

func (c *Config) stormTask(ctx context.Context, client *ps.Client, task int) error {
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
	if err := client.Barrier(ctx); err != nil || task > 0 {
		return err
	}
	c.tell(Phase{Name: "checking the sum"})
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
	return nil
}

// ones is a delta of 1 for each column.
func (c *Config) ones() matrix.Block {
	b := matrix.Block{At: matrix.At(0, 1, 0, c.Cols)}
	values := make([]float32, c.Cols)
	for i := range values {
		values[i] = 1
	}
	if !c.ByKey {
		b.Data = &matrix.Dense[float32]{Val: values}
		return b
	}
	keys := make([]int64, c.Cols)
	for i := range keys {
		keys[i] = int64(i)
	}
	b.Data = &matrix.Cols[float32]{Idx: keys, Val: values}
	return b
}
