package rpctest

import (
	"context"
	"slices"
	"testing"
	"time"

	"thole.example/matrix"
	"thole.example/rpc"
)

// Bench measures the network: the round trip of small requests, one and many under way, and the throughput of dense
// values to and from the server.
func Bench(b *testing.B, setup Setup) {
	b.Run("tiny", func(b *testing.B) { benchTrip(b, setup, func() *rpc.Request { return &rpc.Request{Op: rpc.OpPush} }) })
	b.Run("sample", func(b *testing.B) { benchTrip(b, setup, Sample) })
	for _, c := range []struct {
		name        string
		depth       int
		push, reply int // float64 values
	}{
		{"tiny depth 16", 16, 0, 0},
		{"push 64 KiB depth 4", 4, 1 << 13, 0},
		{"push 1 MiB depth 1", 1, 1 << 17, 0},
		{"push 1 MiB depth 4", 4, 1 << 17, 0},
		{"pull 1 MiB depth 1", 1, 0, 1 << 17},
		{"pull 1 MiB depth 4", 4, 0, 1 << 17},
	} {
		b.Run(c.name, func(b *testing.B) { benchFlow(b, setup, c.depth, c.push, c.reply) })
	}
}

// benchTrip reports the median round trip besides the mean.
func benchTrip(b *testing.B, setup Setup, request func() *rpc.Request) {
	c, _, stop := start(b, setup, plenty, func(context.Context, *rpc.Peer, *rpc.Request) (*rpc.Response, error) {
		return &rpc.Response{Clock: 1}, nil
	})
	defer stop()
	var took []time.Duration
	for b.Loop() {
		q := request()
		began := time.Now()
		call(b, c, q)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
}

func benchFlow(b *testing.B, setup Setup, depth, push, reply int) {
	dense := func(val []float64) []rpc.Piece {
		if len(val) == 0 {
			return nil
		}
		return []rpc.Piece{{Matrix: "w", Blocks: []matrix.Block{
			{At: matrix.At(0, 1, 0, int64(len(val))), Data: &matrix.Dense[float64]{Val: val}}}}}
	}
	there, back := make([]float64, push), make([]float64, reply) // never changed, so they may be sent again and again
	c, _, stop := start(b, setup, plenty, func(context.Context, *rpc.Peer, *rpc.Request) (*rpc.Response, error) {
		return &rpc.Response{Pieces: dense(back)}, nil
	})
	defer stop()
	b.SetBytes(int64(8 * (push + reply)))
	var under []*rpc.Call
	wait := func() {
		if _, err := under[0].Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
		under = under[1:]
	}
	for b.Loop() {
		if len(under) == depth {
			wait()
		}
		under = append(under, c.Start(context.Background(), &rpc.Request{Op: rpc.OpPush, Pieces: dense(there)}))
	}
	for len(under) > 0 {
		wait()
	}
}
