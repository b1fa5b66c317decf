package coord_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/coord"
)

// faulty is a store of one process that can be away, and where each request can stop before or after it is done.
type faulty struct {
	coord.Store
	mu    sync.Mutex
	away  bool          // no request comes there
	stall time.Duration // how long the next request takes to come there, or its answer to come back if after is set
	after bool
}

var errAway = errors.New("the store is away")

func (f *faulty) set(away bool, stall time.Duration, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away, f.stall, f.after = away, stall, after
}

// pass is before and after a request.
func (f *faulty) pass(after bool) error {
	f.mu.Lock()
	stall := f.stall
	if f.after != after {
		stall = 0
	}
	if stall > 0 {
		f.stall = 0
	}
	f.mu.Unlock()
	time.Sleep(stall) // whatever the context: a process that is frozen looks at nothing
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return errAway
	}
	return nil
}

func (f *faulty) Get(ctx context.Context, key string) ([]byte, coord.Version, error) {
	if err := f.pass(false); err != nil {
		return nil, "", err
	}
	data, v, err := f.Store.Get(context.WithoutCancel(ctx), key)
	return data, v, errors.Join(err, f.pass(true))
}

func (f *faulty) List(ctx context.Context, prefix string) ([]coord.Entry, error) {
	if err := f.pass(false); err != nil {
		return nil, err
	}
	all, err := f.Store.List(context.WithoutCancel(ctx), prefix)
	return all, errors.Join(err, f.pass(true))
}

func (f *faulty) Watch(ctx context.Context, key string, seen coord.Version) ([]byte, coord.Version, error) {
	if err := f.pass(false); err != nil {
		return nil, "", err
	}
	return f.Store.Watch(ctx, key, seen)
}

func (f *faulty) Put(ctx context.Context, key string, data []byte, old coord.Version) (coord.Version, error) {
	if err := f.pass(false); err != nil {
		return "", err
	}
	v, err := f.Store.Put(context.WithoutCancel(ctx), key, data, old)
	return v, errors.Join(err, f.pass(true))
}

const lease = 12 * time.Second

func claim(t *testing.T, s coord.Store, addr string, o coord.Options) *coord.Held {
	t.Helper()
	o.Lease = lease
	h, err := coord.Claim(t.Context(), s, "c", coord.Server(0), addr, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestTwoClaimants: while the requests of the holder stop at any of them, before it is done or after, for shorter and for longer than a
// lease, there are never two at once; one that was silent for a lease was replaced, and hears of it.
func TestTwoClaimants(t *testing.T) {
	for _, after := range []bool{false, true} {
		for _, at := range []time.Duration{0, time.Second, 3900 * time.Millisecond, 8100 * time.Millisecond} {
			for _, stall := range []time.Duration{time.Second, 5 * time.Second, 11 * time.Second, 13 * time.Second, 40 * time.Second} {
				synctest.Test(t, func(t *testing.T) { twoClaimants(t, at, stall, after) })
			}
		}
	}
}

func twoClaimants(t *testing.T, at, stall time.Duration, after bool) {
	memory := &coord.Memory{}
	f := &faulty{Store: memory}
	first := claim(t, f, "host:1", coord.Options{})
	taken := make(chan *coord.Held, 1)
	go func() { taken <- claim(t, memory, "host:2", coord.Options{}) }()
	time.Sleep(at)
	f.set(false, stall, after)
	var second *coord.Held
	for range 600 {
		time.Sleep(100 * time.Millisecond)
		select {
		case second = <-taken:
		default:
		}
		if now := time.Now(); second != nil && first.Valid(now) && second.Valid(now) {
			t.Fatalf("stopped at %v for %v, after %v: two hold the role", at, stall, after)
		}
	}
	f.set(false, 0, false)
	if second == nil { // the requests that went on in time were enough
		if !first.Valid(time.Now()) {
			t.Errorf("stopped at %v for %v, after %v: nobody holds the role", at, stall, after)
		}
		if err := first.Release(t.Context()); err != nil {
			t.Error(err)
		}
		second = <-taken
	} else if <-first.Lost(); !errors.Is(first.Err(), coord.ErrFenced) {
		t.Errorf("the first has lost its role: %v", first.Err())
	}
	if first.Valid(time.Now()) || second.Epoch() != 2 || !second.Valid(time.Now()) {
		t.Errorf("the second holds the role with epoch %d", second.Epoch())
	}
	if err := second.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAway: while the store does not answer, the holder stops in time; it goes on when the store answers again and nobody took the role over.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{Store: &coord.Memory{}}
		var said []string
		h := claim(t, f, "host:1", coord.Options{Say: func(text string) { said = append(said, text) }})
		time.Sleep(time.Second)
		f.set(true, 0, false)
		time.Sleep(6900 * time.Millisecond)
		if !h.Valid(time.Now()) {
			t.Error("it does not hold the role before two thirds of the lease")
		}
		time.Sleep(200 * time.Millisecond)
		if h.Valid(time.Now()) || h.Err() != nil {
			t.Errorf("it holds the role after two thirds of the lease, %v", h.Err())
		}
		time.Sleep(time.Hour)
		f.set(false, 0, false)
		time.Sleep(2 * time.Second)
		if !h.Valid(time.Now()) || h.Epoch() != 1 {
			t.Error("it does not hold the role again")
		}
		if err := h.Release(t.Context()); err != nil || h.Valid(time.Now()) {
			t.Error(err)
		}
		if !slices.Equal(said, []string{"the store does not answer: the store is away"}) {
			t.Errorf("said %q", said)
		}
	})
}

// TestNobodyThere: a claim that ends before the role is held says what it waited for.
func TestNobodyThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &coord.Memory{}
		h := claim(t, s, "host:1", coord.Options{})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		_, err := coord.Claim(ctx, s, "c", coord.Server(0), "host:2", coord.Options{})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "server 0 is held by host:1 (epoch 1)") {
			t.Error(err)
		}
		if _, err = coord.Find(ctx, s, "c", 1); err == nil {
			t.Error("found after the end")
		}
		ctx, stop = context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		_, err = coord.Find(ctx, s, "c", 12)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `cluster "c" has nobody as server 1, 2, 3, 4, 5, 6, 7, 8, … of 12`) {
			t.Error(err)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestBackAtOnce: who is started again at the same address holds the role at once if it says that nobody else can be there.
func TestBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &coord.Memory{}
		ctx, die := context.WithCancel(t.Context())
		h, err := coord.Claim(ctx, s, "c", coord.Server(0), "host:1", coord.Options{Lease: lease})
		if err != nil {
			t.Fatal(err)
		}
		die()
		<-h.Lost()
		if h.Valid(time.Now()) || !errors.Is(h.Err(), context.Canceled) {
			t.Errorf("it holds the role after its end: %v", h.Err())
		}
		begin := time.Now()
		again := claim(t, s, "host:1", coord.Options{Sole: true})
		if took := time.Since(begin); took >= time.Second || again.Epoch() != 2 {
			t.Errorf("epoch %d after %v of the test's clock", again.Epoch(), took)
		}
		if err := again.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestChanged: it waits while the holder renews, and no longer.
func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &coord.Memory{}
		h := claim(t, s, "host:1", coord.Options{})
		servers, err := coord.Find(t.Context(), s, "c", 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if _, err := coord.Changed(ctx, s, "c", servers); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("changed while it is held: %v", err)
		}
		if _, err := coord.Changed(ctx, s, "c", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("no servers have changed: %v", err)
		}
		f := &faulty{Store: s}
		f.set(true, 0, false)
		time.AfterFunc(time.Minute, func() { _ = h.Release(t.Context()) })
		time.AfterFunc(time.Hour, func() { f.set(false, 0, false) })
		if n, err := coord.Changed(t.Context(), f, "c", servers); n != 0 || err != nil {
			t.Errorf("changed: %d, %v", n, err)
		}
		<-h.Lost()
		if n, err := coord.Changed(t.Context(), &coord.Memory{}, "c", servers); n != 0 || err != nil {
			t.Errorf("removed: %d, %v", n, err)
		}
	})
}
