package kube_test

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"thole.example/coord/coordtest"
	"thole.example/kubeapi"
)

// proxy is in front of an address. What came over a connection before it was made silent goes nowhere from then on, and nobody is told.
type proxy struct {
	net.Listener
	to     string
	silent atomic.Pointer[chan struct{}] // of the connections that are made now: closed when they are silent
	done   chan struct{}
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: to, done: make(chan struct{})}
	p.next()
	t.Cleanup(func() { l.Close(); close(p.done) })
	go p.serve()
	return p
}

// next has later connections be forwarded until the next call, which makes them silent.
func (p *proxy) next() {
	later := make(chan struct{})
	if before := p.silent.Swap(&later); before != nil {
		close(*before)
	}
}

func (p *proxy) serve() {
	for {
		c, err := p.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", p.to)
		if err != nil {
			c.Close()
			return
		}
		silent := *p.silent.Load()
		go p.forward(to, c, silent)
		go p.forward(c, to, silent)
	}
}

func (p *proxy) forward(to, from net.Conn, silent chan struct{}) {
	defer from.Close()
	for b := make([]byte, 32<<10); ; {
		n, err := from.Read(b)
		select {
		case <-silent:
			_, _ = io.Copy(io.Discard, from) // the sender's system takes it for delivered
			<-p.done
			return
		default:
		}
		if err == nil {
			_, err = to.Write(b[:n])
		}
		if err != nil {
			to.Close()
			return
		}
	}
}

// TestSilent: a connection whose other side is gone without a word is noticed, and another one is made: for requests, and for a watch.
func TestSilent(t *testing.T) {
	var old atomic.Int64 // requests that are not HTTP/2
	a := newAPI()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			old.Add(1)
		}
		a.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	p := newProxy(t, server.Listener.Addr().String())
	file := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf(`current-context: a
contexts: [{name: a, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://%s", certificate-authority-data: %s}}]
users: [{name: u, user: {token: secret}}]
`, p.Addr(), base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := kubeapi.FromFile(file, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), coordtest.Patience)
	defer stop()
	s := open(t, k, "models")
	v, err := s.Put(ctx, "k", []byte("1"), "")
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		data string
		err  error
	}
	watched := make(chan seen, 1)
	go func() {
		data, _, err := s.Watch(ctx, "k", v)
		watched <- seen{string(data), err}
	}()
	for a.watching.Load() == 0 && ctx.Err() == nil {
		_, _, err = s.Get(ctx, "k")
	}
	p.next()
	for err = context.Canceled; err != nil && ctx.Err() == nil; {
		_, _, err = s.Get(ctx, "k")
	}
	if err != nil {
		t.Fatalf("after the connection was silent: %v", err)
	}
	if _, err := s.Put(ctx, "k", []byte("2"), v); err != nil {
		t.Fatal(err)
	}
	// The API may have written to the watch that is gone; a later look sees what it has missed.
	for {
		w := <-watched
		if w.err == nil && w.data == "2" {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the watch over the connection: %q, %v", w.data, w.err)
		}
		data, _, err := s.Watch(ctx, "k", v)
		watched <- seen{string(data), err}
	}
	if n := old.Load(); n > 0 {
		t.Errorf("%d requests were no HTTP/2", n)
	}
}
