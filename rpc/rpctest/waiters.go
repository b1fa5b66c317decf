package rpctest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"thole.example/rpc"
)

// Many goroutines wait for answers of one connection, small and large, early and late: each gets its own, also if others give theirs up.
func testWaiters(t *testing.T, setup Setup) {
	c, _, stop := start(t, setup, plenty, func(x *rpc.Exchange) {
		if x.Clock%7 > 0 {
			Echo(x)
			return
		}
		go func() {
			time.Sleep(time.Duration(x.Clock%5) * time.Millisecond)
			Echo(x)
		}()
	})
	defer stop()
	var waiters sync.WaitGroup
	for w := range 6 {
		waiters.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 3))
			for round := range 40 {
				waitForSome(t, c, rng, int32(1000*w+10*round))
			}
		})
	}
	waiters.Wait()
}

// waitForSome starts some requests and waits for their answers, in any order.
func waitForSome(t *testing.T, c rpc.Conn, rng *rand.Rand, first int32) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ends := rng.IntN(4) == 0
	if ends {
		time.AfterFunc(time.Duration(rng.IntN(3000))*time.Microsecond, cancel)
	}
	calls := make([]*rpc.Call, 1+rng.IntN(3))
	sizes := make([]int, len(calls))
	for i := range calls {
		sizes[i] = []int{0, 10, 1000, 30_000}[rng.IntN(4)]
		part, memory := numbered(sizes[i], float64(first))
		calls[i] = c.Start(context.Background(), &rpc.Request{Clock: first + int32(i), Parts: []rpc.Part{part}, Memory: memory})
		memory.Release()
	}
	for _, i := range rng.Perm(len(calls)) {
		if rng.IntN(2) == 0 {
			calls[i].Await(ctx, time.After(time.Duration(rng.IntN(3000))*time.Microsecond))
		}
		r, err := calls[i].Wait(ctx)
		switch {
		case err == nil && (r.Clock != first+int32(i) || len(r.Parts[0].Values) != 8*sizes[i]):
			t.Errorf("request %d of %d values has answer %d", first+int32(i), sizes[i], r.Clock)
		case err != nil && !(ends && errors.Is(err, context.Canceled)):
			t.Errorf("request %d: %v", first+int32(i), err)
		}
		r.Release()
	}
}

// A goroutine that waits for an answer hears the alarm, and may wait again.
func testAlarm(t *testing.T, setup Setup) {
	held := make(chan *rpc.Exchange, 1)
	c, _, stop := start(t, setup, plenty, func(x *rpc.Exchange) {
		if x.Clock == 0 {
			Echo(x)
			return
		}
		held <- x
	})
	defer stop()
	for range 3 { // so that the goroutine is used to read the answers itself
		call(t, c, &rpc.Request{}).Release()
	}
	waits := c.Start(t.Context(), &rpc.Request{Clock: 1})
	for range 3 {
		if waits.Await(t.Context(), time.After(10*time.Millisecond)) {
			t.Fatal("there is an answer that was not given")
		}
	}
	Echo(<-held)
	if !waits.Await(t.Context(), nil) {
		t.Fatal("the answer does not come")
	}
	r, err := waits.Wait(t.Context())
	if err != nil || r.Clock != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	r.Release()
}
