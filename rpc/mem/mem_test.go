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
		l, err := n.Listen(t.Context(), addr, rpctest.Func(
			func(ctx context.Context, _ *rpc.Peer, _ *rpc.Request) (*rpc.Response, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}))
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
		if _, err = c.Start(ctx, &rpc.Request{}).Wait(t.Context()); err == nil {
			t.Error("a call that nobody answers has ended without an error")
		}
		if took := time.Since(began); took != time.Hour {
			t.Errorf("the call ended after %v, want its deadline of an hour", took)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkMem(b *testing.B) { rpctest.Bench(b, setup) }
