package tcp

import (
	"bytes"
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync/atomic"
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

// A goroutine reads its own answer also if that is large. When it is interrupted in the middle of one the connection's goroutine reads the
// rest.
func TestReadLarge(t *testing.T) {
	var halves atomic.Bool
	answer := func(x *rpc.Exchange) {
		x.Answer(&rpc.Response{Results: []rpc.Result{{Data: x.Arg}}, Memory: x.Memory.Retain()})
	}
	inBubble(t, Network{}, handler(answer), func(b *bubble) {
		c := b.dial(Network{}, relay{down: func(_ head, frame []byte) [][]byte {
			if !halves.Load() || len(frame) < firstStep {
				return [][]byte{frame}
			}
			return [][]byte{frame[:len(frame)/2], nil, frame[len(frame)/2:]}
		}}).(*conn)
		q := &rpc.Request{Op: rpc.OpPull, Arg: bytes.Repeat([]byte("large"), firstStep)}
		// ask waits for an answer, and looks what is read while the relay pauses.
		ask := func(ctx context.Context, look func()) error {
			if look != nil {
				go func() {
					time.Sleep(longTurn / 2)
					synctest.Wait()
					look()
				}()
			}
			r, err := c.Start(ctx, q).Wait(ctx)
			if err != nil {
				return err
			}
			defer r.Release()
			if got := r.Results[0].Data; !bytes.Equal(got, q.Arg) {
				t.Errorf("an answer of %d bytes, want the %d of the request", len(got), len(q.Arg))
			}
			return nil
		}
		// begin has an answer of the size be expected, and the connection's goroutine leave the turn to those who wait.
		begin := func() {
			halves.Store(false)
			for n := 0; n == 0 || len(c.turn.reads) > 0; n++ {
				if err := ask(b.Context(), nil); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			halves.Store(true)
		}
		inTheMiddle := func() {
			if n, inside := c.turn.changes.Load(), c.in.inside.Load(); n%2 != 1 || !inside {
				t.Errorf("during the pause %d changes of readers, in an answer: %v, want the goroutine that waits to read it", n, inside)
			}
		}
		for range 3 {
			begin()
			if err := ask(b.Context(), inTheMiddle); err != nil {
				t.Fatal(err)
			}
			begin()
			ctx, cancel := context.WithTimeout(b.Context(), longTurn)
			if err := ask(ctx, inTheMiddle); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a wait whose context ended: %v", err)
			}
			cancel()
			time.Sleep(2 * relayPause) // the answer that is not waited for has come
		}
		call := c.Start(b.Context(), q)
		time.Sleep(longTurn) // in the middle of the answer
		_ = c.Close()
		if _, err := call.Wait(b.Context()); err == nil {
			t.Error("an answer of a closed connection")
		}
		time.Sleep(relayPause)
		if c.in.part.buffer != nil {
			t.Error("a part of an answer is kept after the end of the connection")
		}
	})
}

// inTurns is a handler that counts turns.
type inTurns struct {
	rpc.Handler
	turns, held atomic.Int32
}

func (h *inTurns) Turn(*rpc.Exchange, func()) func() { return nil }

func (h *inTurns) TurnToRead(_ *rpc.Peer, waits func()) func() {
	waits()
	h.turns.Add(1)
	h.held.Add(1)
	return func() { h.held.Add(-1) }
}

// A server reads large requests in turns, which it does not have while it waits for the network.
func TestTurnToRead(t *testing.T) {
	h := &inTurns{Handler: handler(echo)}
	inBubble(t, Network{}, h, func(b *bubble) {
		c := b.dial(Network{}, relay{up: func(_ head, frame []byte) [][]byte {
			if len(frame) < turnLeast {
				return [][]byte{frame}
			}
			return [][]byte{frame[:len(frame)/2], nil, frame[len(frame)/2:]}
		}})
		for _, x := range []struct {
			bytes int
			turns bool
		}{{1000, false}, {firstStep, true}, {10 * firstStep, true}} {
			h.turns.Store(0)
			call := c.Start(b.Context(), &rpc.Request{Op: rpc.OpPush, Arg: make([]byte, x.bytes)})
			time.Sleep(relayPause / 2)
			synctest.Wait()
			if x.turns && (call.Ready() || h.turns.Load() == 0 || h.held.Load() != 0) {
				t.Errorf("%d bytes: in the middle %d turns, %d of them held, answered: %v; want turns, none of them held", x.bytes, h.turns.Load(),
					h.held.Load(), call.Ready())
			}
			r, err := call.Wait(b.Context())
			if err != nil {
				t.Fatal(err)
			}
			r.Release()
			if got := h.turns.Load(); got > 0 != x.turns || h.held.Load() != 0 {
				t.Errorf("%d bytes: %d turns, %d of them held, want turns: %v, none held", x.bytes, got, h.held.Load(), x.turns)
			}
		}
		_ = c.Close()
	})
}

// What has come of a large request is read at once after one turn, whether or not a turn needs to end.
func TestTurnToReadReadsAll(t *testing.T) {
	if !triesReads {
		t.Skip("reads on this system wait for bytes")
	}
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	out, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	in, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	b := sealed(0, kindRequest, 1, &rpc.Request{Arg: make([]byte, firstStep)})
	for _, end := range []func(){nil, func() {}} {
		r, turns := newReader(t.Context(), in, 1<<30, nil), 0
		r.turn = func() func() { turns++; return end }
		if _, err := out.Write(b); err != nil {
			t.Fatal(err)
		}
		h, err := r.next()
		if err != nil {
			t.Fatal(err)
		}
		body, err := r.body(h)
		if err != nil {
			t.Fatal(err)
		}
		body.Release()
		if turns != 1 {
			t.Errorf("a turn that needs to end: %v; %d bytes that have come are read in %d turns, want 1", end != nil, h.size, turns)
		}
	}
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
