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

// readers is how many goroutines read state at once: as many as there are processors, or fewer if what they read would take more than an
// eighth of the ledger.
func (s *Server) readers() int {
	n := runtime.GOMAXPROCS(0)
	if total := s.Ledger.Total(); total > 0 {
		n = int(max(1, min(int64(n), total/8/readerBytes)))
	}
	return n
}

// parallel calls do with each item, on as many goroutines as there are readers. After an error, which it returns, no more calls begin, and
// the context of the others is canceled.
func parallel[T any](ctx context.Context, s *Server, items iter.Seq2[T, error], do func(ctx context.Context, item T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan T)
	var running sync.WaitGroup
	for range s.readers() {
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
