package mem

import (
	"context"
	"sync"

	"thole.example/rpc"
)

// listener is a served address.
type listener struct {
	net     *Network
	addr    string
	handler rpc.Handler
	base    context.Context // of every handler call

	mu     sync.Mutex
	closed bool
	conns  map[*conn]struct{}
	calls  sync.WaitGroup // handlers at work
}

// Addr implements rpc.Listener.
func (l *listener) Addr() string { return l.addr }

// Close ends all connections and waits for the handlers.
func (l *listener) Close() error {
	l.net.forget(l)
	l.mu.Lock()
	l.closed = true
	conns := l.conns
	l.conns = nil
	l.mu.Unlock()
	for c := range conns {
		c.end(rpc.ErrLost)
	}
	l.calls.Wait()
	return nil
}

// join counts the connection; false if the listener is closed.
func (l *listener) join(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

func (l *listener) leave(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// enter counts a handler call; false if the listener is closed.
func (l *listener) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.calls.Add(1)
	return true
}
