package rpc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"thole.example/access"
	"thole.example/budget"
)

// Exchange is a request that a server has got, and its answer. Its methods may be called by many goroutines.
//
// The slices of the request stay as they are until it is answered. Whoever needs what is pushed for longer retains its
// Memory before the answer; the exchange itself releases it after. An answer that holds slices of the request retains it
// too: Response.Memory = x.Memory.Retain().
type Exchange struct {
	*Request
	From *Peer
	ID   uint64 // number of the request on its connection, where the network has numbers
	// Began is when the network had read the request, since any start of its own.
	Began time.Duration
	// InFlight is what counts in accounts until the answer is written. It is the network's.
	InFlight access.InFlight

	send     func(*Exchange, *Response, error)
	answered atomic.Bool
	room     budget.Charge  // for the answer
	reserved int64          // its size
	queue    *budget.Credit // where what it takes beyond that is counted
	checked  Checker        // nil: it is answered as it is
	beside   budget.Charge  // of what the handler has made of the request

	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelCauseFunc
	ended  error
}

// NewExchange is an exchange whose answer is given to send, once. One retention of q.Memory is the exchange's. Only
// networks make exchanges.
func NewExchange(q *Request, from *Peer, send func(*Exchange, *Response, error)) *Exchange {
	return &Exchange{Request: q, From: from, send: send}
}

// Reserve gives the exchange room for an answer of n bytes, [Taken] of which was charged, and where to count what it takes beyond that.
// Networks call it, before anybody else has the exchange.
func (x *Exchange) Reserve(room budget.Charge, n int64, queue *budget.Credit) {
	x.room, x.queue, x.reserved = room, queue, n
}

// Reserved is how many bytes were taken for the answer before Serve was called.
func (x *Exchange) Reserved() int64 { return x.reserved }

// Buffer is memory for n bytes of the answer's values, retained once, to be the Memory of the response. It is counted in
// what the network has taken for the answer (see [Sizer]), and beyond that all the same. It does not wait, and may be
// called once, before the answer.
func (x *Exchange) Buffer(n int) *Buffer {
	switch size := int64(n); { // networks that take room release what they have sent
	case x.reserved > 0 && x.reserved == size: // the ledger need not be asked, which all share
		room := x.room
		x.room = budget.Charge{}
		return MappedBuffer(n, room)
	case x.reserved >= size:
		return MappedBuffer(n, x.room.Split(Taken(n)))
	case x.queue != nil:
		x.room.Release()
		return MappedBuffer(n, x.queue.Force(Taken(n)))
	}
	return NewBuffer(n, budget.Charge{})
}

// More is Buffer for values whose size is known only when they are read: n bytes, counted with beside others that the answer
// takes. Several may be asked for at once, after Buffer, if that is called; see [Buffer.Hold].
func (x *Exchange) More(n, beside int) *Buffer {
	size := Taken(n) + int64(beside)
	room := x.room.Split(size)
	switch {
	case room.Bytes() > 0:
		room.Resize(size)
		return MappedBuffer(n, room)
	case x.queue != nil:
		return MappedBuffer(n, x.queue.Force(size))
	}
	return NewBuffer(n, budget.Charge{})
}

// Answer sends the response, which is the network's from then on, with its Memory; nil is an empty one. Only the first
// answer counts; others are dropped.
func (x *Exchange) Answer(r *Response) {
	if r == nil {
		r = &Response{}
	}
	x.finish(r, nil)
}

// Fail answers with an error; the caller gets it as a *Fault.
func (x *Exchange) Fail(err error) { x.finish(nil, err) }

func (x *Exchange) finish(r *Response, err error) {
	if x.answered.Swap(true) {
		r.Release()
		return
	}
	x.Cancel(nil)
	if x.checked != nil {
		if why := x.checked.Check(); why != nil {
			r.Release()
			r, err = nil, why
		}
	}
	memory := x.Memory
	x.room.Release()
	x.send(x, r, err)
	memory.Release()
	x.beside.Release()
}

// Hold has the charge be released after the answer. The handler calls it once, before anybody else has the exchange.
func (x *Exchange) Hold(beside budget.Charge) { x.beside = beside }

// Checker says whether a server may answer.
type Checker interface {
	// Check is why it may not, nil if it may. It must not block, and may be called by many goroutines.
	Check() error
}

// Checked has the exchange answered only as long as c allows that; if not, its error is the answer in place of any other. The handler
// calls it before anybody else has the exchange.
func (x *Exchange) Checked(c Checker) { x.checked = c }

// Answered reports whether the exchange was answered.
func (x *Exchange) Answered() bool { return x.answered.Load() }

// Context ends when nobody waits for the answer any more: the caller gave it up (the cause is ErrAborted), or the
// connection ended (ErrClosed or ErrLost); and after the answer.
func (x *Exchange) Context() context.Context {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ctx == nil {
		x.ctx, x.cancel = context.WithCancelCause(context.Background())
		if x.ended != nil {
			x.cancel(x.ended)
		}
	}
	return x.ctx
}

// Cancel ends the context. Networks call it.
func (x *Exchange) Cancel(why error) {
	if why == nil {
		why = context.Canceled
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended != nil {
		return
	}
	x.ended = why
	if x.cancel != nil {
		x.cancel(why)
	}
}

// Guard runs a part of a handler's work: a panic is logged with its stack and answered as ErrInternal.
func (x *Exchange) Guard(log *slog.Logger, work func()) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("rpc: handler panicked", "op", x.Op.String(), "from", x.From.Name, "panic", p, "stack", string(debug.Stack()))
			x.Fail(fmt.Errorf("%w: %v", ErrInternal, p))
		}
	}()
	work()
}

// Serve gives the exchange to the handler, for networks.
func Serve(h Handler, x *Exchange, log *slog.Logger) { x.Guard(log, func() { h.Serve(x) }) }
