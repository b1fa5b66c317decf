package tcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"thole.example/rpc"
)

func TestHello(t *testing.T) {
	want := hello{limit: 77, window: 5, status: helloVersion, name: "worker-3"}
	got, err := readHello(bytes.NewReader(want.bytes()), "x")
	if err != nil || got != want {
		t.Errorf("got %+v, error %v, want %+v", got, err, want)
	}
}

// Somebody else who connects is told what this port is, and the log says what came.
func TestStranger(t *testing.T) {
	other := hello{}.bytes()
	other[8] = 2 // version
	answer := func(status uint16) string {
		return string(hello{limit: 1 << 20, window: 3, status: status, name: "srv"}.bytes())
	}
	for _, c := range []struct {
		name, send, want, log string
	}{
		{"browser", "GET / HTTP/1.1\r\nHost: here\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n", `GET / HT`},
		{"short browser", "GET /\r\n", "HTTP/1.1 400 Bad Request\r\n", `GET /`},
		{"ssh", "SSH-2.0-OpenSSH_9.9\r\n", answer(helloMagic), "SSH-2.0-"},
		{"version", string(other), answer(helloVersion), "found version 2, want 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &journal{}
			l := listen(t, Network{Name: "srv", FrameLimit: 1 << 20, Window: 3, Log: log.logger()}, echo)
			r := connect(t, l)
			r.put([]byte(c.send))
			if err := r.Conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r.Conn)
			if err != nil || !strings.HasPrefix(string(got), c.want) {
				t.Errorf("got %q, error %v, want %q", got, err, c.want)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.text(), c.log) {
				t.Errorf("log %q, want %q in it", log.text(), c.log)
			}
		})
	}
}

// play is a server that reads a greeting, writes its lines and then waits for the client to go, unless it hangs up.
func play(t *testing.T, lines string, hangUp bool) (addr string) {
	t.Helper()
	nl, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		nc, err := nl.Accept()
		if err != nil {
			return
		}
		defer func() { _ = nc.Close() }()
		_, _ = io.ReadFull(nc, make([]byte, helloSize))
		_, _ = io.WriteString(nc, lines)
		if !hangUp {
			_, _ = io.Copy(io.Discard, nc)
		}
	}()
	t.Cleanup(func() {
		_ = nl.Close()
		<-done
	})
	return nl.Addr().String()
}

func TestDialStranger(t *testing.T) {
	other := hello{window: 1}.bytes()
	other[8] = 9
	for _, c := range []struct {
		name, lines string
		hangUp      bool
		kind        error
		text        string
	}{
		{"http", "HTTP/1.1 400 Bad Request\r\n\r\n", true, ErrMagic, `found "HTTP/1.1", want "\x89THOLE\r\n"`},
		{"short", "220\r\n", true, ErrMagic, `found "220`},
		{"version", string(other), true, ErrVersion, "found version 9, want 1"},
		{"refused version", string(hello{window: 1, status: helloVersion}.bytes()), true, ErrVersion, "it refuses version 1"},
		{"refused", string(hello{window: 1, status: helloMagic}.bytes()), true, ErrMagic, "it does not understand"},
		{"window", string(hello{}.bytes()), true, ErrMagic, "its window is 0"},
		{"hangs up", "", true, rpc.ErrUnreachable, "no greeting"},
		{"silent", "", false, rpc.ErrUnreachable, "deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr := play(t, c.lines, c.hangUp)
			_, err := Network{Timeout: 50 * time.Millisecond}.Dial(t.Context(), addr)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), addr) {
				t.Errorf("got %v, want %v of %s with %q", err, c.kind, addr, c.text)
			}
		})
	}
}

// A server that answers pings may take longer than the timeout.
func TestSlowHandler(t *testing.T) {
	n := Network{Timeout: 40 * time.Millisecond, PingEvery: 5 * time.Millisecond}
	l := listen(t, n, func(context.Context, *rpc.Request) (*rpc.Response, error) {
		time.Sleep(200 * time.Millisecond)
		return &rpc.Response{Clock: 3}, nil
	})
	c, err := n.Dial(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if r, err := c.Start(t.Context(), &rpc.Request{}).Wait(t.Context()); err != nil || r.Clock != 3 {
		t.Errorf("answer %+v, error %v", r, err)
	}
}

// A server that falls silent, or away, fails all calls at once, and a later call too.
func TestLost(t *testing.T) {
	fine := string(hello{limit: 1 << 20, window: 8}.bytes())
	for _, c := range []struct {
		name, lines string
		hangUp      bool
		text        string
	}{
		{"silent", fine, false, "connection lost: nothing heard for 40ms"},
		{"gone", fine, true, "connection lost: "},
		{"nonsense", fine + strings.Repeat("\xff", 16), false, "connection lost: frame of kind 255, want 1..6"},
		{"wrong answer", fine + "\x00\x00\x00\x00\x02\x00\x00\x00\x63\x00\x00\x00\x00\x00\x00\x00", false,
			"connection lost: answer to request 99, which is not under way"},
		{"last words", fine + "\x10\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
			"\x09\x00\x00\x00\x03\x00\x00\x00bye\x00\x00\x00\x00\x00", false, "connection lost: the server ended it: bye"},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr := play(t, c.lines, c.hangUp)
			conn, err := Network{Timeout: 40 * time.Millisecond, PingEvery: 5 * time.Millisecond}.Dial(t.Context(), addr)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			first, second := conn.Start(t.Context(), &rpc.Request{}), conn.Start(t.Context(), &rpc.Request{})
			for _, call := range []*rpc.Call{first, second, conn.Start(t.Context(), &rpc.Request{})} {
				_, err := call.Wait(t.Context())
				if !errors.Is(err, rpc.ErrLost) || !strings.HasPrefix(err.Error(), "server "+addr+": "+c.text) {
					t.Errorf("got %v, want %q", err, c.text)
				}
			}
		})
	}
}

func FuzzHello(f *testing.F) {
	f.Add(hello{limit: 1, window: 2, name: "n"}.bytes())
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readHello(bytes.NewReader(b), "x")
		if err == nil && !bytes.HasPrefix(b, h.bytes()) {
			t.Errorf("%x read as %+v", b, h)
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add(request(1, &rpc.Request{Job: "j"}))
	f.Add([]byte{255, 255, 255, 255, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < headSize {
			return
		}
		h, err := parseHead((*[headSize]byte)(b), 1<<20)
		if err != nil {
			return
		}
		if h.size > 1<<20 {
			t.Errorf("a body of %d bytes", h.size)
		}
		fr := new(frame).begin()
		for range h.size {
			fr.U8(0)
		}
		fr.seal(h.kind, h.id, 1<<20)
		if !bytes.Equal(fr.Head(headSize), b[:headSize]) {
			t.Errorf("head % x is written % x", b[:headSize], fr.Head(headSize))
		}
	})
}
