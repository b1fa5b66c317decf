package ps_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
)

// TestWaiting: who waits says so after 10, 20, 40 seconds, and for whom; the time between calls does not count.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(3)
		var told []string
		p := c.dial(t, ps.Options{Waiting: func(text string) { told = append(told, text) }})
		defer p.Close()
		d, _ := both(t, p)
		must(t, p.Barrier(t.Context()))
		time.Sleep(time.Hour)
		must(t, p.Barrier(t.Context()))
		// hold keeps what comes for servers 1 and 2.
		hold := func() {
			synctest.Wait() // for the release before, which ends after the answers that it brings
			c.become(func(server int, q *rpc.Request) fate {
				if server > 0 {
					return kept
				}
				return delivered
			})
		}
		later := func(d time.Duration) {
			go func() {
				time.Sleep(d)
				c.release()
			}()
		}
		hold()
		later(9 * time.Second)
		must(t, p.Barrier(t.Context()))
		if len(told) > 0 {
			t.Errorf("after 9 seconds: %q", told)
		}
		hold()
		later(95 * time.Second)
		_, err := d.GetRow(t.Context(), 0)
		must(t, err)
		want := []string{
			"task 0: pull of rows of matrix d has waited 10s for 2 of 3 servers: 1 (partition 1), 2 (partition 2)",
			"task 0: pull of rows of matrix d has waited 20s for 2 of 3 servers: 1 (partition 1), 2 (partition 2)",
			"task 0: pull of rows of matrix d has waited 40s for 2 of 3 servers: 1 (partition 1), 2 (partition 2)",
			"task 0: pull of rows of matrix d has waited 1m20s for 2 of 3 servers: 1 (partition 1), 2 (partition 2)",
		}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		told = nil
		hold()
		later(11 * time.Second)
		must(t, p.SyncClock(t.Context()))
		if want := []string{"task 0: sync clock has waited 10s for 2 of 3 servers: 1, 2"}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		told = nil
		hold()
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		if err := p.Barrier(ctx); !errors.Is(err, context.DeadlineExceeded) || len(told) != 1 {
			t.Errorf("%v, told %q", err, told)
		}
	})
}

// TestPullGivenUp: the server hears that nobody waits for a pull any more, and the plan's keys are not changed under it.
func TestPullGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(1)
		p := c.dial(t, ps.Options{})
		defer p.Close()
		s := create(t, p, "", matrix.Meta{Name: "s", Rows: 1, Cols: 100, DType: matrix.F64, Layout: matrix.RowSparse})
		var under *rpc.Exchange
		c.handlers[0] = handler(func(x *rpc.Exchange) { under = x })
		k, err := s.Plan(nil, []int64{3, 1, 2})
		must(t, err)
		var asked []int64
		c.fate = func(_ int, q *rpc.Request) fate { asked = q.Parts[0].Keys; return delivered }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		pull, err := ps.StartPullKeys(ctx, s, k, make([]float64, 3))
		must(t, err)
		for range 2 {
			if err := pull.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		<-under.Context().Done()
		before := slices.Clone(asked)
		unique := slices.Clone(k.Unique())
		if !slices.Equal(unique, before) {
			t.Errorf("the plan has %v, asked was %v", unique, before)
		}
		_, err = s.Plan(k, []int64{50, 60, 70})
		must(t, err)
		if !slices.Equal(asked, before) {
			t.Errorf("the server sees %v, was asked %v", asked, before)
		}
	})
}
