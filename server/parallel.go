package server

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"thole.example/state"
)

// readerBytes is about how much memory a goroutine of parallel takes for what it reads.
const readerBytes = state.Ahead * (bandBytes + bandBytes/4)

// parallel calls do with each item, on as many goroutines as there are processors, or fewer if what they read would take more than an
// eighth of the ledger. After an error, which it gives back, those that run end with the context, and no more begin.
func parallel[T any](ctx context.Context, s *Server, items iter.Seq2[T, error], do func(ctx context.Context, item T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := runtime.GOMAXPROCS(0)
	if total := s.Ledger.Total(); total > 0 {
		workers = int(max(1, min(int64(workers), total/8/readerBytes)))
	}
	next := make(chan T)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for item := range next {
				if err := s.tried(func() error { return do(ctx, item) }); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for item, err := range items {
		if err != nil {
			cancel(err)
		}
		if ctx.Err() != nil {
			break
		}
		select {
		case next <- item:
		case <-ctx.Done():
		}
	}
	close(next)
	running.Wait()
	return context.Cause(ctx)
}

// tried calls the function; its panic is an error.
func (s *Server) tried(f func() error) (err error) {
	defer s.recovered(&err)
	return f()
}
