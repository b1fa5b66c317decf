package rpc_test

import (
	"context"
	"errors"
	"testing"
	"unsafe"

	"thole.example/budget"
	"thole.example/rpc"
)

// Buffers begin at a multiple of 8, and their bytes are counted until the last who uses them has released them.
func TestBuffer(t *testing.T) {
	ledger := budget.New(1 << 40)
	for _, n := range []int{0, 1, 4096, 4097, 100_001, 64 << 20, 64<<20 + 1} {
		for _, newBuffer := range []func(int, budget.Charge) *rpc.Buffer{rpc.NewBuffer, rpc.NewBuffer, rpc.MappedBuffer, rpc.MappedBuffer} {
			charge, _ := ledger.TryTake(budget.Frames, int64(n))
			f := newBuffer(n, charge)
			if b := f.Bytes(); len(b) != n || n > 0 && uintptr(unsafe.Pointer(&b[0]))%8 != 0 {
				t.Errorf("%d bytes: got %d at %p", n, len(b), &b[0])
			}
			if f.Retain() != f {
				t.Error("retained it is another")
			}
			f.Charge().Move(budget.Stage)
			f.Release()
			if used := ledger.Used(); used[budget.Stage] != int64(n) {
				t.Errorf("used %v, want %d bytes in the stage while one still uses them", used, n)
			}
			f.Release()
			if used := ledger.Used(); used != (budget.Usage{}) {
				t.Errorf("used %v after the last has released them", used)
			}
		}
	}
	for _, n := range []int{1, 512, 513, 640, 641, 1000, 4097, 100_001, 1<<20 + 1, 2 << 20, 2<<20 + 1, 3<<20 + 1, 4 << 20, 9<<20 + 77} {
		taken := rpc.Taken(n)
		if taken < int64(n) || n >= 512 && taken > int64(n)+int64(n)/4 && taken > int64(n)+1<<20 || taken%8 != 0 {
			t.Errorf("%d bytes are taken for %d", taken, n)
		}
		f := rpc.NewBuffer(n, budget.Charge{})
		if have := int64(cap(f.Bytes())); n <= rpc.HeapMost && have != taken {
			t.Errorf("a buffer of %d bytes has %d, want the %d that are charged", n, have, taken)
		}
		f.Release()
	}
	var none *rpc.Buffer
	none.Release()
	if none.Retain() != nil || none.Bytes() != nil || none.Charge().Bytes() != 0 {
		t.Error("no buffer has something")
	}
}

// The room that was taken for an answer is used by its buffer, and what is left of it is given back; what the answer takes
// beyond it is counted all the same.
func TestExchangeRoom(t *testing.T) {
	for _, c := range []struct{ room, size, during int64 }{
		{1024, 640, 1024}, {1024, 1024, 1024}, {1024, 1280, 1280}, {0, 512, 512}, {1024, 0, 1024}, {1024, 600, 1024},
	} {
		ledger := budget.New(1 << 20)
		queue := ledger.NewCredit(budget.Queues, 1)
		queue.Close() // so that nothing is left in it
		var got *rpc.Response
		x := rpc.NewExchange(&rpc.Request{}, &rpc.Peer{}, func(_ *rpc.Exchange, r *rpc.Response, _ error) { got = r })
		room, _ := ledger.TryTake(budget.Queues, c.room)
		x.Reserve(room, c.room, queue)
		if x.Reserved() != c.room {
			t.Errorf("%d bytes reserved, want %d", x.Reserved(), c.room)
		}
		f := x.Buffer(int(c.size))
		if used := ledger.Used()[budget.Queues]; used != c.during {
			t.Errorf("%d bytes used for %d with room for %d, want %d", used, c.size, c.room, c.during)
		}
		x.Answer(&rpc.Response{Memory: f})
		if used := ledger.Used()[budget.Queues]; used != rpc.Taken(int(c.size)) {
			t.Errorf("%d bytes used after the answer of %d, want those of its memory, %d", used, c.size, rpc.Taken(int(c.size)))
		}
		got.Release()
		if used := ledger.Used(); used != (budget.Usage{}) {
			t.Errorf("used %v in the end", used)
		}
	}
}

// The first answer counts; the memory of others, and that of the request, is given back.
func TestExchangeAnswer(t *testing.T) {
	ledger := budget.New(1 << 20)
	memory := func() *rpc.Buffer {
		charge, _ := ledger.TryTake(budget.Queues, 10)
		return rpc.NewBuffer(10, charge)
	}
	var answers []*rpc.Response
	x := rpc.NewExchange(&rpc.Request{Memory: memory()}, &rpc.Peer{}, func(_ *rpc.Exchange, r *rpc.Response, _ error) {
		answers = append(answers, r)
	})
	before := x.Context()
	if before.Err() != nil || x.Answered() {
		t.Error("it has ended before it was answered")
	}
	x.Answer(&rpc.Response{Memory: memory()})
	x.Answer(&rpc.Response{Memory: memory()})
	x.Fail(rpc.ErrRefused)
	if len(answers) != 1 || !x.Answered() || before.Err() == nil || x.Context() != before {
		t.Errorf("%d answers, context %v", len(answers), before.Err())
	}
	if used := ledger.Used()[budget.Queues]; used != 10 {
		t.Errorf("%d bytes used, want the 10 of the first answer", used)
	}
	answers[0].Release()
	answers[0].Release()
	if used := ledger.Used(); used != (budget.Usage{}) {
		t.Errorf("used %v in the end", used)
	}
}

// The first reason why an exchange ended stays, whether its context was asked for before or after.
func TestExchangeCancel(t *testing.T) {
	for _, early := range []bool{true, false} {
		x := rpc.NewExchange(&rpc.Request{}, &rpc.Peer{}, func(*rpc.Exchange, *rpc.Response, error) {})
		if early {
			_ = x.Context()
		}
		x.Cancel(rpc.ErrAborted)
		x.Cancel(rpc.ErrLost)
		x.Answer(nil)
		if why := context.Cause(x.Context()); why != rpc.ErrAborted {
			t.Errorf("ended by %v, want %v", why, rpc.ErrAborted)
		}
	}
}

// The answer to a call that was given up is not counted any more, and is still there.
func TestCallGivenUp(t *testing.T) {
	ledger := budget.New(1 << 20)
	given := uint64(0)
	call := rpc.NewCall(7, func(id uint64) { given = id })
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("mine")
	cancel(mine)
	if _, err := call.Wait(ctx); err != mine || given != 7 {
		t.Errorf("got %v, told of %d, want %v and 7", err, given, mine)
	}
	charge, _ := ledger.TryTake(budget.Frames, 10)
	call.Finish(&rpc.Response{Clock: 3, Memory: rpc.NewBuffer(10, charge)}, nil)
	if used := ledger.Used(); used != (budget.Usage{}) {
		t.Errorf("used %v, though perhaps nobody will release it", used)
	}
	for range 2 {
		r, err := call.Wait(ctx) // what is there is given, even to a context that has ended
		if err != nil || r.Clock != 3 {
			t.Errorf("answer %+v, error %v", r, err)
		}
		r.Release()
	}
}

// What is read beside the buffer of an answer is counted in the same room, or beyond it all the same, with what else the answer
// takes for it, and is given back with the buffer that holds it.
func TestExchangeMore(t *testing.T) {
	const whole = 512 + 2*(640+40)
	for _, c := range []struct{ room, during int64 }{{0, whole}, {200, whole}, {1500, whole}, {whole, whole}, {3000, 3000}} {
		ledger := budget.New(1 << 20)
		queue := ledger.NewCredit(budget.Queues, 1)
		queue.Close() // so that nothing is left in it
		x := rpc.NewExchange(&rpc.Request{}, &rpc.Peer{}, func(_ *rpc.Exchange, r *rpc.Response, _ error) { r.Release() })
		room, _ := ledger.TryTake(budget.Queues, c.room)
		x.Reserve(room, c.room, queue)
		f := x.Buffer(500)
		for range 2 {
			more := x.More(600, 40)
			if len(more.Bytes()) != 600 {
				t.Errorf("%d bytes, want 600", len(more.Bytes()))
			}
			f.Hold(more)
		}
		if used := ledger.Used()[budget.Queues]; used != c.during {
			t.Errorf("%d bytes used with room for %d, want %d", used, c.room, c.during)
		}
		f.Retain()
		x.Answer(&rpc.Response{Memory: f})
		if used := ledger.Used()[budget.Queues]; used != whole {
			t.Errorf("%d bytes used while one still uses them, want %d", used, whole)
		}
		f.Release()
		if used := ledger.Used(); used != (budget.Usage{}) {
			t.Errorf("used %v in the end", used)
		}
	}
}

// checkFunc is a Checker.
type checkFunc func() error

func (f checkFunc) Check() error { return f() }

// An exchange whose server may not answer any more is answered with the reason, whatever the answer would have been, and the memory of that
// is given back.
func TestExchangeChecked(t *testing.T) {
	why := error(nil)
	for _, c := range []struct{ check, answer, want error }{
		{nil, nil, nil}, {nil, rpc.ErrStale, rpc.ErrStale}, {rpc.ErrAborted, nil, rpc.ErrAborted}, {rpc.ErrAborted, rpc.ErrStale, rpc.ErrAborted},
	} {
		ledger, answers := budget.New(1<<20), 0
		var err error
		x := rpc.NewExchange(&rpc.Request{}, &rpc.Peer{}, func(_ *rpc.Exchange, r *rpc.Response, e error) { answers, err = answers+1, e; r.Release() })
		why = nil
		x.Checked(checkFunc(func() error { return why }))
		charge, _ := ledger.TryTake(budget.Queues, 100)
		memory := rpc.NewBuffer(100, charge)
		if why = c.check; c.answer != nil {
			memory.Release()
			x.Fail(c.answer)
		} else {
			x.Answer(&rpc.Response{Memory: memory})
		}
		if answers != 1 || !errors.Is(err, c.want) || c.want == nil && err != nil || ledger.Used().Total() != 0 {
			t.Errorf("%+v: %d answers, %v, %d bytes left", c, answers, err, ledger.Used().Total())
		}
	}
}
