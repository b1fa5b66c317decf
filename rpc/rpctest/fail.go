package rpctest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"thole.example/rpc"
)

func testErrors(t *testing.T, setup Setup) {
	kinds := []error{rpc.ErrStale, rpc.ErrNotFound, rpc.ErrExists, rpc.ErrRefused, rpc.ErrAborted, rpc.ErrTimeout,
		rpc.ErrClosed, rpc.ErrMalformed, rpc.ErrTooLarge, rpc.ErrInternal}
	c, l, stop := start(t, setup, plenty, func(x *rpc.Exchange) {
		if int(x.Clock) < len(kinds) {
			x.Fail(fmt.Errorf("matrix w: %w: again", kinds[x.Clock]))
			return
		}
		x.Fail(errors.New("something else"))
	})
	defer stop()
	for i, kind := range kinds {
		_, err := c.Start(t.Context(), &rpc.Request{Clock: int32(i)}).Wait(t.Context())
		want := fmt.Sprintf("server %s: matrix w: %v: again", l.Addr(), kind)
		if !errors.Is(err, kind) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err := c.Start(t.Context(), &rpc.Request{Clock: 100}).Wait(t.Context())
	var f *rpc.Fault
	if !errors.As(err, &f) || f.Server != l.Addr() || f.Text != "something else" || f.Kind != nil {
		t.Errorf("got %v, want a fault of unknown kind", err)
	}
}

func testPanic(t *testing.T, setup Setup) {
	c, _, stop := start(t, setup, plenty, func(x *rpc.Exchange) {
		if x.Clock == 0 {
			panic("out of cheese")
		}
		Echo(x)
	})
	defer stop()
	_, err := c.Start(t.Context(), &rpc.Request{}).Wait(t.Context())
	if !errors.Is(err, rpc.ErrInternal) || !strings.Contains(err.Error(), "out of cheese") {
		t.Errorf("got %v, want the panic as an error", err)
	} else if strings.Contains(err.Error(), "goroutine") {
		t.Errorf("got %v, want the stack in the log alone", err)
	}
	r := call(t, c, &rpc.Request{Clock: 1})
	if r.Clock != 1 {
		t.Errorf("answer of call %d, want 1", r.Clock)
	}
	r.Release()
}

// A Wait that ends tells the handler that nobody waits; the answer that comes all the same is there for a later Wait.
func testCancel(t *testing.T, setup Setup) {
	began, ended := make(chan struct{}), make(chan error, 1)
	c, _, stop := start(t, setup, plenty, Blocking(func(x *rpc.Exchange) (*rpc.Response, error) {
		ctx := x.Context()
		began <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return &rpc.Response{Clock: 8}, nil
	}))
	defer stop()
	mine := errors.New("not wanted any more")
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := c.Start(t.Context(), &rpc.Request{})
	<-began
	cancel(mine)
	if _, err := waiting.Wait(ctx); !errors.Is(err, mine) {
		t.Errorf("the caller got %v, want %v", err, mine)
	}
	if err := <-ended; !errors.Is(err, rpc.ErrAborted) {
		t.Errorf("the handler's context ended with %v, want %v", err, rpc.ErrAborted)
	}
	for range 2 {
		r, err := waiting.Wait(t.Context())
		if err != nil || r.Clock != 8 {
			t.Errorf("waited for again: answer %+v, error %v", r, err)
		}
	}
}

func testDeadline(t *testing.T, setup Setup) {
	c, _, stop := start(t, setup, plenty, Blocking(func(x *rpc.Exchange) (*rpc.Response, error) {
		<-x.Context().Done()
		return nil, rpc.ErrAborted
	}))
	defer stop()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := c.Start(t.Context(), &rpc.Request{}).Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the caller got %v, want %v", err, context.DeadlineExceeded)
	}
}

func testEnded(t *testing.T, setup Setup) {
	c, _, stop := start(t, setup, plenty, Echo)
	defer stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Start(ctx, &rpc.Request{}).Wait(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func testNobody(t *testing.T, setup Setup) {
	c, l, stop := start(t, setup, plenty, Echo)
	addr := l.Addr()
	call(t, c, &rpc.Request{}).Release()
	stop()
	n, _ := setup(t, plenty)
	_, err := n.Dial(t.Context(), addr)
	if !errors.Is(err, rpc.ErrUnreachable) || !strings.Contains(err.Error(), addr) {
		t.Errorf("got %v, want %v at %s", err, rpc.ErrUnreachable, addr)
	}
}

func testInUse(t *testing.T, setup Setup) {
	n, addr := setup(t, plenty)
	l, err := n.Listen(t.Context(), addr, Func(Echo))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = n.Listen(t.Context(), l.Addr(), Func(Echo)); !errors.Is(err, rpc.ErrInUse) {
		t.Errorf("got %v, want %v", err, rpc.ErrInUse)
	} else if !strings.Contains(err.Error(), l.Addr()) {
		t.Errorf("%v does not name %s", err, l.Addr())
	}
	addr = l.Addr()
	if err = l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = n.Listen(t.Context(), addr, Func(Echo)); err != nil {
		t.Fatalf("after the first listener was closed: %v", err)
	}
	if err = l.Close(); err != nil {
		t.Fatal(err)
	}
}
