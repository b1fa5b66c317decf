package bench

import (
	"context"
	"sync"

	"thole.example/ps"
	"thole.example/ssp"
)

// tasks runs all tasks of a job, each with its client. The first error ends the others and is the result.
func (c *Config) tasks(ctx context.Context, run func(ctx context.Context, client *ps.Client, task int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	o := c.options()
	o.Tasks, o.Bound = c.Tasks, ssp.BSP
	if c.Async {
		o.Bound = ssp.ASP
	}
	var wait sync.WaitGroup
	for task := range c.Tasks {
		wait.Go(func() {
			own := o
			own.Task = task
			if err := c.task(ctx, own, run); err != nil {
				stop(err)
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

func (c *Config) task(ctx context.Context, o ps.Options, run func(ctx context.Context, client *ps.Client, task int) error) error {
	client, err := ps.Dial(ctx, o)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := run(ctx, client, o.Task); err != nil {
		return err
	}
	return client.Leave(ctx)
}
