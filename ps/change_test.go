package ps_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
)

// both are a dense matrix and one of keys, which lie on all of three servers.
func both(t failer, p *ps.Client) (d, s *ps.Matrix) {
	t.Helper()
	d = create(t, p, "", matrix.Meta{Name: "d", Rows: 1, Cols: 9, DType: matrix.F64})
	s = create(t, p, "", matrix.Meta{Name: "s", Rows: 1, Cols: 1000, DType: matrix.F64, Layout: matrix.RowSparse})
	return d, s
}

// pushOnes adds 1 to cells 0 to 8 of d and to some columns of s, on every server.
func pushOnes(t failer, d, s *ps.Matrix) {
	t.Helper()
	must(t, d.Increment(dense(matrix.At(0, 1, 0, 9), 1, 1, 1, 1, 1, 1, 1, 1, 1)))
	k, err := s.Plan(nil, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 1})
	must(t, err)
	must(t, ps.PushKeys(s, k, []float64{.5, 1, 1, 1, 1, 1, 1, 1, 1, .5}))
}

// wantOnes wants n times what pushOnes adds on the servers.
func wantOnes(t *testing.T, c *cluster, n float64) {
	t.Helper()
	c.right(t)
	for i := range int64(9) {
		if v := c.sum("d", cell{0, i}); v != n {
			t.Errorf("cell %d of d is %v, want %v", i, v, n)
		}
		if v := c.sum("s", cell{0, i + 1}); v != n {
			t.Errorf("column %d of s is %v, want %v", i+1, v, n)
		}
	}
}

// changes are the calls that send what was pushed.
func changes(p *ps.Client) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"flush":      p.Flush,
		"clock":      func(ctx context.Context) error { return p.Clock(ctx, 0, 0) },
		"sync clock": p.SyncClock,
		"next": func(ctx context.Context) error {
			_, err := p.Next(ctx, 0, 0, []matrix.Lookup{{Matrix: "d"}, {Matrix: "s", Cols: []int64{1, 5}}}, nil)
			return err
		},
	}
}

// kinds are the names of changes.
var kinds = []string{"flush", "clock", "sync clock", "next"}

// eachChange runs the test for each kind of change under BSP and ASP.
func eachChange(t *testing.T, test func(t *testing.T, c *cluster, p *ps.Client, kind string)) {
	for _, kind := range kinds {
		for _, bound := range []ssp.Bound{ssp.BSP, ssp.ASP} {
			t.Run(fmt.Sprint(kind, bound), func(t *testing.T) {
				c := newCluster(3)
				p := c.dial(t, ps.Options{Bound: bound})
				defer p.Close()
				test(t, c, p, kind)
			})
		}
	}
}

// TestRefusedByAll: a change that every server refuses leaves everything as it was, and can be made later.
func TestRefusedByAll(t *testing.T) {
	eachChange(t, func(t *testing.T, c *cluster, p *ps.Client, kind string) {
		d, s := both(t, p)
		for i := range 3 {
			pushOnes(t, d, s)
			for _, st := range c.stores {
				st.change = func(*rpc.Request) error { return errRefused }
			}
			err := changes(p)[kind](t.Context())
			if kind == "clock" {
				err = errors.Join(err, p.Barrier(t.Context())) // which hears of it
			}
			if err == nil || !strings.Contains(err.Error(), "no room") || p.Now() != i || d.Now() != i {
				t.Fatalf("refused: %v, clocks %d and %d, want %d", err, p.Now(), d.Now(), i)
			}
			for _, st := range c.stores {
				st.change = nil
			}
			must(t, p.SyncClock(t.Context()))
			must(t, p.Barrier(t.Context()))
			wantOnes(t, c, float64(i+1))
		}
	})
}

// TestTooLargeToSend: a change that never leaves is like one that was refused.
func TestTooLargeToSend(t *testing.T) {
	c := newCluster(2)
	p := c.dial(t, ps.Options{Bound: ssp.ASP})
	defer p.Close()
	d, s := both(t, p)
	pushOnes(t, d, s)
	c.limit = 1
	if err := p.Flush(t.Context()); !errors.Is(err, rpc.ErrTooLarge) {
		t.Errorf("flush: %v", err)
	}
	c.limit = 0
	must(t, p.SyncClock(t.Context()))
	wantOnes(t, c, 1)
}

// TestRefusedBySome: the servers do not agree any more, and the client says so for good.
func TestRefusedBySome(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			c := newCluster(3)
			p := c.dial(t, ps.Options{})
			defer p.Close()
			d, s := both(t, p)
			pushOnes(t, d, s)
			c.stores[1].change = func(*rpc.Request) error { return errRefused }
			first := changes(p)[kind](t.Context())
			if kind == "clock" {
				first = p.Barrier(t.Context())
			}
			wantForGood(t, p, d, first, "server 1: no room")
		})
	}
}

// wantForGood wants every later call to return the error.
func wantForGood(t *testing.T, p *ps.Client, m *ps.Matrix, first error, text string) {
	t.Helper()
	if first == nil || !strings.Contains(first.Error(), text) {
		t.Fatalf("the first call returns %v, want %s", first, text)
	}
	calls := changes(p)
	calls["push"] = func(context.Context) error { return p.Push("d", dense(matrix.At(0, 1, 0, 1), 1)) }
	calls["pull"] = func(ctx context.Context) error {
		_, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "d"}})
		return err
	}
	calls["row"] = func(ctx context.Context) error { _, err := m.GetRow(ctx, 0); return err }
	calls["barrier"] = p.Barrier
	calls["update"] = func(ctx context.Context) error { return m.Update(ctx, "double", nil) }
	calls["leave"] = p.Leave
	calls["save"] = func(ctx context.Context) error { return p.Save(ctx, ps.SaveOptions{}) }
	calls["flow"] = func(ctx context.Context) error {
		for _, err := range m.GetRowsFlow(ctx, []int64{0}, 1) {
			return err
		}
		return nil
	}
	for name, call := range calls {
		if err := call(t.Context()); err != first {
			t.Errorf("%s returns %v, want %v", name, err, first)
		}
	}
	if err := p.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// TestRefusedBetweenOthers: later changes were sent already, so that nothing can be undone.
func TestRefusedBetweenOthers(t *testing.T) {
	c := newCluster(2)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	d, s := both(t, p)
	c.fate = func(int, *rpc.Request) fate { return kept }
	for range 3 {
		pushOnes(t, d, s)
		must(t, p.Clock(t.Context(), 0, 0))
	}
	for _, st := range c.stores {
		st.change = func(q *rpc.Request) error {
			if q.Seq == 2 {
				return errRefused
			}
			return nil
		}
	}
	c.release()
	wantForGood(t, p, d, p.Barrier(t.Context()), "no room")
}

// TestInFlight: as many changes as the options say are under way without an answer, and the next one waits.
func TestInFlight(t *testing.T) {
	for _, n := range []int{0, 1, 7} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(2)
			p := c.dial(t, ps.Options{InFlight: n})
			defer p.Close()
			d, s := both(t, p)
			c.fate = func(int, *rpc.Request) fate { return kept }
			want := n
			if n == 0 {
				want = 4
			}
			var made atomic.Int32
			go func() {
				time.Sleep(time.Second)
				if n := int(made.Load()); n != want {
					t.Errorf("%d changes are under way, want %d", n, want)
				}
				c.release()
			}()
			for range 3 * want {
				pushOnes(t, d, s)
				must(t, p.Clock(t.Context(), 0, 0))
				made.Add(1)
			}
			must(t, p.Barrier(t.Context()))
			wantOnes(t, c, float64(3*want))
		})
	}
}

// TestSentAgain: when a connection is lost with changes under way, those that were not made are sent again in order, and
// those that were made are only asked for their answer.
func TestSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(2)
		p := c.dial(t, ps.Options{Retry: time.Minute, InFlight: 8})
		defer p.Close()
		d, s := both(t, p)
		var seen []string
		c.fate = func(server int, q *rpc.Request) fate {
			if server == 0 && q.Seq > 0 {
				values := slices.ContainsFunc(q.Parts, func(p rpc.Part) bool { return p.Values != nil })
				seen = append(seen, fmt.Sprint(q.Seq, values))
			}
			switch {
			case server == 0 && q.Seq > 3:
				return lostBefore // of the first three the answers were on their way
			case server == 0 && q.Seq > 0:
				return mute
			}
			return delivered
		}
		for range 3 {
			pushOnes(t, d, s)
			must(t, p.Clock(t.Context(), 0, 0))
		}
		pushOnes(t, d, s)
		must(t, p.Clock(t.Context(), 0, 0)) // cuts the connection of server 0
		lose := c.fate
		c.fate = func(server int, q *rpc.Request) fate { lose(server, q); return delivered }
		pushOnes(t, d, s)
		must(t, p.Clock(t.Context(), 0, 0))
		must(t, p.Barrier(t.Context()))
		wantOnes(t, c, 5)
		want := []string{"1 true", "2 true", "3 true", "4 true", "1 false", "2 false", "3 false", "4 true", "5 true"}
		if seen = slices.DeleteFunc(seen, func(s string) bool { return s == "5 true" }); !slices.Equal(append(seen, "5 true"), want) {
			t.Errorf("the server gets %q, want %q", seen, want)
		}
	})
}

// TestLostJoin: the first words of a client may be lost, too.
func TestLostJoin(t *testing.T) {
	for server := range 3 {
		for _, lost := range []fate{lostBefore, lostAfter} {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(3)
				times := 2
				c.fate = func(at int, q *rpc.Request) fate {
					if at == server && q.Op == rpc.OpJoin && times > 0 {
						times--
						return lost
					}
					return delivered
				}
				o := ps.Options{Network: c.fake, Servers: c.addrs(), Job: "j", Tasks: 1}
				if _, err := ps.Dial(t.Context(), o); !errors.Is(err, rpc.ErrLost) {
					t.Errorf("without trying again: %v", err)
				}
				c = newCluster(3)
				c.fate = func(at int, q *rpc.Request) fate {
					if at == server && q.Op == rpc.OpJoin && times > 0 {
						times--
						return lost
					}
					return delivered
				}
				times = 2
				p := c.dial(t, ps.Options{Retry: time.Minute})
				defer p.Close()
				d, s := both(t, p)
				pushOnes(t, d, s)
				must(t, p.SyncClock(t.Context()))
				wantOnes(t, c, 1)
			})
		}
	}
}

// TestNotReached: a server that cannot be reached again ends the client after a while.
func TestNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(2)
		var lost []error
		p := c.dial(t, ps.Options{Retry: 5 * time.Second, Lost: func(err error) { lost = append(lost, err) }})
		d, s := both(t, p)
		pushOnes(t, d, s)
		c.fate = func(server int, q *rpc.Request) fate {
			if server == 1 {
				c.down[1] = true
				return lostBefore
			}
			return delivered
		}
		start := time.Now()
		err := p.SyncClock(t.Context())
		if took := time.Since(start); took < 4*time.Second || took > 6*time.Second || !errors.Is(err, rpc.ErrLost) || len(lost) != 1 {
			t.Errorf("after %v: %v; told %v", took, err, lost)
		}
		wantForGood(t, p, d, err, "not reached again within 5s")
	})
}

// TestFoundFromTheStart: a client that comes while a server is being replaced asks where its place is until somebody has it.
func TestFoundFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(3)
		c.down = map[int]bool{1: true}
		asked, places := 0, []string{"0", "2"}
		o := ps.Options{Network: c.fake, Servers: []string{"0", "1"}, Job: "j", Tasks: 1, Retry: 5 * time.Second, Roles: []uint64{0, 0},
			Find: func(_ context.Context, server int) (string, uint64, error) {
				if asked++; asked < 3 {
					return "", 0, fmt.Errorf("nobody is server %d: %w", server, rpc.ErrUnreachable)
				}
				return places[server], 0, nil
			}}
		p, err := ps.Dial(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		must(t, p.Clock(t.Context(), 0, 0))
		must(t, p.Leave(t.Context()))
		if asked != 3 || c.sent[2] == 0 {
			t.Errorf("asked %d times; requests %v", asked, c.sent)
		}
		asked = -1000
		start := time.Now()
		if _, err := ps.Dial(t.Context(), o); !errors.Is(err, rpc.ErrUnreachable) || time.Since(start) < 4*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// TestBackIsAnother: a server that does not know the client any more ends it at once.
func TestBackIsAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(2)
		p := c.dial(t, ps.Options{Retry: time.Hour})
		d, s := both(t, p)
		pushOnes(t, d, s)
		c.fate = func(server int, q *rpc.Request) fate {
			if server == 1 && q.Op == rpc.OpPush {
				c.handlers[1] = &store{}
				return lostBefore
			}
			return delivered
		}
		err := p.SyncClock(t.Context())
		if !errors.Is(err, rpc.ErrNotFound) {
			t.Errorf("the server was started anew: %v", err)
		}
		wantForGood(t, p, d, err, `job "j" is another`)
	})
}

// TestLostWithoutRetry: nothing is well after a connection was lost, also where there is nothing to send.
func TestLostWithoutRetry(t *testing.T) {
	c := newCluster(2)
	p := c.dial(t, ps.Options{})
	d, s := both(t, p)
	pushOnes(t, d, s)
	c.fate = func(server int, q *rpc.Request) fate {
		if server == 1 {
			return lostAfter
		}
		return delivered
	}
	must(t, p.Clock(t.Context(), 0, 0))
	wantForGood(t, p, d, p.Flush(t.Context()), "connection lost")
}

// TestChangesAreNumbered wants every kind of change numbered at each server that it concerns, and nothing else.
func TestChangesAreNumbered(t *testing.T) {
	c := newCluster(1)
	p := c.dial(t, ps.Options{})
	defer p.Close()
	d, s := both(t, p)
	var seen []string
	c.fate = func(_ int, q *rpc.Request) fate {
		seen = append(seen, fmt.Sprint(q.Op, " ", q.Seq))
		return delivered
	}
	pushOnes(t, d, s)
	must(t, p.SyncClock(t.Context()))
	must(t, d.Update(t.Context(), "double", nil))
	pushOnes(t, d, s)
	must(t, p.Flush(t.Context()))
	must(t, p.Flush(t.Context())) // nothing to send
	_, err := p.Next(t.Context(), 0, 0, []matrix.Lookup{{Matrix: "d"}}, nil)
	must(t, err)
	_, err = p.Pull(t.Context(), []matrix.Lookup{{Matrix: "d"}})
	must(t, err)
	must(t, d.Clock(t.Context(), 0, 0))
	must(t, p.Barrier(t.Context()))
	want := []string{"push 1", "update 2", "push 3", "push 4", "pull 0", "push 5", "barrier 0"}
	if !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
	c.right(t)
}

// TestNextGivenUp: the keys that a step under way asks for are not those of later calls.
func TestNextGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(1)
		p := c.dial(t, ps.Options{})
		defer p.Close()
		both(t, p)
		var asked []int64
		c.fate = func(_ int, q *rpc.Request) fate {
			if len(q.Parts) > 0 && asked == nil {
				asked = q.Parts[0].Keys
			}
			return kept
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Next(ctx, 0, 0, []matrix.Lookup{{Matrix: "s", Cols: []int64{1, 2, 3}}}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		before := slices.Clone(asked)
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "s", Cols: []int64{7, 8, 9}}}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if len(asked) != 3 || !slices.Equal(asked, before) {
			t.Errorf("the server sees %v, was asked %v", asked, before)
		}
		c.release()
		must(t, p.Barrier(t.Context()))
	})
}
