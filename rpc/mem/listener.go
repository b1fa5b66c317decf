package mem

import (
	"sync"

	"thole.example/rpc"
)

// listener is a served address.
type listener struct {
	net     *Network
	addr    string
	handler rpc.Handler

	mu      sync.Mutex
	closed  bool
	conns   map[*conn]struct{}
	serving sync.WaitGroup // calls of Serve
}

// Addr implements rpc.Listener.
func (l *listener) Addr() string { return l.addr }

// Close ends all connections. Once it returns, the handler is not called any more and the contexts of all exchanges have
// ended; those that are not answered yet still must be, though nobody hears it.
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
	l.serving.Wait()
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

// enter counts a call of Serve; false if the listener is closed.
func (l *listener) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.serving.Add(1)
	return true
}
