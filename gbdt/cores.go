package gbdt

import (
	"context"
	"sync"
	"sync/atomic"
)

// each calls f for 0 to n-1, on so many goroutines, each of which has a number; it ends with the first error.
func each(ctx context.Context, cores, n int, f func(worker, i int) error) error {
	if cores = min(cores, n); cores <= 1 {
		for i := range n {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f(0, i); err != nil {
				return err
			}
		}
		return nil
	}
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, cores)
	work := func(w int) {
		for errs[w] == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if errs[w] = ctx.Err(); errs[w] == nil {
				errs[w] = f(w, i)
			}
			if errs[w] != nil {
				next.Store(int64(n))
			}
		}
	}
	for w := 1; w < cores; w++ {
		group.Go(func() { work(w) })
	}
	work(0)
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// worth is how many goroutines so many steps of a nanosecond or two are worth: below some ten microseconds each waking them takes longer.
func worth(cores, steps int) int { return min(cores, 1+steps>>14) }

// spans is how many blocks the rows have.
func spans(rows int) int { return (rows + blockRows - 1) / blockRows }
