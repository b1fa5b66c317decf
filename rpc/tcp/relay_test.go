package tcp

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/rpc"
)

// pipes is a listener in a bubble, and a way to it.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case nc := <-p.conns:
		return nc, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

type place struct{}

func (place) Network() string { return "pipe" }
func (place) String() string  { return "here" }

func (p *pipes) Addr() net.Addr { return place{} }

// relay stands between the two ends of a connection and passes frames on, as its hooks say: with none of them, as they are.
// A hook may wait, or return no frame, or several, or parts of one; after an empty one the relay pauses.
type relay struct {
	up, down func(h head, frame []byte) [][]byte
}

// relayPause is longer than a goroutine reads before it is interrupted.
const relayPause = 4 * longTurn

func asIs(_ head, frame []byte) [][]byte { return [][]byte{frame} }

// pass passes on what one side sends until an end is gone.
func pass(from, to net.Conn, hook func(head, []byte) [][]byte) {
	defer func() { _, _ = from.Close(), to.Close() }()
	if hook == nil {
		hook = asIs
	}
	greeting := make([]byte, helloSize)
	if _, err := io.ReadFull(from, greeting); err != nil {
		return
	}
	name := make([]byte, greeting[14])
	_, _ = io.ReadFull(from, name)
	if _, err := to.Write(append(greeting, name...)); err != nil {
		return
	}
	for {
		b := make([]byte, headSize)
		if _, err := io.ReadFull(from, b); err != nil {
			return
		}
		h, err := parseHead((*[headSize]byte)(b), 1<<30)
		if err != nil {
			return
		}
		b = append(b, make([]byte, h.size)...)
		if _, err := io.ReadFull(from, b[headSize:]); err != nil {
			return
		}
		for _, frame := range hook(h, b) {
			if len(frame) == 0 {
				time.Sleep(relayPause)
			}
			if _, err := to.Write(frame); err != nil {
				return
			}
		}
	}
}

// bubble is a server and its clients in a bubble, over pipes with relays.
type bubble struct {
	*testing.T
	n   Network
	log *journal
	in  *pipes
	l   rpc.Listener
}

// inBubble runs the test and then closes the listener.
func inBubble(t *testing.T, n Network, h rpc.Handler, test func(b *bubble)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{T: t, log: &journal{}, in: &pipes{conns: make(chan net.Conn), done: make(chan struct{})}}
		n.Log = b.log.logger()
		b.n = n.settings()
		b.l = serve(t.Context(), b.n, b.in, "here", h)
		test(b)
		if err := b.l.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
	})
}

// wire is a connection whose client has not greeted yet.
func (b *bubble) wire(r relay) net.Conn {
	mine, one := net.Pipe()
	two, theirs := net.Pipe()
	go pass(one, two, r.up)
	go pass(two, one, r.down)
	b.in.conns <- theirs
	return mine
}

// dial is a connection through a relay.
func (b *bubble) dial(n Network, r relay) rpc.Conn {
	b.Helper()
	n = n.settings()
	nc := b.wire(r)
	theirs, err := n.greet(nc, "here")
	if err != nil {
		b.Fatal(err)
	}
	return dialed(n, nc, "here", theirs)
}

// raw is a connection that a test writes bytes to, without a relay.
func (b *bubble) raw() *raw {
	b.Helper()
	mine, theirs := net.Pipe()
	b.in.conns <- theirs
	r := &raw{T: b.T, Conn: mine, in: newReader(b.Context(), mine, 1<<30, nil)}
	go func() { _, _ = mine.Write(hello{limit: 1 << 30, name: "stranger"}.bytes()) }()
	if _, err := readHello(mine, "server"); err != nil {
		b.Fatal(err)
	}
	return r
}

// served makes sure that the connection is.
func (b *bubble) served(c rpc.Conn) {
	b.Helper()
	wellServed(b.T, c)
}

// lost makes sure that the call failed with the connection, for the reason.
func (b *bubble) lost(call *rpc.Call, why string) {
	b.Helper()
	r, err := call.Wait(b.Context())
	r.Release()
	if want := "server here: connection lost: " + why; !errors.Is(err, rpc.ErrLost) || err.Error() != want {
		b.Errorf("got %v, want %s", err, want)
	}
}
