package ps_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/ps"
	"thole.example/rpc"
)

// TestEndedContext: a call whose context has ended changes nothing, and what was pushed is sent by the next one.
func TestEndedContext(t *testing.T) {
	eachChange(t, func(t *testing.T, c *cluster, p *ps.Client, kind string) {
		d, s := both(t, p)
		pushOnes(t, d, s)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := changes(p)[kind](ended); !errors.Is(err, context.Canceled) || p.Now() != 0 || d.Now() != 0 {
			t.Errorf("with an ended context: %v, clock %d", err, p.Now())
		}
		must(t, p.SyncClock(t.Context()))
		if wantOnes(t, c, 1); p.Now() != 1 {
			t.Errorf("clock %d, want 1", p.Now())
		}
	})
}

// TestContextEndsMeanwhile: a change that is under way when the context of its call ends goes on, and is waited for by the
// next call, whether it was sent or waited for its turn.
func TestContextEndsMeanwhile(t *testing.T) {
	for _, kind := range kinds {
		for _, window := range []int{0, 1} {
			for _, lost := range []bool{false, true} {
				t.Run(fmt.Sprint(kind, window, lost), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { endsMeanwhile(t, kind, window, lost) })
				})
			}
		}
	}
}

// endsMeanwhile makes a change that the second server does not answer; with a window of one request a first one keeps the
// second one from being sent.
func endsMeanwhile(t *testing.T, kind string, window int, lost bool) {
	c := newCluster(3)
	p := c.dial(t, ps.Options{Retry: time.Minute})
	defer p.Close()
	d, s := both(t, p)
	c.window = window
	before := float64(0)
	c.fate = func(server int, q *rpc.Request) fate {
		if server == 1 && q.Op == rpc.OpPush {
			return kept
		}
		return delivered
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if window > 0 {
		pushOnes(t, d, s)
		must(t, p.Clock(ctx, 0, 0))
		before = 1
	}
	pushOnes(t, d, s)
	err := changes(p)[kind](ctx)
	if async := kind == "clock" && window == 0; async != (err == nil) || err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a server does not answer: %v", err)
	}
	pushOnes(t, d, s)
	clock := p.Now()
	go func() {
		time.Sleep(time.Second)
		if lost { // and what was kept never comes
			c.forget()
			c.stores[1].mu.Lock()
			gone := c.stores[1].byTask[0].peer
			c.stores[1].mu.Unlock()
			c.cut(gone)
		}
		c.release()
	}()
	must(t, p.Flush(t.Context()))
	if p.Now() != clock {
		t.Errorf("clock %d, and then %d", clock, p.Now())
	}
	must(t, p.SyncClock(t.Context()))
	must(t, p.Barrier(t.Context()))
	wantOnes(t, c, before+2)
}

// TestContextEndsBefore: a call whose context ends while it waits for the answers to earlier changes, of which no more may be
// under way, changes nothing, and what was pushed is sent by the next one.
func TestContextEndsBefore(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(3)
				p := c.dial(t, ps.Options{InFlight: 1})
				defer p.Close()
				d, s := both(t, p)
				c.become(func(server int, q *rpc.Request) fate {
					if server == 1 && q.Op == rpc.OpPush {
						return kept
					}
					return delivered
				})
				pushOnes(t, d, s)
				must(t, p.Clock(t.Context(), 0, 0))
				pushOnes(t, d, s)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := changes(p)[kind](ctx); !errors.Is(err, context.DeadlineExceeded) || p.Now() != 1 || d.Now() != 1 {
					t.Errorf("the change before is not answered: %v, clock %d", err, p.Now())
				}
				time.AfterFunc(time.Second, c.release)
				must(t, p.SyncClock(t.Context()))
				must(t, p.Barrier(t.Context()))
				if wantOnes(t, c, 2); p.Now() != 2 {
					t.Errorf("clock %d, want 2", p.Now())
				}
			})
		})
	}
}

// TestContextEndsAway: a call that ends while a server is out of reach is not the end; a later one reaches it.
func TestContextEndsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(2)
		p := c.dial(t, ps.Options{Retry: time.Minute})
		defer p.Close()
		d, s := both(t, p)
		pushOnes(t, d, s)
		c.fate = func(server int, q *rpc.Request) fate {
			if server == 1 && q.Op == rpc.OpPush {
				c.down[1] = true
				return lostBefore
			}
			return delivered
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.SyncClock(ctx); !errors.Is(err, context.DeadlineExceeded) || p.Now() != 1 {
			t.Errorf("clock %d: %v", p.Now(), err)
		}
		c.fate, c.down[1] = nil, false
		time.Sleep(time.Hour) // however long nobody tries
		must(t, p.Barrier(t.Context()))
		wantOnes(t, c, 1)
	})
}
