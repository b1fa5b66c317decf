package tcp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"thole.example/rpc"
)

func TestHello(t *testing.T) {
	want := hello{status: helloVersion, limit: 77, window: 5, timeout: 9000, name: "worker-3"}
	got, err := readHello(bytes.NewReader(want.bytes()), "x")
	if err != nil || got != want {
		t.Errorf("got %+v, error %v, want %+v", got, err, want)
	}
}

// Somebody else who connects is told what this port is, and the log says what came.
func TestStranger(t *testing.T) {
	other := hello{}.bytes()
	other[8] = 1 // version
	flipped := strings.Replace(string(hello{name: "me"}.bytes()), "me", "mf", 1)
	answer := func(status uint16) string {
		return string(hello{status: status, limit: 1 << 20, window: 3, timeout: 10_000, name: "srv"}.bytes())
	}
	for _, c := range []struct {
		name, send, want, log string
	}{
		{"browser", "GET / HTTP/1.1\r\nHost: here\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n", `GET / HT`},
		{"short browser", "GET /\r\n", "HTTP/1.1 400 Bad Request\r\n", `GET /`},
		{"ssh", "SSH-2.0-OpenSSH_9.9\r\n", answer(helloMagic), "SSH-2.0-"},
		{"flipped", flipped, answer(helloMagic), "checksum of the greeting is"},
		{"tls", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and so on", answer(helloMagic), `x16\\x03\\x01`},
		{"noise", "\x89THOLE\r\x0b and more of it", answer(helloMagic), "THOLE"},
		{"nothing", "", "", ""},
		{"half", "\x89THOL", "", ""},
		{"version", string(other), answer(helloVersion), "found version 1, want 3"},
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

// play is a server that reads a greeting, writes its lines, and what follows once it has got two requests, and then waits
// for the client to go. With nothing that follows it hangs up after its lines.
func play(t *testing.T, lines, follows string) (addr string) {
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
		if follows == "" {
			return
		}
		if follows != mute {
			_, _ = io.ReadFull(nc, make([]byte, 2*(headSize+32)))
			_, _ = io.WriteString(nc, follows)
		}
		_, _ = io.Copy(io.Discard, nc)
	}()
	t.Cleanup(func() {
		_ = nl.Close()
		<-done
	})
	return nl.Addr().String()
}

// mute is a server that says nothing more and stays.
const mute = "..."

func TestDialStranger(t *testing.T) {
	other := hello{window: 1}.bytes()
	other[8] = 9
	for _, c := range []struct {
		name, lines, follows string
		kind                 error
		text                 string
	}{
		{"http", "HTTP/1.1 400 Bad Request\r\n\r\n", "", ErrMagic, `found "HTTP/1.1", want "\x89THOLE\r\n"`},
		{"short", "220\r\n", "", ErrMagic, `found "220`},
		{"version", string(other), "", ErrVersion, "found version 9, want 3"},
		{"refused version", string(hello{window: 1, status: helloVersion}.bytes()), "", ErrVersion, "it refuses version 3"},
		{"refused", string(hello{window: 1, status: helloMagic}.bytes()), "", ErrMagic, "it does not understand"},
		{"checksum", strings.Replace(string(hello{window: 1, name: "srv"}.bytes()), "srv", "sry", 1), "", ErrMagic,
			"checksum of the greeting is"},
		{"window", string(hello{}.bytes()), "", ErrMagic, "its window is 0"},
		{"hangs up", "", "", rpc.ErrUnreachable, "no greeting"},
		{"silent", "", mute, rpc.ErrUnreachable, "deadline exceeded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr := play(t, c.lines, c.follows)
			_, err := Network{Timeout: 50 * time.Millisecond}.Dial(t.Context(), addr)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), addr) {
				t.Errorf("got %v, want %v of %s with %q", err, c.kind, addr, c.text)
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

// TestDialNoAddress: what is no address is refused as such, and not taken for a server that may come back.
func TestDialNoAddress(t *testing.T) {
	for _, addr := range []string{"", "4", "localhost", "a:b:c", "[::1", "host:"} {
		_, err := Network{}.Dial(t.Context(), addr)
		if err == nil || errors.Is(err, rpc.ErrUnreachable) || !strings.Contains(err.Error(), "want host:port or unix:/path") {
			t.Errorf("%q: %v", addr, err)
		}
	}
}
