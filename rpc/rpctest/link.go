package rpctest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"thole.example/rpc"
)

// link is a connection of a Faulty network, seen from the client.
type link struct {
	net   *Faulty
	addr  string
	inner rpc.Conn
	slot  chan struct{} // one token for each request under way
	queue chan *passage // on their way to the server, in order
	gone  chan struct{} // closed when the client has lost it
	work  sync.WaitGroup
	order sync.Mutex // of Start

	mu    sync.Mutex
	rnd   *rand.Rand
	err   error // why the client has lost it
	under map[*passage]struct{}
	thaw  time.Time // nothing passes before
	// The server stands still, and will only see later that the connection has ended.
	frozen bool
}

// passage is a request and its answer on their way.
type passage struct {
	q      *rpc.Request // the client's: it may change once the call has ended
	memory *rpc.Buffer  // of q
	call   *rpc.Call
	fate   Fate
	due    time.Time // when it arrives
	ctx    context.Context
	giveUp context.CancelFunc
}

// Close ends the connection.
func (l *link) Close() error {
	l.lose(rpc.ErrClosed, "")
	l.mu.Lock()
	frozen := l.frozen
	l.mu.Unlock()
	if !frozen {
		_ = l.inner.Close()
	}
	l.work.Wait()
	return nil
}

// lose ends the client's side: all calls fail.
func (l *link) lose(kind error, why string) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.err = fmt.Errorf("server %s: %w%s", l.addr, kind, why)
	under := l.under
	l.under = nil
	close(l.gone)
	l.mu.Unlock()
	for p := range under {
		p.call.Finish(nil, l.err)
	}
}

// cut ends both sides.
func (l *link) cut(why string) {
	l.lose(rpc.ErrLost, why)
	_ = l.inner.Close()
}

// Start implements rpc.Conn.
func (l *link) Start(ctx context.Context, q *rpc.Request) *rpc.Call {
	l.order.Lock()
	defer l.order.Unlock()
	p, err := l.start(ctx, q)
	if err != nil {
		call := rpc.NewCall(0, nil)
		call.Finish(nil, err)
		return call
	}
	l.queue <- p
	return p.call
}

func (l *link) start(ctx context.Context, q *rpc.Request) (*passage, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("server %s: %w", l.addr, context.Cause(ctx))
	}
	select {
	case <-l.gone:
		return nil, l.err
	case <-ctx.Done():
		return nil, fmt.Errorf("server %s: %w", l.addr, context.Cause(ctx))
	case l.slot <- struct{}{}:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	p := &passage{q: q, fate: l.net.fate(q, l.rnd), due: time.Now().Add(upTo(l.rnd, l.net.Delay))}
	p.ctx, p.giveUp = context.WithCancel(context.Background())
	p.call = rpc.NewCall(0, func(uint64) { p.giveUp() })
	l.under[p] = struct{}{}
	p.memory = q.Memory.Retain()
	return p, nil
}

// carry takes the requests to the server, one after the other.
func (l *link) carry() {
	for {
		select {
		case p := <-l.queue:
			l.deliver(p)
			p.memory.Release()
		case <-l.gone:
			for {
				select {
				case p := <-l.queue:
					p.memory.Release()
				default:
					return
				}
			}
		}
	}
}

// until waits for the time; false if the client has lost the connection before.
func (l *link) until(due time.Time) bool {
	l.mu.Lock()
	if l.thaw.After(due) {
		due = l.thaw
	}
	l.mu.Unlock()
	if wait := time.Until(due); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.gone:
		}
	}
	select {
	case <-l.gone:
		return false
	default:
		return true
	}
}

// later is a time within d from now.
func (l *link) later(d time.Duration) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Add(upTo(l.rnd, d))
}

// deliver lets a request meet its fate.
func (l *link) deliver(p *passage) {
	if !l.until(p.due) {
		return
	}
	switch p.fate {
	case CutBefore:
		l.cut(" before the request arrived")
		return
	case DropRequest:
		l.until(l.later(l.net.Notice))
		l.cut(": a request was lost on the way")
		return
	case FreezeServer, FreezeClient:
		if !l.freeze(p) {
			return
		}
	}
	inner := l.inner.Start(context.Background(), p.q)
	switch p.fate {
	case CutAfter:
		l.cut(" before the answer came")
	case RepeatRequest:
		l.cut(": a request came twice")
	}
	l.work.Go(func() { l.answer(p, inner) })
}

// freeze lets one side stand still; false if the connection is lost by it.
func (l *link) freeze(p *passage) bool {
	now := time.Now()
	thaw := l.later(2 * l.net.Timeout)
	l.mu.Lock()
	l.thaw = thaw
	l.mu.Unlock()
	limit := now.Add(l.net.Timeout)
	if thaw.Before(limit) {
		return l.until(thaw)
	}
	if p.fate == FreezeClient {
		timer := time.AfterFunc(l.net.Timeout, func() { _ = l.inner.Close() })
		defer timer.Stop()
		l.until(thaw)
		l.cut(": the server has not heard of this side for long")
		return false
	}
	// The client gives up. What it has sent arrives all the same, when it may be back on another connection.
	l.mu.Lock()
	l.thaw, l.frozen = limit, true
	l.mu.Unlock()
	if l.until(limit) {
		l.lose(rpc.ErrLost, fmt.Sprintf(": nothing heard for %v", l.net.Timeout))
	}
	p.memory.Retain()
	l.net.late.Go(func() { l.late(p, thaw) })
	return false
}

// late is the arrival of a request that was in a server's buffers while the server stood still. Close does not wait for it.
func (l *link) late(p *passage, thaw time.Time) {
	defer p.memory.Release()
	time.Sleep(time.Until(thaw))
	call := l.inner.Start(context.Background(), p.q)
	_ = l.inner.Close()
	if r, err := call.Wait(context.Background()); err == nil {
		r.Release()
	}
}

// answer takes the answer back to the client.
func (l *link) answer(p *passage, inner *rpc.Call) {
	r, err := inner.Wait(p.ctx)
	if err != nil && p.ctx.Err() != nil { // given up; the answer counts all the same
		r, err = inner.Wait(context.Background())
	}
	defer p.giveUp()
	fault := (*rpc.Fault)(nil)
	switch {
	case errors.Is(err, rpc.ErrClosed) && !errors.As(err, &fault): // by the server, which has not heard of this side for long
		l.until(time.Now())
		l.cut(" before the answer came")
		return
	case p.fate == DropAnswer:
		r.Release()
		l.until(l.later(l.net.Notice))
		l.cut(": an answer was lost on the way")
		return
	case !l.until(l.later(l.net.Delay)):
		r.Release()
		return
	}
	l.mu.Lock()
	_, waiting := l.under[p]
	delete(l.under, p)
	l.mu.Unlock()
	if !waiting {
		r.Release()
		return
	}
	<-l.slot
	p.call.Finish(r, err)
	if p.fate == RepeatAnswer {
		l.cut(": an answer came twice")
	}
}
