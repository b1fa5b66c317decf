package coord_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/coord"
)

// asked counts the requests to a store.
type asked struct {
	coord.Store
	n atomic.Int64
}

func (a *asked) Get(ctx context.Context, key string) ([]byte, coord.Version, error) {
	a.n.Add(1)
	return a.Store.Get(ctx, key)
}

func (a *asked) Watch(ctx context.Context, key string, seen coord.Version) ([]byte, coord.Version, error) {
	a.n.Add(1)
	return a.Store.Watch(ctx, key, seen)
}

// TestSuperseded: it waits for a later attempt and no other, through checkpoints and a store that is away, and asks the store nothing because
// servers renew their roles.
func TestSuperseded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), &coord.Memory{}
		hold(t, s, 0, "host:0")
		servers, err := coord.Find(ctx, s, "c", 1)
		if err != nil {
			t.Fatal(err)
		}
		begin := func(attempt int) {
			if _, err := coord.Begin(ctx, s, "c", "j", attempt, servers); err != nil {
				t.Error(err)
			}
		}
		begin(3)
		if n, err := coord.Superseded(ctx, s, "c", "j", 2); n != 3 || err != nil {
			t.Errorf("attempt 2: %d, %v, want 3", n, err)
		}
		f := &faulty{Store: s}
		a := &asked{Store: f}
		time.AfterFunc(time.Hour, func() {
			if err := coord.Commit(ctx, s, "c", "j", coord.Checkpoint{Path: "p", ID: "x", Attempt: 3}); err != nil {
				t.Error(err)
			}
		})
		short, stop := context.WithTimeout(ctx, 2*time.Hour)
		defer stop()
		if _, err := coord.Superseded(short, a, "c", "j", 3); !errors.Is(err, context.DeadlineExceeded) || a.n.Load() > 6 {
			t.Errorf("attempt 3: %v after %d requests, want none later, and at most 6", err, a.n.Load())
		}
		f.set(true, 0, false)
		time.AfterFunc(time.Minute, func() { begin(5) })
		time.AfterFunc(time.Hour, func() { f.set(false, 0, false) })
		if n, err := coord.Superseded(ctx, a, "c", "j", 4); n != 5 || err != nil {
			t.Errorf("attempt 4: %d, %v, want 5", n, err)
		}
		if _, err := coord.Superseded(ctx, a, "c/d", "j", 4); err == nil {
			t.Error("a cluster whose name has a slash has no error")
		}
	})
}
