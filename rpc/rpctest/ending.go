package rpctest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"thole.example/rpc"
)

// A client never has more requests under way than the window; the next Start waits for an answer.
func testWindow(t *testing.T, setup Setup) {
	const window = 2
	parked := make(chan *rpc.Exchange, 40)
	c, _, stop := start(t, setup, window, func(x *rpc.Exchange) { parked <- x })
	defer stop()
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			r, err := c.Start(t.Context(), &rpc.Request{Clock: int32(i)}).Wait(t.Context())
			if err != nil || r.Clock != int32(i) {
				t.Errorf("call %d: answer %+v, error %v", i, r, err)
			}
			r.Release()
		})
	}
	for range 20 { // the window is seen full before one of both is answered, and never more than full
		first, second := <-parked, <-parked
		if len(parked) > 0 {
			t.Error("more requests than the window has room for")
		}
		Echo(second)
		Echo(first)
	}
	wg.Wait()
}

func testWindowGivenUp(t *testing.T, setup Setup) {
	parked := make(chan *rpc.Exchange, 3)
	c, _, stop := start(t, setup, 1, func(x *rpc.Exchange) { parked <- x })
	defer stop()
	first := c.Start(t.Context(), &rpc.Request{Clock: 1})
	x := <-parked
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
	Echo(x)
	if r, err := first.Wait(t.Context()); err != nil || r.Clock != 1 {
		t.Errorf("answer %+v, error %v", r, err)
	}
	third := c.Start(t.Context(), &rpc.Request{Clock: 3})
	Echo(<-parked)
	if r, err := third.Wait(t.Context()); err != nil || r.Clock != 3 {
		t.Errorf("answer %+v, error %v, want that of call 3", r, err)
	}
}

// hung starts n calls that are answered when the peer is gone and their context has ended.
func hung(t *testing.T, setup Setup, n int) (c rpc.Conn, l rpc.Listener, calls []*rpc.Call, left *sync.WaitGroup) {
	began := make(chan struct{}, n)
	left = &sync.WaitGroup{}
	left.Add(n)
	c, l, _ = start(t, setup, plenty, Blocking(func(x *rpc.Exchange) (*rpc.Response, error) {
		defer left.Done()
		began <- struct{}{}
		<-x.From.Gone
		<-x.Context().Done()
		return nil, x.Context().Err()
	}))
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
	left.Wait() // the server notices while it goes on
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func testServerCloses(t *testing.T, setup Setup) {
	c, l, calls, left := hung(t, setup, 3)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	left.Wait()
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
	call(t, c, &rpc.Request{}).Release()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Start(t.Context(), &rpc.Request{}).Wait(t.Context()); !errors.Is(err, rpc.ErrLost) {
		t.Errorf("a call after the end: %v, want %v", err, rpc.ErrLost)
	}
	stop()
}

// What is answered after the connection has ended is dropped; once the listener is closed no request comes any more.
func testLate(t *testing.T, setup Setup) {
	parked := make(chan *rpc.Exchange, 2)
	c, l, _ := start(t, setup, plenty, func(x *rpc.Exchange) { parked <- x })
	first := c.Start(t.Context(), &rpc.Request{})
	x := <-parked
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	<-x.From.Gone
	Echo(x)
	if _, err := first.Wait(t.Context()); !errors.Is(err, rpc.ErrClosed) {
		t.Errorf("got %v, want %v", err, rpc.ErrClosed)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if !x.Answered() || len(parked) > 0 {
		t.Errorf("answered: %v; %d requests after the end", x.Answered(), len(parked))
	}
}

func testTwoServers(t *testing.T, setup Setup) {
	var conns []rpc.Conn
	for i := range 2 {
		c, _, stop := start(t, setup, plenty, func(x *rpc.Exchange) { x.Answer(&rpc.Response{Clock: int32(i)}) })
		defer stop()
		conns = append(conns, c)
	}
	for i, c := range conns {
		if r := call(t, c, &rpc.Request{}); r.Clock != int32(i) {
			t.Errorf("server %d answered the call to %d", r.Clock, i)
		}
	}
}

// Each connection has a Peer of its own, the same for all its requests.
func testPeers(t *testing.T, setup Setup) {
	n, addr := setup(t, plenty)
	l, err := n.Listen(t.Context(), addr, Func(func(x *rpc.Exchange) {
		count, _ := x.From.State.(int32)
		x.From.State = count + 1
		x.Answer(&rpc.Response{Clock: count + 1})
	}))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c, err := n.Dial(t.Context(), l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		for i := range int32(3) {
			if r := call(t, c, &rpc.Request{}); r.Clock != i+1 {
				t.Errorf("request %d of the connection is its %d.", i+1, r.Clock)
			}
		}
		defer func() { _ = c.Close() }()
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
