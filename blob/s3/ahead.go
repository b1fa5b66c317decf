package s3

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"
)

// block is a piece of an object that is read ahead: data and err are set when done is closed.
type block struct {
	done chan struct{}
	data []byte
	err  error
}

// streams is of how many readers of one object it is known how far they are.
const streams = 16

// sequential notes a read, and reports whether it goes on where another one ended.
func (o *object) sequential(off, end int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := slices.IndexFunc(o.ends, func(e int64) bool { return off >= e-headSize && off <= e+headSize })
	if at >= 0 {
		o.ends[at] = end
		return true
	}
	if len(o.ends) == streams {
		o.ends = o.ends[1:]
	}
	o.ends = append(o.ends, end)
	return false
}

// block gives the block of that number, which is being read or was, and begins to read those behind it. It is nil if there is no
// memory for it.
func (o *object) block(i int64) *block {
	o.mu.Lock()
	defer o.mu.Unlock()
	for n := range o.blocks {
		if n < i-1 && len(o.blocks) > o.bucket.opts.Concurrency { // whoever reads in order is past it
			o.drop(n)
		}
	}
	blk := o.start(i)
	for n := range int64(o.bucket.opts.Concurrency) {
		if blk == nil || (i+n+1)*blockSize >= o.size || o.start(i+n+1) == nil {
			break
		}
	}
	return blk
}

// start begins to read a block, unless that has been done.
func (o *object) start(i int64) *block {
	if blk := o.blocks[i]; blk != nil {
		return blk
	}
	select {
	case o.bucket.blocks <- struct{}{}:
	default:
		return nil
	}
	blk := &block{done: make(chan struct{}), data: make([]byte, min(blockSize, o.size-i*blockSize))}
	o.blocks[i] = blk
	go func() {
		defer close(blk.done)
		_, blk.err = o.fetch(o.ctx, blk.data, i*blockSize)
	}()
	return blk
}

// drop forgets a block. Whoever waits for it still gets it.
func (o *object) drop(i int64) {
	if o.blocks[i] != nil {
		delete(o.blocks, i)
		<-o.bucket.blocks
	}
}

// each calls do for 0 to n-1, at most limit at once, until one fails; all have returned when it does.
func each(ctx context.Context, limit, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	turn := make(chan struct{}, limit)
	for i := range n {
		turn <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-turn }()
			if err := do(ctx, i); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// pause waits before another attempt, longer each time.
func (b *Bucket) pause(ctx context.Context, attempt int) error {
	longest := min(b.opts.Backoff, 50*time.Millisecond<<min(attempt, 10))
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Duration(rand.Int64N(int64(longest) + 1))):
		return nil
	}
}

// cut reports that a connection broke in the middle.
func cut(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
