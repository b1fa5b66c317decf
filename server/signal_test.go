package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestSignal: each change wakes a waiter, whenever it comes: before the waiter looks at the state, while it looks, and later.
func TestSignal(t *testing.T) {
	for name, delay := range map[string]time.Duration{"before": 0, "while": time.Second, "later": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &signal{}
				w := &watched[int]{on: s}
				woken := make(chan error, 1)
				go func() {
					woken <- s.await(t.Context(), func() (bool, error) {
						v := w.get()
						time.Sleep(2 * time.Second) // what was seen is old now
						return v == 2, nil
					})
				}()
				for v := range 3 {
					time.Sleep(delay)
					w.set(v)
				}
				time.Sleep(time.Minute)
				if len(woken) == 0 || <-woken != nil {
					t.Error("a wake-up is lost")
				}
			})
		})
	}
}

// TestSignalEnds: a wait ends with the error of its condition, and with the cause of its context.
func TestSignalEnds(t *testing.T) {
	s := &signal{}
	bad := errors.New("bad")
	if err := s.await(t.Context(), func() (bool, error) { return false, bad }); !errors.Is(err, bad) {
		t.Errorf("%v, want %v", err, bad)
	}
	ctx, end := context.WithCancelCause(t.Context())
	end(bad)
	if err := s.await(ctx, func() (bool, error) { return false, nil }); !errors.Is(err, bad) {
		t.Errorf("%v, want %v", err, bad)
	}
}

// TestProgress: a position wakes those who wait for it or for an earlier one, and no others; it never decreases.
func TestProgress(t *testing.T) {
	p := &progress{}
	is := func(reached <-chan struct{}) bool {
		select {
		case <-reached:
			return true
		default:
			return false
		}
	}
	five, _ := p.reached(5)
	six, leave := p.reached(6)
	seven, _ := p.reached(7)
	if p.advance(4); is(five) {
		t.Error("position 5 is reached at 4")
	}
	leave()
	p.advance(6)
	if !is(five) || is(six) || is(seven) {
		t.Errorf("at 6: 5 is reached %v, 6, for which nobody waits any more, %v, 7 %v; want only 5", is(five), is(six), is(seven))
	}
	if p.advance(3); p.load() != 6 {
		t.Errorf("position %d, want 6", p.load())
	}
	if now, _ := p.reached(6); !is(now) {
		t.Error("position 6 is not reached at 6")
	}
	if p.advance(9); !is(seven) || len(p.waits) > 0 {
		t.Errorf("at 9: 7 is reached %v, and %d wait", is(seven), len(p.waits))
	}
}
