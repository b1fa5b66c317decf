// Package tcp is the network between processes: frames over TCP, or over Unix sockets within one machine. The bytes are
// described in docs/format/wire.md.
//
// Many requests are under way on one connection and are answered in any order. What a peer may cost is bounded: the
// size of a frame, the requests under way on a connection (the window), and everything that is read or queued by the
// ledger, which counts bytes as they come. While there is no room the connection is not read, and so the sender on the
// other side waits; nothing fails.
//
// Both ends show signs of life, whether or not there is anything else to say. Silence ends a connection; an end that does
// not read because it has no room is not silent. Frames are numbered and have checksums, so that one that was lost,
// repeated or changed on the way ends the connection too, and its calls fail with rpc.ErrLost.
//
// Connections may be encrypted, with certificates of both sides (TLS 1.3), and servers may ask who comes (package access). Who
// has not greeted and proven a token is a stranger: he is told nothing but what the protocol is, has a few hundred bytes of
// memory beside what the system and TLS need, and a deadline, and there are no more of them at once than a bound.
package tcp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"thole.example/access"
	"thole.example/budget"
	"thole.example/rpc"
)

// What a Network uses where its fields are zero.
const (
	DefaultFrameLimit = 1 << 30
	DefaultWindow     = 256
	DefaultPingEvery  = 2 * time.Second
	DefaultTimeout    = 10 * time.Second
	DefaultStrangers  = 4096
)

// Network connects processes. The zero value is ready; fields must not change once it is used. Addresses are
// "host:port", with port 0 for a free one, or "unix:" and a path.
type Network struct {
	Name       string        // this side's name, told to the other; at most 256 bytes
	FrameLimit uint32        // the largest body of a frame that this side accepts, in bytes
	Window     int           // requests under way on one connection; the smaller one of both sides counts
	PingEvery  time.Duration // how often this side shows that it lives
	Timeout    time.Duration // after how long without a byte a connection ends
	NoChecksum bool          // bodies that this side sends have no checksum
	// Ledger counts what is read (budget.Small and Frames) and answers that wait to be written (budget.Queues); nil: no bound.
	Ledger *budget.Ledger
	// ServerTLS and ClientTLS encrypt the connections that come and those that are made, with version 1.3; nil: they are not
	// encrypted. A client takes the server's name from the address if ClientTLS has none.
	ServerTLS, ClientTLS *tls.Config
	Tokens               *access.Table  // whoever comes must prove one of them; nil: nobody must
	Secret               *access.Secret // of the token that this side proves to servers that want one; nil: it has none
	// Strangers is how many connections that come may be without their greeting and proof at once; when there is one more the
	// oldest of them is closed. All tasks of a job may connect at the same moment; a stranger costs 6 KB, and 13 KB with TLS.
	Strangers int

	Log *slog.Logger // told of panics and of peers that break the protocol; nil: slog.Default
}

var _ rpc.Network = Network{}

// settings is n with the zero fields filled in.
func (n Network) settings() Network {
	if n.FrameLimit == 0 {
		n.FrameLimit = DefaultFrameLimit
	}
	if n.Window <= 0 {
		n.Window = DefaultWindow
	}
	if n.PingEvery <= 0 {
		n.PingEvery = DefaultPingEvery
	}
	if n.Timeout <= 0 {
		n.Timeout = DefaultTimeout
	}
	if n.Strangers <= 0 {
		n.Strangers = DefaultStrangers
	}
	n.ServerTLS, n.ClientTLS = onlyThirteen(n.ServerTLS), onlyThirteen(n.ClientTLS)
	if n.Log == nil {
		n.Log = slog.Default()
	}
	return n
}

// Listen implements rpc.Network. The end of ctx does not end the listener. An address that somebody serves already is
// rpc.ErrInUse; the socket file of a process that is gone is replaced.
func (n Network) Listen(ctx context.Context, addr string, h rpc.Handler) (rpc.Listener, error) {
	n = n.settings()
	if err := n.checkName(); err != nil {
		return nil, err
	}
	config := net.ListenConfig{KeepAliveConfig: n.keepAlive()}
	network, place := split(addr)
	nl, err := config.Listen(ctx, network, place)
	if network == "unix" && errors.Is(err, syscall.EADDRINUSE) && removeStale(place) {
		nl, err = config.Listen(ctx, network, place)
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen at %s: %w", addr, rpc.ErrInUse)
	case err != nil:
		return nil, fmt.Errorf("listen at %s: %w", addr, err)
	}
	if network == "tcp" {
		addr = nl.Addr().String()
	}
	return serve(context.WithoutCancel(ctx), n, nl, addr, h), nil
}

// Dial implements rpc.Network: it connects, proves its token if the server wants one, and exchanges greetings.
// rpc.ErrUnreachable if nobody answers, a *HandshakeError if somebody does whom it does not understand or trust, or who does not
// trust it; neither if addr is no address.
func (n Network) Dial(ctx context.Context, addr string) (rpc.Conn, error) {
	n = n.settings()
	if err := n.checkName(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, n.Timeout)
	defer cancel()
	dialer := net.Dialer{KeepAliveConfig: n.keepAlive()}
	network, place := split(addr)
	if _, port, err := net.SplitHostPort(place); network == "tcp" && (err != nil || port == "") {
		return nil, fmt.Errorf("server %q: want host:port or unix:/path", addr)
	}
	nc, err := dialer.DialContext(ctx, network, place)
	if err != nil {
		return nil, fmt.Errorf("server %s: %w: %w", addr, rpc.ErrUnreachable, err)
	}
	tuneLocal(nc)
	if n.ClientTLS != nil {
		if nc, err = n.encrypt(ctx, nc, addr); err != nil {
			return nil, err
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.SetDeadline(time.Unix(1, 0)) })
	theirs, err := n.greet(nc, addr)
	if !stop() {
		err = fmt.Errorf("server %s: %w: %w", addr, rpc.ErrUnreachable, context.Cause(ctx))
	}
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	return dialed(n, nc, addr, theirs), nil
}

// keepAlive lets the system find dead machines at the other end of idle connections.
func (n Network) keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: n.Timeout, Interval: n.PingEvery, Count: 5}
}

func (n Network) checkName() error {
	if len(n.Name) > nameLimit {
		return fmt.Errorf("name %.20q… has %d bytes, want at most %d", n.Name, len(n.Name), nameLimit)
	}
	return nil
}

// split tells the network and the place on it.
func split(addr string) (network, place string) {
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		return "unix", path
	}
	return "tcp", addr
}

// removeStale removes a socket file that nobody listens at.
func removeStale(path string) bool {
	c, err := net.Dial("unix", path)
	if err == nil {
		_ = c.Close()
		return false
	}
	info, serr := os.Lstat(path)
	if !errors.Is(err, syscall.ECONNREFUSED) || serr != nil || info.Mode().Type() != fs.ModeSocket {
		return false
	}
	return os.Remove(path) == nil
}
