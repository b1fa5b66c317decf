package tcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"thole.example/budget"
	"thole.example/rpc"
)

// handler is a handler made of a function.
type handler func(x *rpc.Exchange)

func (h handler) Serve(x *rpc.Exchange) { h(x) }

func echo(x *rpc.Exchange) {
	x.Answer(&rpc.Response{Clock: x.Clock, Parts: x.Parts, Memory: x.Memory.Retain()})
}

// journal is a log that tests can read.
type journal struct {
	mu sync.Mutex
	bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.Buffer.Write(b)
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

func (j *journal) text() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.String()
}

// listen serves the handler until the test ends.
func listen(t *testing.T, n Network, h handler) rpc.Listener {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	l, err := n.Listen(t.Context(), "127.0.0.1:0", h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		goleak.VerifyNone(t, ignore)
	})
	return l
}

// dial is a connection of the network's own client, until the test ends.
func dial(t *testing.T, n Network, l rpc.Listener) rpc.Conn {
	t.Helper()
	c, err := n.Dial(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// wellServed makes sure that the connection is served.
func wellServed(t *testing.T, c rpc.Conn) {
	t.Helper()
	for i := range int32(3) {
		r, err := c.Start(t.Context(), &rpc.Request{Clock: i, Arg: make([]byte, 1000)}).Wait(t.Context())
		if err != nil || r.Clock != i {
			t.Errorf("the neighbour's answer: %+v, error %v", r, err)
		}
		r.Release()
	}
}

// empty waits until nothing is counted in the ledger any more; the test's deadline ends the waiting.
func empty(t *testing.T, l *budget.Ledger) {
	t.Helper()
	for l.Used() != (budget.Usage{}) {
		if t.Context().Err() != nil {
			t.Fatalf("used %v", l.Used())
		}
		time.Sleep(time.Millisecond)
	}
}

// raw is a connection that a test writes bytes to.
type raw struct {
	*testing.T
	net.Conn
	in *reader
}

// connect is a raw connection to the listener.
func connect(t *testing.T, l rpc.Listener) *raw {
	t.Helper()
	nc, err := net.Dial("tcp", l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return &raw{T: t, Conn: nc, in: newReader(t.Context(), nc, 1<<30, nil)}
}

func (r *raw) put(b []byte) {
	r.Helper()
	if _, err := r.Write(b); err != nil {
		r.Fatal(err)
	}
}

// greet shakes hands.
func (r *raw) greet() hello {
	r.Helper()
	r.put(hello{limit: 1 << 30}.bytes())
	h, err := readHello(r.Conn, "server")
	if err != nil {
		r.Fatal(err)
	}
	return h
}

// sealed is a frame with the number among those of its direction, with a checksum.
func sealed(number uint16, k kind, id uint64, m interface{ Append(*rpc.Gather) error }) []byte {
	f := new(frame).begin()
	f.kind, f.id = k, id
	if m != nil {
		if err := m.Append(&f.Gather); err != nil {
			return nil
		}
	}
	f.seal(number, true, f.Buffers(nil))
	return f.Bytes()
}

// request is the frame of a request that is the id-th frame of its connection.
func request(id uint64, q *rpc.Request) []byte { return sealed(uint16(id-1), kindRequest, id, q) }

// get is the next frame that is not a sign of life.
func (r *raw) get() (head, []byte) {
	r.Helper()
	for {
		h, err := r.in.next()
		if err != nil {
			r.Fatal(err)
		}
		body, err := r.in.body(h)
		if err != nil {
			r.Fatal(err)
		}
		if h.kind != kindAlive {
			return h, body.Bytes()
		}
	}
}

// wantFault reads a fault.
func (r *raw) wantFault(id uint64, kind error, text string) {
	r.Helper()
	h, body := r.get()
	if h.kind != kindFault || h.id != id {
		r.Fatalf("frame of kind %d, request %d, want an error of request %d", h.kind, h.id, id)
	}
	f, err := rpc.ReadFault(body, "s")
	if err != nil {
		r.Fatal(err)
	}
	if kind != nil && !errors.Is(f, kind) || !strings.Contains(f.Text, text) {
		r.Errorf("error %v, want %v with %q", f, kind, text)
	}
}

// wantEnd reads until the other side has closed the connection.
func (r *raw) wantEnd() {
	r.Helper()
	if rest, err := io.ReadAll(r.in.br); err != nil || len(rest) > 0 {
		r.Errorf("%d bytes more and error %v, want the end of the connection", len(rest), err)
	}
}

// A damaged body that its sender's checksum vouches for gives an error, and the connection lives on.
func TestMalformedBody(t *testing.T) {
	r := connect(t, listen(t, Network{}, echo))
	r.greet()
	bad := request(1, &rpc.Request{Arg: []byte("1234")})
	bad[headSize+20] = 99 // number of parts
	h, _ := parseHead((*[headSize]byte)(bad), 1<<30)
	h.flags, h.sum = 0, 0
	h.put(bad)
	r.put(bad)
	r.wantFault(1, rpc.ErrMalformed, "at byte 40: number of parts is 99")
	r.put(request(2, &rpc.Request{Clock: 5}))
	if h, body := r.get(); h.kind != kindResponse || h.id != 2 {
		t.Errorf("frame of kind %d, request %d, want the response to request 2", h.kind, h.id)
	} else if q, err := rpc.ReadResponse(body); err != nil || q.Clock != 5 {
		t.Errorf("response %+v, error %v", q, err)
	}
}

// What is too large for the other side is refused where it is made; the connection lives on.
func TestTooLarge(t *testing.T) {
	l := listen(t, Network{FrameLimit: 1000}, func(x *rpc.Exchange) {
		x.Answer(&rpc.Response{Results: []rpc.Result{{Data: make([]byte, x.Clock)}}})
	})
	c := dial(t, Network{FrameLimit: 2000}, l)
	try := func(q *rpc.Request) error {
		_, err := c.Start(t.Context(), q).Wait(t.Context())
		return err
	}
	if err := try(&rpc.Request{Arg: make([]byte, 1000)}); !errors.Is(err, rpc.ErrTooLarge) ||
		!strings.Contains(err.Error(), "request of 1032 bytes, want at most 1000") {
		t.Errorf("a request of more than 1000 bytes: %v, want %v", err, rpc.ErrTooLarge)
	}
	if err := try(&rpc.Request{Clock: 2000}); !errors.Is(err, rpc.ErrTooLarge) {
		t.Errorf("a response of more than 2000 bytes: %v, want %v", err, rpc.ErrTooLarge)
	}
	if err := try(&rpc.Request{Clock: 1900, Arg: make([]byte, 900)}); err != nil {
		t.Errorf("a request and a response within the limits: %v", err)
	}
}

// A client that sends more than the window gets no more handlers, and loses nothing.
func TestWindowEnforced(t *testing.T) {
	const window, sent = 3, 50
	parked := make(chan *rpc.Exchange, sent)
	l := listen(t, Network{Window: window}, func(x *rpc.Exchange) { parked <- x })
	r := connect(t, l)
	if h := r.greet(); h.window != window {
		t.Errorf("the server's window is %d, want %d", h.window, window)
	}
	for id := range uint64(sent) {
		r.put(request(id+1, &rpc.Request{}))
	}
	under := []*rpc.Exchange{<-parked, <-parked, <-parked}
	for id := range uint64(sent) {
		if len(parked) > 0 {
			t.Errorf("more than %d requests are under way", window)
		}
		echo(under[0])
		if h, _ := r.get(); h.kind != kindResponse || h.id != id+1 {
			t.Errorf("frame of kind %d to request %d, want the answer to %d", h.kind, h.id, id+1)
		}
		if under = under[1:]; id+window < sent {
			under = append(under, <-parked)
		}
	}
}

// A socket file that a dead process left is replaced; a file that is none is not.
func TestStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Network{}.Listen(context.Background(), "unix:"+path, handler(echo))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
