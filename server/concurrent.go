package server

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"thole.example/rpc"
	"thole.example/shard"
)

// concurrentCalls is how many requests for concurrent functions of a job run at once. Each has at most as many partitions
// under way as there are processors.
const concurrentCalls = 4

// calls bounds how many concurrent functions of a job run, and knows when the last has ended.
type calls struct {
	mu     sync.Mutex
	turns  chan struct{}
	users  int // who run or wait
	closed bool
	last   func()
}

// enter waits for a turn, which leave gives back.
func (c *calls) enter(ctx context.Context) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return fmt.Errorf("the job has ended: %w", rpc.ErrAborted)
	}
	if c.turns == nil {
		c.turns = make(chan struct{}, concurrentCalls)
	}
	c.users++
	c.mu.Unlock()
	select {
	case c.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		c.end()
		return context.Cause(ctx)
	}
}

func (c *calls) leave() {
	<-c.turns
	c.end()
}

func (c *calls) end() {
	c.mu.Lock()
	c.users--
	over := c.closed && c.users == 0
	c.mu.Unlock()
	if over {
		c.last()
	}
}

// close refuses further calls, and does last when there are none any more.
func (c *calls) close(last func()) {
	c.mu.Lock()
	c.closed, c.last = true, last
	over := c.users == 0
	c.mu.Unlock()
	if over {
		last()
	}
}

// concurrently runs a get function on marks of its partitions, which go on meanwhile, and tells what came of it.
func (b *beside) concurrently(visits []*visit) {
	b.left.Store(1)
	b.x.Guard(b.j.server.logger(), func() { b.finish(b.onMarks(visits)) })
}

func (b *beside) onMarks(visits []*visit) error {
	ctx, cancel := context.WithCancelCause(b.x.Context())
	defer cancel(nil)
	defer context.AfterFunc(b.j.ctx, func() { cancel(context.Cause(b.j.ctx)) })()
	if err := b.j.functions.calls.enter(ctx); err != nil || len(visits) == 0 {
		return err
	}
	defer b.j.functions.calls.leave()
	b.marked = make(chan struct{})
	b.post(visits)
	<-b.marked
	var wg sync.WaitGroup
	workers := b.j.most(min(runtime.GOMAXPROCS(0), len(visits)))
	for w := range workers {
		done := b.j.leaves()
		wg.Go(func() {
			defer done()
			for i := w; i < len(visits); i += workers {
				if err := visits[i].onMark(ctx); err != nil {
					b.err.CompareAndSwap(nil, &err)
					cancel(err) // for the others
				}
			}
		})
	}
	wg.Wait()
	return nil
}

// take marks the partition, in its mailbox.
func (v *visit) take() { v.at.deed(v.shot.take)() }

// onMark runs the function on the mark of the partition.
func (v *visit) onMark(ctx context.Context) error {
	defer v.shot.close()
	if v.shot.mark == nil {
		return v.wrong(v.at.gone())
	}
	return v.wrong(v.try(v.shot.mark.View(v.at.id, func(read func() error) error {
		return v.shot.visit(ctx, func(*shard.Mark) error { return read() })
	})))
}
