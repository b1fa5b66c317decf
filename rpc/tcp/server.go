package tcp

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"thole.example/budget"
	"thole.example/rpc"
)

// listener is a served address.
type listener struct {
	Network
	nl      net.Listener
	addr    string
	handler rpc.Handler
	base    context.Context // of every connection
	share   int64           // of answers that one connection may have queued before it is read on
	done    chan struct{}
	work    sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
	unknown  []*session // that have not greeted, the oldest first
	told     quota      // of what is said of strangers in the log
	ended    past       // of the sessions that are over
	refusals refusals
	start    time.Time
	clients  atomic.Uint64 // met so far, to name those without an address
}

func serve(ctx context.Context, n Network, nl net.Listener, addr string, h rpc.Handler) *listener {
	l := &listener{Network: n, nl: nl, addr: addr, handler: h, base: ctx, share: n.Ledger.Most(budget.Queues) / 8,
		done: make(chan struct{}), sessions: map[*session]struct{}{}, start: time.Now()}
	l.work.Go(l.accept)
	return l
}

// Addr implements rpc.Listener.
func (l *listener) Addr() string { return l.addr }

// Close stops accepting and ends all connections. Once it returns, the handler is not called any more and the contexts of
// all exchanges have ended; those that are not answered yet still must be, though nobody hears it.
func (l *listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		l.work.Wait()
		return nil
	}
	l.closed = true
	close(l.done)
	sessions := l.list()
	l.mu.Unlock()
	err := l.nl.Close()
	var ending sync.WaitGroup
	for _, s := range sessions {
		ending.Go(func() { s.end(rpc.ErrClosed) })
	}
	ending.Wait()
	l.work.Wait()
	return err
}

// clientAddr is where a client is. Those of Unix sockets have no address and get a number.
func (l *listener) clientAddr(nc net.Conn) string {
	if addr := nc.RemoteAddr(); addr.Network() != "unix" {
		return addr.String()
	}
	return l.addr + "#" + strconv.FormatUint(l.clients.Add(1), 10)
}

// now is the time for what is measured.
func (l *listener) now() time.Duration { return time.Since(l.start) }

// list is the open sessions.
func (l *listener) list() []*session {
	all := make([]*session, 0, len(l.sessions))
	for s := range l.sessions {
		all = append(all, s)
	}
	return all
}

// accept takes connections until the listener is closed. Errors that pass, such as too many open files, are waited
// out.
func (l *listener) accept() {
	pause := time.Millisecond
	for {
		nc, err := l.nl.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			l.Log.Warn("rpc: accept", "at", l.addr, "err", err)
			select {
			case <-l.done:
				return
			case <-time.After(pause):
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = time.Millisecond
		tuneLocal(nc)
		s := newSession(l, nc)
		if !l.join(s) {
			_ = nc.Close()
			return
		}
	}
}

// join counts the session and runs it; false if the listener is closed.
func (l *listener) join(s *session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.sessions[s] = struct{}{}
	l.ended.accepted++
	l.crowd(s)
	l.work.Go(func() {
		s.run()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.sessions, s)
		l.forget(s)
		l.ended.add(s)
	})
	return true
}
