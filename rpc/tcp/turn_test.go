package tcp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/matrix"
	"thole.example/rpc"
)

// A goroutine that reads its own answer is interrupted as soon as its context ends, also if it has read with that context before.
func TestReadInterrupted(t *testing.T) {
	inBubble(t, Network{}, handler(func(x *rpc.Exchange) {
		if x.Op == rpc.OpBarrier {
			time.AfterFunc(time.Hour, func() { echo(x) })
			return
		}
		echo(x)
	}), func(b *bubble) {
		c := b.dial(Network{}, relay{})
		for range 3 {
			ctx, cancel := context.WithCancel(b.Context())
			for range 2 {
				if _, err := c.Start(ctx, &rpc.Request{Op: rpc.OpPull}).Wait(ctx); err != nil {
					t.Fatal(err)
				}
			}
			waits, began := c.Start(ctx, &rpc.Request{Op: rpc.OpBarrier}), time.Now()
			time.AfterFunc(time.Microsecond, cancel)
			if _, err := waits.Wait(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("a wait whose context ended: %v", err)
			}
			if took := time.Since(began); took > 10*time.Microsecond {
				t.Errorf("the wait ended %v after its context", took)
			}
		}
		b.served(c)
		_ = c.Close()
	})
}

// Answers for which nobody waits are read all the same: soon if they may be large, whatever small ones come meanwhile.
func TestReadAhead(t *testing.T) {
	inBubble(t, Network{}, handler(echo), func(b *bubble) {
		c := b.dial(Network{}, relay{})
		for _, x := range []struct {
			name   string
			q      rpc.Request
			within time.Duration
		}{
			{"small", rpc.Request{Op: rpc.OpPull}, 2 * longTurn},
			{"large", rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{{Kind: rpc.KindStored}}}, 2 * turnTime},
		} {
			for range 3 {
				b.served(c) // the timer may run for long
				call := c.Start(b.Context(), &x.q)
				time.Sleep(x.within)
				synctest.Wait()
				if !call.Ready() {
					t.Errorf("%s: the answer was not read within %v", x.name, x.within)
				}
				r, err := call.Wait(b.Context())
				if err != nil {
					t.Fatal(err)
				}
				r.Release()
			}
		}
		_ = c.Close()
	})
}

// Which answers may be large is known before they come.
func TestMayBeLarge(t *testing.T) {
	rows := func(n int64) matrix.Range { return matrix.Range{Hi: n} }
	for _, x := range []struct {
		name  string
		op    rpc.Op
		part  rpc.Part
		large bool
	}{
		{"keys", rpc.OpPull, rpc.Part{Kind: rpc.KindKeys, Rows: rows(16), Keys: make([]int64, 26)}, false},
		{"many keys", rpc.OpPull, rpc.Part{Kind: rpc.KindKeys, Rows: rows(16), Keys: make([]int64, 513)}, true},
		{"values only", rpc.OpPush, rpc.Part{Kind: rpc.KindKeys, Rows: rows(16), Keys: make([]int64, 513), Values: []byte{}}, false},
		{"a row", rpc.OpPush, rpc.Part{Kind: rpc.KindDense, Rows: rows(1), Cols: rows(1000)}, false},
		{"a long row", rpc.OpPush, rpc.Part{Kind: rpc.KindDense, Rows: rows(1), Cols: rows(10_000)}, true},
		{"cells without end", rpc.OpPull, rpc.Part{Kind: rpc.KindDense, Rows: rows(1 << 62), Cols: rows(1 << 62)}, true},
		{"stored columns", rpc.OpPull, rpc.Part{Kind: rpc.KindStored, Rows: rows(1)}, true},
		{"a function", rpc.OpGet, rpc.Part{Kind: rpc.KindKeys}, true},
	} {
		if is := mayBeLarge(&rpc.Request{Op: x.op, Parts: []rpc.Part{x.part}}); is != x.large {
			t.Errorf("%s: may be large: %v, want %v", x.name, is, x.large)
		}
	}
}
