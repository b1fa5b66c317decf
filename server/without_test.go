package server_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
)

// TestWithout: the first task has the others go on without tasks that have not joined, or are here; who is back waits for the next attempt,
// or hears that the job has ended. A later job of the name hears of that, too.
func TestWithout(t *testing.T) {
	for _, network := range []string{"mem", "tcp"} {
		t.Run(network, func(t *testing.T) {
			f := newFleet(t, network, 2, &blob.Mem{}, nil)
			ctx, w := t.Context(), meta("w", 1, 8, matrix.RowDense)
			dial := func(task, attempt int) (*ps.Client, error) {
				return ps.Dial(ctx, ps.Options{Network: f.net, Servers: f.servers, Job: "j", Task: task, Tasks: 3, Attempt: attempt,
					Retry: time.Minute, Worker: fmt.Sprint(task), Optional: task > 0})
			}
			must := func(p *ps.Client, err error) *ps.Client {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { p.Close() })
				return p
			}
			later := func(task, attempt int) chan error {
				told := make(chan error, 1)
				go func() {
					p, err := dial(task, attempt)
					if err == nil {
						t.Cleanup(func() { p.Close() })
					}
					told <- err
				}()
				return told
			}
			a, b, c := must(dial(0, 1)), must(dial(1, 1)), must(dial(2, 1))
			if _, err := a.Attendance(ctx, 0); err == nil {
				t.Error("the others go on without the first task")
			}
			now, err := a.Attendance(ctx, 1, 2)
			if err != nil || now.Joined != 3 || len(now.Missing) > 0 || now.Ended {
				t.Errorf("%+v, %v, want that nobody is missing any more", now, err)
			}
			if err := errors.Join(a.Create(ctx, "range", w), a.Push("w", ones(w)), a.SyncClock(ctx), a.Barrier(ctx)); err != nil {
				t.Errorf("alone: %v", err)
			}
			if err := b.Barrier(ctx); !ps.Recoverable(err) {
				t.Errorf("a task that was given up: %v, want that it may come in the next attempt", err)
			}
			if _, err := c.Checkpoints(ctx, "run"); !ps.Recoverable(err) {
				t.Errorf("another, for what the core of the job is not asked: %v, want that it may come in the next attempt", err)
			}
			b.Close()
			c.Close()
			back := later(1, 2)
			for now.Waiting == 0 && err == nil {
				now, err = a.Attendance(ctx)
			}
			a.Close()
			if err := <-back; err != nil {
				t.Errorf("who waited does not come in attempt 2: %v", err)
			}
			a = must(dial(0, 2))
			if now, err = a.Attendance(ctx, 1, 2); err != nil {
				t.Fatal(err)
			}
			back = later(2, 1)
			toldLater(t, <-back, 2)
			back = later(2, 2)
			for now.Waiting == 0 && err == nil {
				now, err = a.Attendance(ctx)
			}
			if err := a.Leave(ctx); err != nil {
				t.Fatal(err)
			}
			if _, is := errors.AsType[*ps.Ended](<-back); !is {
				t.Error("a task that is back at the end is not told that the job has ended")
			}
			if now, err = must(dial(1, 1)).Attendance(ctx); err != nil || !now.Ended {
				t.Errorf("%+v, %v, want that the job has ended before", now, err)
			}
		})
	}
}

// TestWithoutOnOne: of two servers the second one has given a task up, and the first takes it, as one that was started again with its log
// may: the task hears so, gives up its place there, and waits for the next attempt. The other one goes on without it on both.
func TestWithoutOnOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "mem", 2, &blob.Mem{}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		dial := func(task, attempt int, retry time.Duration, servers ...string) (*ps.Client, error) {
			return ps.Dial(ctx, ps.Options{Network: f.net, Servers: servers, Job: "j", Task: task, Tasks: 2, Attempt: attempt,
				Worker: fmt.Sprint(task), Optional: task > 0, Retry: retry})
		}
		a, err := dial(0, 1, time.Minute, f.servers...)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		net := f.net
		f.net = placeless{net}
		one, err := dial(1, 1, 0, f.servers[1]) // it will not be waited for
		f.net = net
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(one.Close(), a.Clock(ctx, 0, 0), a.SyncClock(ctx)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // until the server has heard that the connection has ended
		_, err = dial(1, 1, time.Minute, f.servers...)
		toldLater(t, err, 2)
		if later, is := errors.AsType[*ps.LaterAttempt](err); !is || !later.Without {
			t.Errorf("%v, want that the others have gone on without it", err)
		}
		if err := a.Barrier(ctx); err != nil {
			t.Errorf("%v, want that nobody waits for it", err)
		}
		back := make(chan error, 1)
		go func() {
			_, err := dial(1, 2, time.Minute, f.servers...)
			back <- err
		}()
		for now, err := a.Attendance(ctx); now.Waiting == 0 && err == nil; {
			now, err = a.Attendance(ctx)
		}
		if err := a.Leave(ctx); err != nil {
			t.Error(err)
		}
		if _, is := errors.AsType[*ps.Ended](<-back); !is {
			t.Error("it is not told that the job has ended")
		}
	})
}
