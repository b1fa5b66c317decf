package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"thole.example/blob"
)

// peer listens as a namenode would, and does what is said with each connection.
func peer(t *testing.T, do func(c net.Conn)) Options {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				do(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return Options{Addresses: []string{l.Addr().String()}, User: "me", Timeout: 50 * time.Millisecond, Patience: 100 * time.Millisecond}
}

// TestPeers meets what is no namenode: an error that says so, soon, and nothing left behind.
func TestPeers(t *testing.T) {
	leakless(t)
	drain := func(c net.Conn) {
		for buf := make([]byte, 1<<10); ; {
			if _, err := c.Read(buf); err != nil {
				return
			}
		}
	}
	for name, do := range map[string]func(c net.Conn){
		"ends at once":     func(net.Conn) {},
		"is silent":        drain,
		"speaks HTTP":      func(c net.Conn) { c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")); drain(c) },
		"answers nothing":  func(c net.Conn) { c.Write(make([]byte, 64)); drain(c) },
		"answers half":     func(c net.Conn) { c.Write([]byte{0, 0, 0, 40, 5, 8}) },
		"answers nonsense": func(c net.Conn) { c.Write([]byte{0, 0, 0, 4, 250, 255, 255, 255}); drain(c) },
		"a long size, once": func(c net.Conn) {
			c.Write([]byte{0, 0, 0, 11, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
			drain(c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := peer(t, do)
			_, err := New(t.Context(), o)
			if !errors.Is(err, ErrAway) && !strings.Contains(fmt.Sprint(err), "or no namenode") || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), o.Addresses[0]) {
				t.Errorf("%v, want ErrAway of %s", err, o.Addresses[0])
			}
		})
	}
	nobody := peer(t, drain)
	nobody.Addresses[0] = strings.Replace(nobody.Addresses[0], "127.0.0.1:", "127.0.0.1:1", 1)[:len("127.0.0.1:1")] // tcpmux
	if _, err := New(t.Context(), nobody); !errors.Is(err, ErrAway) {
		t.Errorf("%v, want ErrAway", err)
	}
	if _, err := New(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "HADOOP_CONF_DIR") {
		t.Errorf("%v, want that no namenode is named", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ctx, peer(t, drain)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that the context ended", err)
	}
}

// TestLongAnswer: a peer that announces more than a namenode may answer is refused before there is memory for it, an HTTP server by name.
func TestLongAnswer(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	long := peer(t, func(c net.Conn) {
		c.Write([]byte{0x3f, 0xff, 0xff}) // in two pieces
		time.Sleep(time.Millisecond)
		c.Write([]byte{0xff, 1, 2, 3, 4, 5, 6})
		c.Read(make([]byte, 1<<10))
	})
	for want, o := range map[string]Options{
		"speaks HTTP": {Addresses: []string{web.Listener.Addr().String()}, User: "me", Timeout: limit, Patience: time.Millisecond},
		"1073741823":  long,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := New(t.Context(), o)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, ErrAway) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want ErrAway that says %s", err, want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%s: %d bytes were allocated", want, n)
		}
	}
}

// limit is how long a peer has that must answer; nothing is measured with it.
const limit = 20 * time.Second

// TestAttempts: what passes is tried again while there is patience, what does not is not.
func TestAttempts(t *testing.T) {
	b := &Bucket{life: t.Context()}
	for _, c := range []struct {
		err   error
		again bool
	}{
		{net.ErrClosed, true}, {errors.New("unexpected sequence number"), true}, {fs.ErrNotExist, false}, {fs.ErrPermission, false},
		{blob.ErrChanged, false}, {errors.New("no available namenodes: SASL handshake: wrong"), false}, {context.Canceled, false},
	} {
		calls := 0
		err := b.attempts(t.Context(), time.Minute, func() error {
			if calls++; calls < 3 {
				return c.err
			}
			return nil
		})
		if want := map[bool]int{true: 3, false: 1}[c.again]; calls != want || (err == nil) != c.again {
			t.Errorf("%v: %d calls, %v, want %d", c.err, calls, err, want)
		}
	}
	calls := 0
	if err := b.attempts(t.Context(), 0, func() error { calls++; return net.ErrClosed }); calls != 1 || err == nil {
		t.Errorf("without patience: %d calls, %v", calls, err)
	}
}
