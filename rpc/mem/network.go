// Package mem is the network inside one process: requests reach their handlers without becoming bytes, in the goroutine
// of the caller, and nothing is copied. It keeps the promises that package rpc/tcp keeps (who owns memory, the order of
// requests, when a peer is gone, what is cancelled when, the window, the errors), so that code tested over it also works
// over TCP. It makes no use of time and works in testing/synctest bubbles.
package mem

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"thole.example/rpc"
)

// DefaultWindow is how many requests of one connection are under way at most unless the network says otherwise.
const DefaultWindow = 256

// Network joins the servers and clients that share it. The zero value is ready; it may be used by many goroutines and
// must not be copied.
type Network struct {
	Window int          // requests under way on one connection; 0: DefaultWindow
	Log    *slog.Logger // told of handlers that panic; nil: slog.Default

	mu      sync.Mutex
	servers map[string]*listener
	last    int // number of the last address or connection made up
}

var _ rpc.Network = (*Network)(nil)

// Listen serves at the address, any name; the empty one is replaced by a free one. An address that is served already
// is rpc.ErrInUse. The end of ctx does not end the listener.
func (n *Network) Listen(_ context.Context, addr string, h rpc.Handler) (rpc.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for addr == "" {
		n.last++
		if free := fmt.Sprintf("mem:%d", n.last); n.servers[free] == nil {
			addr = free
		}
	}
	if n.servers[addr] != nil {
		return nil, fmt.Errorf("listen at %s: %w", addr, rpc.ErrInUse)
	}
	if n.servers == nil {
		n.servers = map[string]*listener{}
	}
	l := &listener{net: n, addr: addr, handler: h, conns: map[*conn]struct{}{}}
	n.servers[addr] = l
	return l, nil
}

// Dial connects to the server at the address; rpc.ErrUnreachable if nobody serves it.
func (n *Network) Dial(ctx context.Context, addr string) (rpc.Conn, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("server %s: %w", addr, context.Cause(ctx))
	}
	n.mu.Lock()
	l := n.servers[addr]
	n.last++
	name := fmt.Sprintf("mem:client:%d", n.last)
	n.mu.Unlock()
	if l == nil {
		return nil, fmt.Errorf("server %s: %w", addr, rpc.ErrUnreachable)
	}
	c := newConn(l, name, n.window(), n.logger())
	if !l.join(c) {
		return nil, fmt.Errorf("server %s: %w", addr, rpc.ErrUnreachable)
	}
	return c, nil
}

func (n *Network) forget(l *listener) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.servers[l.addr] == l {
		delete(n.servers, l.addr)
	}
}

func (n *Network) window() int {
	if n.Window > 0 {
		return n.Window
	}
	return DefaultWindow
}

func (n *Network) logger() *slog.Logger {
	if n.Log != nil {
		return n.Log
	}
	return slog.Default()
}
