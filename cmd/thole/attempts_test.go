package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/train"
)

// A job waits for a server that is away as long as --wait says, however often it tries; what fails again and again once all tasks had
// joined ends it.
func TestPatience(t *testing.T) {
	away := fmt.Errorf("server 0: %w", rpc.ErrUnreachable)
	for _, c := range []struct {
		name string
		wait time.Duration
		met  bool // all tasks join in each attempt
		back time.Duration
		want string // "": it succeeds
	}{
		{"back in time", time.Hour, false, 50 * time.Minute, ""},
		{"too late", 10 * time.Minute, false, 50 * time.Minute, "did not begin again within 10m0s"},
		{"as long as it takes", 0, false, 10 * time.Hour, ""},
		{"no checkpoint ever", time.Hour, true, 50 * time.Minute, "100 attempts in a row ended without a new checkpoint"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, err := newWatcher(t.Context(), &env{err: io.Discard}, "", false)
			if err != nil {
				t.Fatal(err)
			}
			p := &plan{job: &job{wait: c.wait, lasting: lasting{checkpoint: "ck"}}}
			start := time.Now()
			_, err = p.attempts(t.Context(), &cluster{}, w, func(context.Context) (*train.Report, error) {
				if p.met = c.met; time.Since(start) < c.back {
					return nil, away
				}
				return &train.Report{}, nil
			})
			if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, away) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%s: %v, want %q", c.name, err, c.want)
			}
		})
	}
}

// A process that hears in which attempt to come comes at once, however long it has been without a server: the others give it up soon.
func TestCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := newWatcher(t.Context(), &env{err: io.Discard}, "", false)
		if err != nil {
			t.Fatal(err)
		}
		p := &plan{job: &job{wait: time.Hour, lasting: lasting{checkpoint: "ck"}, absence: absence{giveUp: time.Second}}}
		var called time.Time
		n := 0
		_, err = p.attempts(t.Context(), &cluster{}, w, func(context.Context) (*train.Report, error) {
			switch n++; {
			case n < 10:
				return nil, rpc.ErrUnreachable
			case n == 10:
				called = time.Now()
				return nil, &ps.LaterAttempt{Job: "job", Attempt: 20}
			}
			return &train.Report{}, nil
		})
		if took := time.Since(called); err != nil || p.attempt != 20 || took > firstAttemptPause {
			t.Errorf("%v; it comes in attempt %d after %v, want 20 and at most %v", err, p.attempt, took, firstAttemptPause)
		}
	})
}

// A process that hears that its job has moved looks where it is, and comes there in the same attempt: a later one would end that of the others.
func TestMovedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := newWatcher(t.Context(), &env{err: io.Discard}, "", false)
		if err != nil {
			t.Fatal(err)
		}
		p := &plan{job: &job{wait: time.Hour, lasting: lasting{checkpoint: "ck"}}}
		answers := []error{&ps.LaterAttempt{Job: "job", Attempt: 20}, &ps.Moved{Job: "job"}, nil}
		_, err = p.attempts(t.Context(), &cluster{}, w, func(context.Context) (*train.Report, error) {
			err := answers[0]
			answers = answers[1:]
			return &train.Report{}, err
		})
		if err != nil || p.attempt != 20 || len(answers) > 0 {
			t.Errorf("%v; it comes in attempt %d, want 20", err, p.attempt)
		}
	})
}

// A training that comes to its end says nothing of how to go on, also if it is interrupted just then; one that does not says it.
func TestInterruptedAtTheEnd(t *testing.T) {
	for _, c := range []struct {
		report *train.Report
		err    error
		says   bool
	}{
		{&train.Report{}, nil, false},
		{nil, context.Canceled, true},
	} {
		var said strings.Builder
		w, err := newWatcher(t.Context(), &env{err: &said}, "", false)
		if err != nil {
			t.Fatal(err)
		}
		p := &plan{job: &job{lasting: lasting{checkpoint: "ck"}}}
		ctx, cancel := context.WithCancel(t.Context())
		report, err := p.attempts(ctx, &cluster{}, w, func(context.Context) (*train.Report, error) {
			p.written++
			cancel()
			return c.report, c.err
		})
		if report != c.report || !errors.Is(err, c.err) || strings.Contains(said.String(), "goes on from the last checkpoint") != c.says {
			t.Errorf("it ends with %v, and says %q", err, said.String())
		}
	}
}

// TestTakenPlace: a process whose place another one still has tries soon and often, as that one may be about to end, and if it does not a retry
// may do better: engines start a successor while the one before ends.
func TestTakenPlace(t *testing.T) {
	f, p := failures{pause: firstAttemptPause}, &plan{job: &job{wait: time.Minute}}
	for range 5 {
		if err := f.add(p, &ps.Taken{}, false); err != nil {
			t.Fatal(err)
		}
		if f.pause != firstAttemptPause {
			t.Fatalf("the next pause is %v, want %v", f.pause, firstAttemptPause)
		}
		if err := f.sleep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if code := statusOf(&ps.Taken{}); code != exitTemporary {
		t.Errorf("status %d, want %d", code, exitTemporary)
	}
}
