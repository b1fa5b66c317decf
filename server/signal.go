package server

import (
	"context"
	"slices"
	"sync"
)

// A goroutine that waits for a condition over state of others waits in one of three ways, each of which makes it impossible to change the
// state and wake nobody:
//
//   - a [progress] is a position that only grows: advance stores it and wakes the waiters whose position it has reached;
//   - a [watched] is any other value: set stores it and notifies its signal;
//   - what happens once is a channel that is closed, and that is the state.
//
// docs/wakeups.md lists all waits of the packages server, ps, coord, journal, budget and spill.

// signal wakes all goroutines that wait for a change. The zero value is ready.
type signal struct {
	mu      sync.Mutex
	changed chan struct{} // closed by the next change; nil: no goroutine waits
}

// notify wakes all goroutines that wait. State that they look at has been changed before.
func (s *signal) notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// wait gives a channel that the next change closes. Whoever waits calls it before it looks at the state.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// await waits until ready reports true or an error, or ctx ends, whose cause is the error then. Each change of the state that ready looks
// at is followed by notify.
func (s *signal) await(ctx context.Context, ready func() (bool, error)) error {
	for {
		changed := s.wait()
		if ok, err := ready(); ok || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// watched is a value that goroutines wait for by a signal. The only way to change it notifies them.
type watched[T any] struct {
	on    *signal
	mu    sync.Mutex
	value T
}

func (w *watched[T]) set(v T) {
	w.mu.Lock()
	w.value = v
	w.mu.Unlock()
	w.on.notify()
}

func (w *watched[T]) get() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.value
}

// progress is a position that only grows, and that goroutines wait for. The zero value is position 0.
type progress struct {
	mu    sync.Mutex
	at    uint64
	waits []progressWait
}

// progressWait is a goroutine that waits for a position.
type progressWait struct {
	position uint64
	reached  chan struct{} // closed when it is reached
}

// advance moves to a position, unless it is there or beyond, and wakes the waiters for it.
func (p *progress) advance(to uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = max(p.at, to)
	p.waits = slices.DeleteFunc(p.waits, func(w progressWait) bool {
		if w.position > p.at {
			return false
		}
		close(w.reached)
		return true
	})
}

// load is the position.
func (p *progress) load() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

// reached is closed when a position is reached, which it may be already. A caller that does not wait any longer calls leave.
func (p *progress) reached(position uint64) (at <-chan struct{}, leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := progressWait{position, make(chan struct{})}
	if p.at >= position {
		close(w.reached)
		return w.reached, func() {}
	}
	p.waits = append(p.waits, w)
	return w.reached, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waits = slices.DeleteFunc(p.waits, func(other progressWait) bool { return other.reached == w.reached })
	}
}
