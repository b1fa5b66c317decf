package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
)

// errStop ends a run without being an error.
var errStop = errors.New("stop")

// Read parses the input and yields batches of Options.BatchRows examples (the last may be shorter), then ends; or it
// yields one error, an *Error where the input is at fault, and ends. Memory is bounded by a few chunks of about 1 MiB
// for each processor, or of the longest line, and the batch. Batches belong to the caller. Where Options.Dim is not
// given, the columns of a batch reach as far as its own highest index.
func Read(ctx context.Context, in Input, opt Options) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		switch { // labels are mapped before the last one is seen
		case opt.Classes != nil:
		case opt.Labels == AutoTrans:
			opt.Classes = Standard()
		case opt.Labels == ClassTrans:
			yield(nil, fmt.Errorf("data: label mapping classes without Options.Classes, want them all: %w", ErrOption))
			return
		}
		s, err := opt.settings(in.Name)
		if err != nil {
			yield(nil, err)
			return
		}
		b := batcher{s: s, rows: newRows(0, 0, s.fielded())}
		emit := func(b *Batch) bool { return yield(b, nil) }
		r := reader{step: chunkLen, limit: LineLimit}
		err = r.run(ctx, in, s, func(c *chunk) error { return b.take(c, emit) })
		if err == nil && len(b.rows.label) > 0 {
			err = b.flush(emit)
		}
		if err != nil && err != errStop {
			yield(nil, err)
		}
	}
}

// batcher cuts the rows of chunks into batches.
type batcher struct {
	s     *settings
	rows  rows
	first int64 // number of the first of rows
}

func (b *batcher) take(c *chunk, emit func(*Batch) bool) error {
	b.s.Classes.mapLabels(c.rows.label, b.s.Labels)
	for lo := 0; lo < len(c.label); {
		hi := min(len(c.label), lo+b.s.BatchRows-len(b.rows.label))
		b.rows.add(&c.rows, lo, hi)
		lo = hi
		if len(b.rows.label) == b.s.BatchRows {
			if err := b.flush(emit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *batcher) flush(emit func(*Batch) bool) error {
	out, dim := b.rows, b.s.Dim
	if dim == 0 {
		dim = out.dim()
	}
	n := int64(len(out.label))
	b.rows = newRows(len(out.label), len(out.idx), b.s.fielded())
	b.first += n
	if !emit(out.batch(b.first-n, dim, b.s.Fields.count(&out))) {
		return errStop
	}
	return nil
}

// reader reads one input after the other.
type reader struct {
	step, limit int // of a chunk, and of a line, in bytes
	join        joiner
}

// run parses the input's chunks on all processors and gives them to use in order, in the caller's goroutine. When it
// returns, its goroutines have ended; but after an error, or the end of ctx, not before a stream that they read from gives
// something or ends.
func (r *reader) run(ctx context.Context, in Input, s *settings, use func(*chunk) error) error {
	if in.Size < 0 {
		return &Error{in.Name, 0, fmt.Errorf("size %d, want 0 or more", in.Size)}
	}
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wait := in.Stream == nil // nobody knows when a stream goes on
	defer func() {
		if stop(); wait {
			wg.Wait()
		}
	}()
	parsers := runtime.GOMAXPROCS(0)
	if in.Stream == nil {
		parsers = int(min(int64(parsers), 1+in.Size/int64(r.step)))
	}
	n := 2*parsers + 1
	free, work, order := make(chan *chunk, n), make(chan *chunk, n), make(chan *chunk, n)
	for range n {
		free <- &chunk{done: make(chan struct{}, 1)}
	}
	wg.Go(func() {
		f := feeder{in: in, limit: r.limit, step: r.step}
		f.feed(ctx, free, work, order)
	})
	for range parsers {
		wg.Go(func() {
			for c := range work {
				if ctx.Err() == nil {
					c.parse(s)
				}
				c.done <- struct{}{}
			}
		})
	}
	r.join.begin(in.Name, s)
	for {
		var c *chunk
		select {
		case c = <-order:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if c == nil {
			wait = true
			return context.Cause(ctx)
		}
		<-c.done
		if err := r.join.join(c); err != nil {
			return err
		}
		if err := use(c); err != nil {
			return err
		}
		if s.Progress != nil {
			s.Progress(c.end, in.Size)
		}
		free <- c
	}
}
