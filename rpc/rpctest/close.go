package rpctest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"thole.example/rpc"
)

func testWindow(t *testing.T, setup Setup) {
	const window = 2
	var now, most atomic.Int32
	pair := make(chan struct{})
	c, _, stop := start(t, setup, window, func(ctx context.Context, p *rpc.Peer, q *rpc.Request) (*rpc.Response, error) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		select { // handlers leave in pairs, so that the window is seen full
		case pair <- struct{}{}:
		case <-pair:
		}
		now.Add(-1)
		return Echo(ctx, p, q)
	})
	defer stop()
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			r, err := c.Start(t.Context(), &rpc.Request{Clock: int32(i)}).Wait(t.Context())
			if err != nil || r.Clock != int32(i) {
				t.Errorf("call %d: answer %+v, error %v", i, r, err)
			}
		})
	}
	wg.Wait()
	if most.Load() != window {
		t.Errorf("%d handlers at work at once, want %d", most.Load(), window)
	}
}

func testWindowGivenUp(t *testing.T, setup Setup) {
	release, began := make(chan struct{}), make(chan struct{}, 2)
	c, _, stop := start(t, setup, 1, func(ctx context.Context, p *rpc.Peer, q *rpc.Request) (*rpc.Response, error) {
		began <- struct{}{}
		<-release
		return Echo(ctx, p, q)
	})
	defer stop()
	first := c.Start(t.Context(), &rpc.Request{Clock: 1})
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error)
	go func() {
		_, err := c.Start(ctx, &rpc.Request{Clock: 2}).Wait(t.Context())
		second <- err
	}()
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	close(release)
	if r, err := first.Wait(t.Context()); err != nil || r.Clock != 1 {
		t.Errorf("answer %+v, error %v", r, err)
	}
	if r := call(t, c, &rpc.Request{Clock: 3}); r.Clock != 3 {
		t.Errorf("answer of call %d, want 3", r.Clock)
	}
}

// hung starts n calls whose handlers wait until the peer is gone and their context has ended.
func hung(t *testing.T, setup Setup, n int) (c rpc.Conn, l rpc.Listener, calls []*rpc.Call, left *atomic.Int32) {
	began := make(chan struct{}, n)
	left = &atomic.Int32{}
	c, l, _ = start(t, setup, plenty, func(ctx context.Context, p *rpc.Peer, _ *rpc.Request) (*rpc.Response, error) {
		began <- struct{}{}
		<-p.Gone
		<-ctx.Done()
		left.Add(1)
		return nil, ctx.Err()
	})
	for range n {
		calls = append(calls, c.Start(t.Context(), &rpc.Request{}))
		<-began
	}
	return c, l, calls, left
}

func testClientCloses(t *testing.T, setup Setup) {
	c, l, calls, left := hung(t, setup, 3)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, waiting := range calls {
		if _, err := waiting.Wait(t.Context()); !errors.Is(err, rpc.ErrClosed) || !strings.Contains(err.Error(), l.Addr()) {
			t.Errorf("a call under way ended with %v, want %v of %s", err, rpc.ErrClosed, l.Addr())
		}
	}
	if _, err := c.Start(t.Context(), &rpc.Request{}).Wait(t.Context()); !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("a call after the end: %v, want %v", err, rpc.ErrClosed)
	}
	if err := c.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if left.Load() != 3 {
		t.Errorf("%d handlers have returned when the listener is closed, want 3", left.Load())
	}
}

func testServerCloses(t *testing.T, setup Setup) {
	c, l, calls, left := hung(t, setup, 3)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if left.Load() != 3 {
		t.Errorf("%d handlers have returned when the listener is closed, want 3", left.Load())
	}
	for _, waiting := range calls {
		if _, err := waiting.Wait(t.Context()); !errors.Is(err, rpc.ErrLost) || !strings.Contains(err.Error(), l.Addr()) {
			t.Errorf("a call under way ended with %v, want %v of %s", err, rpc.ErrLost, l.Addr())
		}
	}
	if _, err := c.Start(t.Context(), &rpc.Request{}).Wait(t.Context()); !errors.Is(err, rpc.ErrLost) {
		t.Errorf("a call after the end: %v, want %v", err, rpc.ErrLost)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

func testServerClosesIdle(t *testing.T, setup Setup) {
	c, l, stop := start(t, setup, plenty, Echo)
	call(t, c, &rpc.Request{})
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Start(t.Context(), &rpc.Request{}).Wait(t.Context()); !errors.Is(err, rpc.ErrLost) {
		t.Errorf("a call after the end: %v, want %v", err, rpc.ErrLost)
	}
	stop()
}

func testTwoServers(t *testing.T, setup Setup) {
	var conns []rpc.Conn
	for i := range 2 {
		c, _, stop := start(t, setup, plenty, func(context.Context, *rpc.Peer, *rpc.Request) (*rpc.Response, error) {
			return &rpc.Response{Clock: int32(i)}, nil
		})
		defer stop()
		conns = append(conns, c)
	}
	for i, c := range conns {
		if r := call(t, c, &rpc.Request{}); r.Clock != int32(i) {
			t.Errorf("server %d answered the call to %d", r.Clock, i)
		}
	}
}
