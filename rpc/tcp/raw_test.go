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
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"thole.example/rpc"
)

// handler is a handler made of a function.
type handler func(ctx context.Context, q *rpc.Request) (*rpc.Response, error)

func (h handler) Serve(ctx context.Context, _ *rpc.Peer, q *rpc.Request) (*rpc.Response, error) {
	return h(ctx, q)
}

func echo(_ context.Context, q *rpc.Request) (*rpc.Response, error) {
	return &rpc.Response{Clock: q.Clock, Pieces: q.Pieces}, nil
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
	return &raw{t, nc, newReader(nc, 1<<30, new(atomic.Uint64))}
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

// request is the frame of a request.
func request(id uint64, q *rpc.Request) []byte {
	f := new(frame).begin()
	if err := q.Append(&f.Gather); err != nil {
		return nil
	}
	f.seal(kindRequest, id, 1<<30)
	return f.Bytes()
}

// get is the next frame.
func (r *raw) get() (head, []byte) {
	r.Helper()
	h, err := r.in.next()
	if err != nil {
		r.Fatal(err)
	}
	body, err := r.in.body(h.size)
	if err != nil {
		r.Fatal(err)
	}
	return h, body
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
	if !errors.Is(f, kind) && kind != nil || !strings.Contains(f.Text, text) {
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

// A damaged body gives an error, and the connection lives on.
func TestMalformedBody(t *testing.T) {
	r := connect(t, listen(t, Network{}, echo))
	r.greet()
	bad := request(7, &rpc.Request{Job: "j", Pieces: []rpc.Piece{{Matrix: "m"}}})
	bad[headSize+36] = 99 // number of pieces
	r.put(bad)
	r.wantFault(7, rpc.ErrMalformed, "at byte 56: number of pieces is 99")
	r.put(request(8, &rpc.Request{Clock: 5}))
	if h, body := r.get(); h.kind != kindResponse || h.id != 8 {
		t.Errorf("frame of kind %d, request %d, want the response to request 8", h.kind, h.id)
	} else if q, err := rpc.ReadResponse(body); err != nil || q.Clock != 5 {
		t.Errorf("response %+v, error %v", q, err)
	}
}

// A damaged head ends the connection, and the client is told why.
func TestBreach(t *testing.T) {
	stuck := func(ctx context.Context, _ *rpc.Request) (*rpc.Response, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	for _, c := range []struct {
		name string
		send []byte
		kind error
		text string
	}{
		{"oversize", []byte{0, 0, 0, 255, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, rpc.ErrTooLarge,
			"frame of 4278190080 bytes, want at most 1048576"},
		{"kind", []byte{0, 0, 0, 0, 99, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, nil, "frame of kind 99, want 1..6"},
		{"zeros", []byte{0, 0, 0, 0, 1, 0, 0, 9, 1, 0, 0, 0, 0, 0, 0, 0}, nil, "00 00 09 where zeros must be"},
		{"ping with body", []byte{1, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, nil, "has a body of 1 bytes"},
		{"response", []byte{0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, nil, "frame of kind 2 from a client"},
		{"number 0", request(0, &rpc.Request{}), nil, "has no number"},
		{"number twice", append(request(3, &rpc.Request{}), request(3, &rpc.Request{})...), nil,
			"request 3 is under way already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &journal{}
			l := listen(t, Network{FrameLimit: 1 << 20, Log: log.logger()}, stuck)
			r := connect(t, l)
			r.greet()
			r.put(append(c.send, make([]byte, 100_000)...)) // what follows must not hide the last words
			r.wantFault(0, c.kind, c.text)
			if err := r.Conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			r.wantEnd()
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.text(), c.text) {
				t.Errorf("log %q, want %q in it", log.text(), c.text)
			}
		})
	}
}

// What is too large for the other side is refused where it is made; the connection lives on.
func TestTooLarge(t *testing.T) {
	l := listen(t, Network{FrameLimit: 1000}, func(_ context.Context, q *rpc.Request) (*rpc.Response, error) {
		return &rpc.Response{Results: []rpc.Result{{Data: make([]byte, q.Clock)}}}, nil
	})
	c, err := Network{FrameLimit: 2000}.Dial(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	try := func(q *rpc.Request) error {
		_, err := c.Start(t.Context(), q).Wait(t.Context())
		return err
	}
	if err := try(&rpc.Request{Arg: make([]byte, 1000)}); !errors.Is(err, rpc.ErrTooLarge) {
		t.Errorf("a request of more than 1000 bytes: %v, want %v", err, rpc.ErrTooLarge)
	}
	if err := try(&rpc.Request{Clock: 2000}); !errors.Is(err, rpc.ErrTooLarge) {
		t.Errorf("a response of more than 2000 bytes: %v, want %v", err, rpc.ErrTooLarge)
	}
	if err := try(&rpc.Request{Clock: 1900, Arg: make([]byte, 900)}); err != nil {
		t.Errorf("a request and a response within the limits: %v", err)
	}
}

// A length alone is not given its memory.
func TestLengthAlone(t *testing.T) {
	one, two := net.Pipe()
	go func() {
		_, _ = two.Write(make([]byte, 100))
		_ = two.Close()
	}()
	buf, err := newReader(one, 1<<30, new(atomic.Uint64)).body(1 << 30)
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(buf) > trust {
		t.Errorf("%d bytes of memory for 100 bytes, want at most %d; error %v", len(buf), trust, err)
	}
}

// A client that sends more than the window gets no more handlers, is told that the server lives, and loses nothing.
func TestWindowEnforced(t *testing.T) {
	const window, sent = 3, 50
	var now, most atomic.Int32
	release := make(chan struct{})
	n := Network{Window: window, PingEvery: 5 * time.Millisecond}
	l := listen(t, n, func(context.Context, *rpc.Request) (*rpc.Response, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		<-release
		now.Add(-1)
		return nil, nil
	})
	r := connect(t, l)
	if h := r.greet(); h.window != window {
		t.Errorf("the server's window is %d, want %d", h.window, window)
	}
	for id := range uint64(sent) {
		r.put(request(id+1, &rpc.Request{}))
	}
	if h, _ := r.get(); h.kind != kindPong {
		t.Errorf("frame of kind %d, want a sign of life", h.kind)
	}
	close(release)
	seen := map[uint64]bool{}
	for len(seen) < sent {
		if h, _ := r.get(); h.kind == kindResponse {
			seen[h.id] = true
		}
	}
	if most.Load() > window {
		t.Errorf("%d handlers at once, want at most %d", most.Load(), window)
	}
}

// Many clients push more than the server may hold: all are slowed down and none fails.
func TestHold(t *testing.T) {
	const clients, calls, size, limit = 16, 4, 1 << 20, 3 << 20
	var held, most atomic.Int64
	l := listen(t, Network{HoldLimit: limit}, func(_ context.Context, q *rpc.Request) (*rpc.Response, error) {
		if n := held.Add(int64(len(q.Arg))); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(time.Millisecond)
		held.Add(-int64(len(q.Arg)))
		return nil, nil
	})
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			c, err := Network{}.Dial(t.Context(), l.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }()
			var under []*rpc.Call
			for range calls {
				under = append(under, c.Start(t.Context(), &rpc.Request{Arg: make([]byte, size)}))
			}
			for _, call := range under {
				if _, err := call.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if most.Load() > limit {
		t.Errorf("%d bytes in handlers, want at most %d", most.Load(), limit)
	}
}

// A client that takes nothing of its answers is let go in the end.
func TestStuckClient(t *testing.T) {
	n := Network{Timeout: 20 * time.Millisecond, PingEvery: 5 * time.Millisecond}
	l := listen(t, n, func(context.Context, *rpc.Request) (*rpc.Response, error) {
		return &rpc.Response{Results: []rpc.Result{{Data: make([]byte, 64<<20)}}}, nil
	})
	r := connect(t, l)
	r.greet()
	r.put(request(1, &rpc.Request{}))
	for empty := false; !empty; time.Sleep(time.Millisecond) {
		inner := l.(*listener)
		inner.mu.Lock()
		empty = len(inner.sessions) == 0
		inner.mu.Unlock()
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
	l, err := Network{}.Listen(t.Context(), "unix:"+path, handler(echo))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
