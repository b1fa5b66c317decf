package rpctest

import (
	"context"
	"slices"
	"testing"
	"time"

	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/rpc"
)

// Bench measures the network: the round trip of empty requests, one and many under way, and the rows per second of pulls
// and pushes of 10,000 keys with 16 f32 each (80 kB of keys, 640 kB of values).
func Bench(b *testing.B, setup Setup) {
	b.Run("empty", func(b *testing.B) { benchTrip(b, setup) })
	for _, c := range []struct {
		name  string
		depth int
		keys  int
		push  bool
	}{
		{"empty depth 16", 16, 0, false},
		{"pull depth 1", 1, 10_000, false},
		{"pull depth 4", 4, 10_000, false},
		{"push depth 1", 1, 10_000, true},
		{"push depth 4", 4, 10_000, true},
	} {
		b.Run(c.name, func(b *testing.B) { benchFlow(b, setup, c.depth, c.keys, c.push) })
	}
}

// benchTrip reports the median round trip besides the mean.
func benchTrip(b *testing.B, setup Setup) {
	c, _, stop := start(b, setup, plenty, Echo)
	defer stop()
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		call(b, c, &rpc.Request{Op: rpc.OpPush}).Release()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
}

const benchDim = 16

// Values answers a pull with as many values as it asks for, from a buffer that is not filled.
func Values(x *rpc.Exchange) {
	r := &rpc.Response{Clock: x.Clock}
	for i := range x.Parts {
		if p := x.Parts[i]; p.Values == nil {
			r.Memory = rpc.NewBuffer(len(p.Keys)*benchDim*p.DType.Size(), budget.Charge{})
			p.Keys, p.Groups, p.Values = nil, nil, r.Memory.Bytes()
			r.Parts = []rpc.Part{p}
		}
	}
	x.Answer(r)
}

func benchFlow(b *testing.B, setup Setup, depth, keys int, push bool) {
	c, _, stop := start(b, setup, plenty, Values)
	defer stop()
	q := &rpc.Request{Op: rpc.OpPull}
	if keys > 0 {
		q.Parts = []rpc.Part{{Kind: rpc.KindKeys, DType: matrix.F32, Rows: matrix.Range{Hi: benchDim}, Keys: make([]int64, keys),
			Groups: []rpc.Group{{Keys: uint32(keys)}}}}
	}
	if push {
		q.Op, q.Memory = rpc.OpPush, rpc.NewBuffer(4*benchDim*keys, budget.Charge{})
		q.Parts[0].Values = q.Memory.Bytes()
		defer q.Memory.Release()
	}
	b.SetBytes(int64(keys) * (8 + 4*benchDim))
	b.ReportAllocs()
	calls := make(chan *rpc.Call, depth)
	wait := func() {
		r, err := (<-calls).Wait(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		r.Release()
	}
	for b.Loop() {
		if len(calls) == depth {
			wait()
		}
		calls <- c.Start(context.Background(), q)
	}
	for len(calls) > 0 {
		wait()
	}
	b.ReportMetric(float64(b.N*keys)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
