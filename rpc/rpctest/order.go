package rpctest

import (
	"fmt"
	"sync"
	"testing"

	"thole.example/budget"
	"thole.example/rpc"
)

// Requests that are under way together arrive in the order in which they were sent, one after the other.
func testOrder(t *testing.T, setup Setup) {
	const n = 500
	next, inside := int32(0), sync.Mutex{}
	c, _, stop := start(t, setup, 16, func(x *rpc.Exchange) {
		if !inside.TryLock() {
			t.Error("two requests of one connection at once")
			x.Answer(nil)
			return
		}
		defer inside.Unlock()
		if x.Clock != next {
			t.Errorf("request %d comes when %d is due", x.Clock, next)
		}
		next = x.Clock + 1
		if x.Clock%3 == 0 {
			go Echo(x)
		} else {
			Echo(x)
		}
	})
	defer stop()
	calls := make([]*rpc.Call, n)
	for i := range calls {
		calls[i] = c.Start(t.Context(), &rpc.Request{Clock: int32(i), Arg: make([]byte, i*i%3000)})
	}
	for i, waiting := range calls {
		r, err := waiting.Wait(t.Context())
		if err != nil || r.Clock != int32(i) {
			t.Fatalf("call %d: answer %+v, error %v", i, r, err)
		}
		r.Release()
	}
}

// A request is answered by whoever is done with it, while the connection reads on.
func testElsewhere(t *testing.T, setup Setup) {
	work := make(chan *rpc.Exchange, plenty)
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for x := range work {
				Echo(x)
			}
		})
	}
	c, _, stop := start(t, setup, plenty, func(x *rpc.Exchange) { work <- x })
	var calls []*rpc.Call
	for i := range 3 * plenty {
		calls = append(calls, c.Start(t.Context(), &rpc.Request{Clock: int32(i)}))
	}
	for i, waiting := range calls {
		r, err := waiting.Wait(t.Context())
		if err != nil || r.Clock != int32(i) {
			t.Errorf("call %d: answer %+v, error %v", i, r, err)
		}
		r.Release()
	}
	stop()
	close(work)
	workers.Wait()
}

func testAnyOrder(t *testing.T, setup Setup) {
	var parked []*rpc.Exchange
	c, _, stop := start(t, setup, plenty, func(x *rpc.Exchange) {
		if parked = append(parked, x); len(parked) == 5 {
			for _, i := range []int{4, 1, 0, 3, 2} {
				if parked[i].Answered() {
					t.Errorf("request %d is answered already", i)
				}
				Echo(parked[i])
				if !parked[i].Answered() {
					t.Errorf("request %d is not answered", i)
				}
			}
		}
	})
	defer stop()
	var calls []*rpc.Call
	for i := range 5 {
		calls = append(calls, c.Start(t.Context(), &rpc.Request{Clock: int32(i)}))
	}
	for i, waiting := range calls {
		r, err := waiting.Wait(t.Context())
		if err != nil || r.Clock != int32(i) {
			t.Errorf("call %d: answer %+v, error %v", i, r, err)
		}
		r.Release()
	}
}

func testTwice(t *testing.T, setup Setup) {
	c, _, stop := start(t, setup, plenty, func(x *rpc.Exchange) {
		Echo(x)
		x.Fail(rpc.ErrRefused)
		x.Answer(nil)
	})
	defer stop()
	for i := range int32(3) {
		r := call(t, c, &rpc.Request{Clock: i})
		if r.Clock != i {
			t.Errorf("answer of call %d, want %d", r.Clock, i)
		}
		r.Release()
	}
}

// Memory that is pushed and answered is given back once, and what a server retains outlives the answer.
func testMemory(t *testing.T, setup Setup) {
	ledger := budget.New(1 << 30)
	var parked []*rpc.Buffer
	var values [][]byte
	c, _, stop := start(t, setup, plenty, func(x *rpc.Exchange) {
		parked = append(parked, x.Memory.Retain())
		values = append(values, x.Parts[0].Values)
		charge, _ := ledger.TryTake(budget.Queues, 1000)
		x.Answer(&rpc.Response{Memory: rpc.NewBuffer(1000, charge)})
	})
	for i := range byte(20) {
		charge, _ := ledger.TryTake(budget.Stage, 500)
		memory := rpc.NewBuffer(500, charge)
		for j := range memory.Bytes() {
			memory.Bytes()[j] = i
		}
		q := &rpc.Request{Parts: []rpc.Part{{Kind: rpc.KindKeys, DType: 10, Values: memory.Bytes()}}, Memory: memory}
		r := call(t, c, q)
		memory.Release()
		r.Release()
	}
	for i, v := range values {
		if fmt.Sprint(v[:3], v[497:]) != fmt.Sprint([]int{i, i, i}, []int{i, i, i}) {
			t.Errorf("what was pushed as %d is %d now", i, v[0])
		}
	}
	stop()
	for _, f := range parked {
		f.Release()
	}
	if used := ledger.Used(); used != (budget.Usage{}) {
		t.Errorf("%+v are still used", used)
	}
}
