package bench

import (
	"context"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
)

// often is after how many barriers the tasks look whether it is enough.
const often = 32

// barrier lets tasks tick and wait for each other; the first is measured.
func barrier(ctx context.Context, c *Config) (Result, error) {
	var r Result
	err := c.tasks(ctx, func(ctx context.Context, client *ps.Client, task int) error {
		own, err := c.barriers(ctx, client, task)
		if task == 0 {
			r = own
		}
		return err
	})
	return r, err
}

// barriers is one task. The first decides when it is enough, and the others see it in a matrix.
func (c *Config) barriers(ctx context.Context, client *ps.Client, task int) (Result, error) {
	if err := client.Create(ctx, "", matrix.Meta{Name: "over", Rows: 1, Cols: 1, DType: matrix.I64}); err != nil {
		return Result{}, err
	}
	over, err := client.Matrix("over")
	if err != nil {
		return Result{}, err
	}
	own := *c
	if task > 0 { // the first tells
		own.Progress = nil
	}
	meter := own.warmUp(warm, 1, measuring)
	for n := 0; ; n++ {
		if going := meter.more(ctx); task == 0 && !going && n%often == 0 {
			one := matrix.Block{At: matrix.At(0, 1, 0, 1), Data: &matrix.Dense[int64]{Val: []int64{1}}}
			if err := over.Increment(one); err != nil {
				return Result{}, err
			}
		}
		began := time.Now()
		if err := client.SyncClock(ctx); err != nil {
			return Result{}, err
		}
		if err := client.Barrier(ctx); err != nil {
			return Result{}, err
		}
		meter.done(began)
		if n%often != 0 {
			continue
		}
		row, err := over.GetRow(ctx, 0)
		if err != nil {
			return Result{}, err
		}
		if row.Data.(*matrix.Dense[int64]).Val[0] > 0 {
			return meter.result(0), nil
		}
	}
}
