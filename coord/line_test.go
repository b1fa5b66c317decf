package coord_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/coord"
)

// record is what the store has of server 0.
func record(t *testing.T, s coord.Store) coord.Holder {
	t.Helper()
	h, _, err := coord.Who(t.Context(), s, "c", coord.Server(0))
	if err != nil || h == nil {
		t.Fatalf("%+v, %v", h, err)
	}
	return *h
}

// TestSetCopies: what was set is in the store, however many set it and whatever becomes of the requests; it stays when the role is renewed and
// given back.
func TestSetCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{Store: &coord.Memory{}}
		h := claim(t, f, "host:1", coord.Options{ID: "me", Log: "mine", NewLog: "mine"})
		set := func(ids ...string) {
			t.Helper()
			if err := h.SetCopies(t.Context(), ids); err != nil {
				t.Fatal(err)
			}
			if r := record(t, f.Store); !slices.Equal(r.Copies, ids) || r.ID != "me" || r.Log != "mine" || r.Since != 1 {
				t.Fatalf("%+v, want the copies %q", r, ids)
			}
		}
		set("a")
		set("a", "b")
		set()
		f.set(false, 5*time.Second, true) // it is done, and the answer is late
		set("c")
		f.set(false, 5*time.Second, false) // it comes to the store when it was made again
		set("d")

		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if err := h.SetCopies(t.Context(), []string{fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		last := record(t, f.Store).Copies
		time.Sleep(time.Hour)
		if now := record(t, f.Store).Copies; len(last) != 1 || last[0] == "d" || !slices.Equal(now, last) {
			t.Errorf("copies %q, and later %q", last, now)
		}

		f.set(true, 0, false)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := h.SetCopies(ctx, []string{"e"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the store is away: %v", err)
		}
		f.set(false, 0, false)
		time.Sleep(lease)
		if r := record(t, f.Store); !slices.Equal(r.Copies, []string{"e"}) {
			t.Errorf("%+v, want the copy that was set", r)
		}
		for text, ids := range map[string][]string{"17 copies, want at most 16": make([]string, 17), "copy 1 has an identity of 0 bytes": {"a", ""},
			"copy 0 has an identity of 300 bytes, want 1 to 256": {strings.Repeat("x", 300)}} {
			if err := h.SetCopies(t.Context(), ids); err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%v, want %q", err, text)
			}
		}

		if err := h.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := record(t, f.Store); r.ID != "" || r.Log != "mine" || !slices.Equal(r.Copies, []string{"e"}) || r.Since != 1 {
			t.Errorf("%+v was given back, want its log and copies", r)
		}
		if err := h.SetCopies(t.Context(), nil); !errors.Is(err, coord.ErrFenced) {
			t.Errorf("it was given back: %v", err)
		}
	})
}

// TestOwnLog: who took the role over from its log has the copies of it in the record until it owns what it has: if it cannot read the log
// and gives the role back, one of them has the role with all that was acknowledged.
func TestOwnLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &coord.Memory{}
		want := func(id string, copies ...string) {
			t.Helper()
			if r := record(t, s); r.ID != id || r.Log != "one" || !slices.Equal(r.Copies, copies) || r.Since != 1 {
				t.Fatalf("%+v, want the log one and the copies %q of %q", r, copies, id)
			}
		}
		first := claim(t, s, "host:1", coord.Options{ID: "first", NewLog: "one"})
		if err := errors.Join(first.Own(t.Context()), first.SetCopies(t.Context(), []string{"second"}), first.Release(t.Context())); err != nil {
			t.Fatal(err)
		}
		again := claim(t, s, "host:1", coord.Options{ID: "again", Log: "one", NewLog: "two"})
		time.Sleep(time.Hour)
		want("again", "second")
		if err := errors.Join(again.Own(t.Context()), again.SetCopies(t.Context(), []string{"second"}), again.Release(t.Context())); err != nil {
			t.Fatal(err)
		}
		damaged := claim(t, s, "host:1", coord.Options{ID: "damaged", Log: "one", NewLog: "three"})
		if err := damaged.Release(t.Context()); err != nil || damaged.Continues() != coord.FromLog || !damaged.Copied() || first.Copied() {
			t.Fatalf("%v, continues %v", err, damaged.Continues())
		}
		want("", "second")
		if second := claim(t, s, "host:2", coord.Options{ID: "second", NewLog: "four"}); second.Continues() != coord.FromCopy {
			t.Errorf("the second continues %v", second.Continues())
		}
	})
}

// TestOwn: who took the role over from a copy has the log and the other copies of the one before in the record until it owns what it has,
// whatever becomes of the requests, and for ever if it gives the role back before; then the one before has it again.
func TestOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{Store: &coord.Memory{}}
		want := func(id, log string, copies ...string) {
			t.Helper()
			if r := record(t, f.Store); r.ID != id || r.Log != log || !slices.Equal(r.Copies, copies) || r.Since != 1 {
				t.Fatalf("%+v, want the log %q and the copies %q of %q", r, log, copies, id)
			}
		}
		first := claim(t, f, "host:1", coord.Options{ID: "first", NewLog: "one"})
		if err := errors.Join(first.Own(t.Context()), first.SetCopies(t.Context(), []string{"second", "third"}), first.Release(t.Context())); err != nil {
			t.Fatal(err)
		}
		second := claim(t, f, "host:2", coord.Options{ID: "second", NewLog: "two"})
		time.Sleep(time.Hour)
		want("second", "one", "third")
		if err := second.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		want("", "one", "third")
		if err := second.Own(t.Context()); !errors.Is(err, coord.ErrFenced) {
			t.Errorf("it was given back: %v", err)
		}

		third := claim(t, f, "host:3", coord.Options{ID: "third", NewLog: "three"})
		if third.Continues() != coord.FromCopy {
			t.Errorf("the third continues %v", third.Continues())
		}
		if err := third.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		again := claim(t, f, "host:1", coord.Options{ID: "again", Log: "one", NewLog: "four"})
		if err := again.Own(t.Context()); err != nil || again.Continues() != coord.FromLog {
			t.Errorf("the first is back with %v, and continues %v", err, again.Continues())
		}
		want("again", "one")
		if err := errors.Join(again.SetCopies(t.Context(), []string{"fifth", "sixth"}), again.Release(t.Context())); err != nil {
			t.Fatal(err)
		}

		fifth := claim(t, f, "host:5", coord.Options{ID: "fifth", Log: "old", NewLog: "five"})
		f.set(true, 0, false)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := fifth.Own(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the store is away: %v", err)
		}
		want("fifth", "one", "sixth")
		f.set(false, 5*time.Second, true) // it is done, and the answer is late
		if err := fifth.Own(t.Context()); err != nil {
			t.Fatal(err)
		}
		want("fifth", "five")
		time.Sleep(time.Hour)
		want("fifth", "five")
		if err := errors.Join(fifth.SetCopies(t.Context(), []string{"x"}), fifth.Release(t.Context())); err != nil {
			t.Fatal(err)
		}
		want("", "five", "x")
	})
}

// TestSetCopiesFenced: whoever lost the role meanwhile is told so.
func TestSetCopiesFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := &coord.Memory{}
		f := &faulty{Store: memory}
		h := claim(t, f, "host:1", coord.Options{Log: "mine", NewLog: "mine"})
		if err := h.SetCopies(t.Context(), []string{"standby"}); err != nil {
			t.Fatal(err)
		}
		f.set(true, 0, false)
		done := make(chan error)
		go func() { done <- h.SetCopies(t.Context(), nil) }()
		standby := claim(t, memory, "host:2", coord.Options{ID: "standby"})
		f.set(false, 0, false)
		if err := <-done; !errors.Is(err, coord.ErrFenced) || standby.Continues() != coord.FromCopy {
			t.Errorf("%v, and the standby continues %v", err, standby.Continues())
		}
		if err := standby.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestLine: an attempt goes on while servers continue what the one before held, and ends when that is lost.
func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &coord.Memory{}
		hold := func(want coord.Member, from coord.Continuation, within time.Duration, id, log string) (*coord.Held, func()) {
			t.Helper()
			ctx, die := context.WithCancel(t.Context())
			begin := time.Now()
			h, err := coord.Claim(ctx, s, "c", coord.Server(0), want.Addr, coord.Options{ID: id, Log: log, NewLog: log, Lease: lease})
			if err != nil {
				t.Fatal(err)
			}
			found, err := coord.Find(t.Context(), s, "c", 1)
			if want.Lease = lease; err != nil || found[0] != want || h.Epoch() != want.Epoch || h.Since() != want.Since || h.Continues() != from {
				t.Fatalf("%+v, %v, %v, want %+v, %v", found, err, h.Continues(), want, from)
			}
			if took := time.Since(begin); took > within {
				t.Fatalf("epoch %d after %v, want %v at most", want.Epoch, took, within)
			}
			return h, func() { die(); <-h.Lost() }
		}
		first, die := hold(coord.Member{Addr: "host:1", Epoch: 1, Since: 1, Log: "one"}, coord.Anew, 0, "", "one")
		servers, err := coord.Find(t.Context(), s, "c", 1)
		if err != nil {
			t.Fatal(err)
		}
		step := int64(0)
		commit := func(want error) {
			t.Helper()
			step++
			if err := coord.Commit(t.Context(), s, "c", "j", coord.Checkpoint{Path: "p", Step: step, Attempt: 1}); !errors.Is(err, want) {
				t.Errorf("commit %d: %v, want %v", step, err, want)
			}
		}
		begin := func(attempt int, want error) {
			t.Helper()
			now, err := coord.Find(t.Context(), s, "c", 1)
			if err != nil {
				t.Fatal(err)
			}
			j, err := coord.Begin(t.Context(), s, "c", "j", attempt, now)
			if !errors.Is(err, want) || err == nil && !slices.Equal(j.Servers, []uint64{1}) {
				t.Errorf("attempt %d: %+v, %v, want %v", attempt, j, err, want)
			}
		}
		begin(1, nil)
		changed := make(chan error, 1)
		go func() {
			_, err := coord.Changed(t.Context(), s, "c", servers)
			changed <- err
		}()
		same := func() {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-changed:
				t.Fatalf("changed while nothing is lost: %v", err)
			default:
			}
			commit(nil)
		}
		if err := first.SetCopies(t.Context(), []string{"standby"}); err != nil {
			t.Fatal(err)
		}
		die()
		same()
		second, _ := hold(coord.Member{Addr: "host:2", Epoch: 2, Since: 1, Log: "one"}, coord.FromCopy, lease, "standby", "two")
		same()
		begin(1, nil)
		if err := errors.Join(second.Own(t.Context()), second.Release(t.Context())); err != nil {
			t.Fatal(err)
		}
		same()
		_, die = hold(coord.Member{Addr: "host:3", Epoch: 3, Since: 1, Log: "two"}, coord.FromLog, 0, "", "two")
		same()
		begin(1, nil)
		die()
		fourth, _ := hold(coord.Member{Addr: "host:4", Epoch: 4, Since: 4}, coord.Anew, 3*lease, "", "")
		if err := <-changed; err != nil {
			t.Error(err)
		}
		commit(coord.ErrFenced)
		begin(1, coord.ErrFenced)

		now, err := coord.Find(t.Context(), s, "c", 1)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := coord.Changed(t.Context(), s, "c", now)
			changed <- err
		}()
		if err := fourth.Release(t.Context()); err != nil { // without a log
			t.Fatal(err)
		}
		if err := <-changed; err != nil {
			t.Error(err)
		}
	})
}
