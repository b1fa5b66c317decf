package tcp

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"thole.example/rpc"
)

// turn says who reads the answers of a connection: one goroutine at a time.
//
//	a goroutine that waits for a call   reads until its call is finished, if nobody else reads. It need not be woken then, which costs
//	                                    more than reading a small answer. It leaves large answers, and those for which there is no
//	                                    room, to the connection's own goroutine.
//	the connection's own goroutine      reads when goroutines wait for other calls, or when nobody has read for a while: then the server
//	                                    sends signs of life or answers to requests that are sent in advance. When it has finished a call
//	                                    for which a goroutine waited, and there are no others, it leaves the turn to those who wait.
//
// A goroutine that has waited for long in a read is interrupted, and waits as others do: its context may end.
type turn struct {
	reads   chan struct{} // has a token of the goroutine that reads
	waiting atomic.Int32  // calls for which goroutines wait that do not read
	changes atomic.Uint64 // goes up when a call's goroutine begins to read, and when it ends: odd while it reads
	left    *head         // of an answer whose body is left to the connection's goroutine
	took    bool          // a call was finished for which a goroutine waited
	wake    chan struct{} // gets a token when the connection's goroutine is to read
	armed   atomic.Bool   // the timer runs
	timer   *time.Timer
	seen    uint64 // changes, when it rang last
}

// turnTime is after how long the connection's goroutine reads if no other one does, and takes the turn from one that waits in a read.
const turnTime = 2 * time.Millisecond

func (t *turn) begin(c *conn) {
	t.reads, t.wake = make(chan struct{}, 1), make(chan struct{}, 1)
	t.timer = time.AfterFunc(time.Hour, c.look)
	t.timer.Stop()
}

// arm has look be called in a while.
func (t *turn) arm() {
	if !t.armed.Load() && !t.armed.Swap(true) {
		t.timer.Reset(turnTime)
	}
}

// call has the connection's goroutine read.
func (t *turn) call() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// look looks whether somebody has begun or ended to read since the last time. If not the connection's goroutine reads.
func (c *conn) look() {
	t := &c.turn
	n := t.changes.Load()
	if n != t.seen {
		t.seen = n
		t.timer.Reset(turnTime)
		return
	}
	t.armed.Store(false)
	t.call()
	if n%2 == 1 {
		c.in.src.interrupt()
	}
}

// Read implements rpc.Reader.
func (c *conn) Read(call *rpc.Call) {
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
	defer c.turn.timer.Stop()
	for {
		c.turn.reads <- struct{}{}
		err := c.readOn()
		<-c.turn.reads
		if err != nil {
			c.broken(err)
			return
		}
		c.turn.arm()
		select {
		case <-c.turn.wake:
		case <-c.gone:
			return
		}
	}
}

// readOn reads until the turn is left to those who wait for calls.
func (c *conn) readOn() error {
	t := &c.turn
	for large := false; ; {
		t.took = false
		h, err := head{}, error(nil)
		if t.left != nil {
			h, t.left = *t.left, nil
		} else if h, err = c.head(); err != nil {
			return err
		}
		if h.kind == kindAlive {
			continue
		}
		if err := c.answer(h); err != nil {
			return err
		}
		large = h.size > firstStep
		if t.took && !large && t.waiting.Load() == 0 && c.in.br.Buffered() == 0 {
			return nil
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
