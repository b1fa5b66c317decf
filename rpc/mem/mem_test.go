package mem_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/rpc/rpctest"
)

func setup(_ testing.TB, window int) (rpc.Network, string) {
	return &mem.Network{Window: window, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, ""
}

func TestNetwork(t *testing.T) { rpctest.Run(t, setup) }

// In a bubble time stands still while anything can happen, so a deadline of an hour is over as soon as all wait.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, addr := setup(t, 4)
		var parked *rpc.Exchange
		l, err := n.Listen(t.Context(), addr, rpctest.Func(func(x *rpc.Exchange) { parked = x }))
		if err != nil {
			t.Fatal(err)
		}
		c, err := n.Dial(t.Context(), l.Addr())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		if _, err = c.Start(t.Context(), &rpc.Request{}).Wait(ctx); err == nil {
			t.Error("a call that nobody answers has ended without an error")
		}
		if took := time.Since(began); took != time.Hour {
			t.Errorf("the call ended after %v, want its deadline of an hour", took)
		}
		if parked.Context().Err() == nil {
			t.Error("nobody waits any more, and the handler's context has not ended")
		}
		parked.Answer(nil)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The handler runs in the goroutine of the caller and gets the caller's own slices.
func TestNoCopies(t *testing.T) {
	n, addr := setup(t, 4)
	keys := []int64{1, 2, 3}
	var got *rpc.Request
	l, err := n.Listen(t.Context(), addr, rpctest.Func(func(x *rpc.Exchange) {
		got = x.Request
		x.Answer(nil)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := n.Dial(t.Context(), l.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	waiting := c.Start(t.Context(), &rpc.Request{Parts: []rpc.Part{{Kind: rpc.KindKeys, Keys: keys}}})
	if got == nil || &got.Parts[0].Keys[0] != &keys[0] {
		t.Errorf("when Start returns the handler has got %+v, want the caller's keys", got)
	}
	if _, err := waiting.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func BenchmarkMem(b *testing.B) { rpctest.Bench(b, setup) }
