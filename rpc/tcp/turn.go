package tcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"thole.example/rpc"
)

// turn says who reads the answers of a connection: one goroutine at a time.
//
//	a goroutine that waits for a call   reads until its call is finished, if nobody else reads. It need not be woken then, which costs
//	                                    more than reading a small answer, and what it has read is in its processor's cache when it
//	                                    copies the values. It leaves answers that are larger than any before, those of more than a MiB
//	                                    and those for which there is no room to the connection's own goroutine.
//	the connection's own goroutine      reads when goroutines wait for other calls, or when nobody has read for a while: then the server
//	                                    sends signs of life or answers to requests that are sent in advance. When it has finished a call
//	                                    for which a goroutine waited, or read a large answer, and no goroutine waits, it leaves the turn to
//	                                    those that will wait; it looks again soon after a large answer, as more of them may come.
//
// A goroutine that waits in a read is interrupted when its context ends, and after a while, as it may have an alarm; then it waits as
// others do. If it has read a part of an answer the connection's goroutine reads the rest.
type turn struct {
	reads   chan struct{} // has a token of the goroutine that reads
	waiting atomic.Int32  // calls for which goroutines wait that do not read
	changes atomic.Uint64 // goes up when a call's goroutine begins to read, and when it ends: odd while it reads
	left    *head         // of an answer whose body, or the rest of it, is left to the connection's goroutine
	took    bool          // a call was finished for which a goroutine waited
	wake    chan struct{} // gets a token when the connection's goroutine is to read
	done    <-chan struct{}
	unheed  func() bool // done is of the context that interrupts reads, until unheed is called; it belongs to the goroutine that reads

	armed  atomic.Bool // the timer runs
	hurry  atomic.Bool // it runs for turnTime
	timing sync.Mutex  // guards changes of both, and the timer
	timer  *time.Timer
	seen   uint64    // changes, when it rang last
	since  time.Time // it has rung without seeing more
}

const (
	// turnTime is after how long the connection's goroutine reads if no other one does while large answers may come.
	turnTime = 2 * time.Millisecond
	// longTurn is the same while none may, and how long a goroutine reads before it is interrupted. A timer that is due sooner than the
	// system's next tick costs each wait for bytes 3 µs.
	longTurn = 50 * time.Millisecond
)

func (t *turn) begin(c *conn) {
	t.reads, t.wake = make(chan struct{}, 1), make(chan struct{}, 1)
	t.timer = time.AfterFunc(time.Hour, c.look)
	t.timer.Stop()
}

// arm has look be called in a while.
func (t *turn) arm() {
	if t.armed.Load() {
		return
	}
	t.timing.Lock()
	defer t.timing.Unlock()
	if !t.armed.Swap(true) {
		t.timer.Reset(longTurn)
	}
}

// expectLarge has look be called soon, as a large answer may come.
func (t *turn) expectLarge() {
	if t.hurry.Load() {
		return
	}
	t.timing.Lock()
	defer t.timing.Unlock()
	if !t.hurry.Swap(true) {
		t.armed.Store(true)
		t.timer.Reset(turnTime)
	}
}

// mayBeLarge reports whether the answer to a request may be too large for a goroutine that waits to read it itself.
func mayBeLarge(q *rpc.Request) bool {
	if q.Op != rpc.OpPull && q.Op != rpc.OpPush {
		return true
	}
	cells := int64(0)
	for i := range q.Parts {
		p := &q.Parts[i]
		switch {
		case p.Values != nil:
			continue
		case p.Kind == rpc.KindKeys:
			cells += p.Rows.Len() * int64(len(p.Keys))
		case p.Kind == rpc.KindDense:
			cells += p.Rows.Len() * p.Cols.Len()
		default:
			return true
		}
		if p.Rows.Len() > firstStep || p.Cols.Len() > firstStep && p.Kind == rpc.KindDense || cells > firstStep/8 {
			return true
		}
	}
	return false
}

// call has the connection's goroutine read.
func (t *turn) call() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// look looks whether a goroutine has begun or ended to read since the last time. If not the connection's goroutine reads; a goroutine that
// reads is interrupted after longTurn.
func (c *conn) look() {
	t := &c.turn
	t.timing.Lock()
	defer t.timing.Unlock()
	next := longTurn
	if t.hurry.Swap(false) {
		next = turnTime
	}
	n := t.changes.Load()
	if n != t.seen {
		t.seen, t.since = n, time.Now()
		t.timer.Reset(next)
		return
	}
	if left := longTurn - time.Since(t.since); n%2 == 1 && left > 0 {
		t.timer.Reset(left)
		return
	}
	t.armed.Store(false)
	t.call()
	if n%2 == 1 {
		c.in.src.interrupt()
	}
}

// heed has reads be interrupted when the context ends. The caller is the goroutine that reads. Mostly it is the context of the last read.
func (c *conn) heed(ctx context.Context) {
	t, done := &c.turn, ctx.Done()
	if done == t.done {
		return
	}
	c.unheed()
	select {
	case <-c.gone:
		return
	default:
	}
	if t.done = done; done != nil {
		t.unheed = context.AfterFunc(ctx, c.in.src.interrupt)
	}
}

// unheed ends what heed does.
func (c *conn) unheed() {
	if t := &c.turn; t.done != nil {
		t.unheed()
		t.done, t.unheed = nil, nil
	}
}

// Read implements rpc.Reader.
func (c *conn) Read(ctx context.Context, call *rpc.Call) {
	t := &c.turn
	call.Waited(true)
	t.waiting.Add(1) // before it tries to read, so that who reads sees it or leaves the turn to it
	select {
	case t.reads <- struct{}{}:
	default:
		return
	}
	c.StopWaiting(call)
	t.changes.Add(1)
	t.arm()
	c.heed(ctx)
	err := c.readFor(call)
	t.changes.Add(1)
	yield := err == errInterrupted
	if yield && call.Waited(true) {
		t.waiting.Add(1)
	}
	<-t.reads
	switch {
	case err != nil && !yield:
		c.broken(err)
	case t.waiting.Load() > 0:
		t.call()
	}
}

// StopWaiting implements rpc.Reader.
func (c *conn) StopWaiting(call *rpc.Call) {
	if call.Waited(false) {
		c.turn.waiting.Add(-1)
	}
}

// readFor reads until the call is finished.
func (c *conn) readFor(call *rpc.Call) error {
	t := &c.turn
	c.in.yields = true
	defer func() { c.in.yields = false }()
	for !call.Ready() {
		if t.left != nil {
			return errInterrupted
		}
		if err := c.in.await(); err != nil {
			return err
		}
		h, err := c.head()
		if err != nil {
			return err
		}
		if h.kind == kindAlive {
			continue
		}
		if err = c.answer(h); err == errInterrupted {
			t.left = &h
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// await waits until there are bytes, or the reader is interrupted.
func (r *reader) await() error {
	r.src.yields = true
	_, err := r.br.Peek(1)
	r.src.yields = false
	return err
}

// finish ends a call.
func (c *conn) finish(call *rpc.Call, r *rpc.Response, err error) {
	if call.Waited(false) {
		c.turn.waiting.Add(-1)
		c.turn.took = true
	}
	call.Finish(r, err)
}

// read is the connection's goroutine.
func (c *conn) read() {
	defer c.readOver()
	for {
		c.turn.reads <- struct{}{}
		large, err := c.readOn()
		<-c.turn.reads
		switch {
		case err != nil:
			c.broken(err)
			return
		case c.turn.waiting.Load() > 0: // its goroutine found this one reading
			continue
		case large:
			c.turn.expectLarge()
		default:
			c.turn.arm()
		}
		select {
		case <-c.turn.wake:
		case <-c.gone:
			return
		}
	}
}

// readOver is the end of the connection's goroutine, when the connection is gone.
func (c *conn) readOver() {
	c.turn.timer.Stop()
	c.turn.reads <- struct{}{} // who reads ends soon
	c.unheed()
	c.in.forget()
	<-c.turn.reads
}

// readOn reads until the turn is left to those who wait for calls. large says that it read a large answer last.
func (c *conn) readOn() (large bool, err error) {
	t := &c.turn
	for {
		t.took = false
		var h head
		if t.left != nil {
			h, t.left = *t.left, nil
		} else if h, err = c.head(); err != nil {
			return false, err
		}
		if h.kind == kindAlive {
			continue
		}
		if err := c.answer(h); err != nil {
			return false, err
		}
		large = h.size > firstStep
		if (t.took || large) && t.waiting.Load() == 0 && c.in.br.Buffered() == 0 {
			return large, nil
		}
	}
}

// broken ends the connection after an error of its reader.
func (c *conn) broken(err error) {
	if errors.Is(err, io.EOF) {
		err = errors.New("the server closed it")
	}
	c.fail(fmt.Errorf("server %s: %w: %w", c.addr, rpc.ErrLost, err))
}
