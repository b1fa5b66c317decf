package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/server"
)

// limits sets the limits of both servers.
func (p *pair) limits(c server.CopyLimits) {
	for _, s := range p.servers {
		s.Copies = c
	}
}

// becomesSynchronous wants the standby to be named within a time.
func (p *pair) becomesSynchronous(within time.Duration) {
	p.t.Helper()
	for began := time.Now(); p.roles[0].names() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > within {
			p.t.Fatalf("the standby is not named within %v", within)
		}
	}
}

// TestCopyFarBehind: a standby that begins to copy, or lags, by more than it may be ahead of its replay catches up, with and without a
// base; and is what the server was when it takes over.
func TestCopyFarBehind(t *testing.T) {
	for name, base := range map[string]int64{"no base": 1 << 40, "a base": 3 << 20} {
		t.Run(name, func(t *testing.T) {
			pairOf(t, base, func(t *testing.T, p *pair) {
				p.limits(server.CopyLimits{Ahead: 1 << 20, Lag: 1 << 20, Batch: 1 << 20})
				c, err := p.task("a", "j")
				if err != nil {
					t.Fatal(err)
				}
				for range 20 { // 10 MiB
					if err := push(t.Context(), c, 1); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Minute)
				if p.disks[0].Bases() == 0 != (base == 1<<40) {
					t.Fatalf("the log has %d bases", p.disks[0].Bases())
				}
				copying := p.servers[1].NewCopying("b")
				conn, over := p.follow(copying, "a")
				p.becomesSynchronous(time.Minute)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := push(ctx, c, 1); err != nil {
					t.Errorf("a push with a standby: %v", err)
				}
				_ = conn.Close()
				<-over
				if err := copying.Take(ctx); err != nil {
					t.Error(err)
				}
				_ = c.Close()
			})
		})
	}
}

// slowly asks as a standby for one answer a second, until ctx ends, and stops with the error of one.
func (r *raw) slowly(ctx context.Context, claim string) error {
	q := &rpc.Copy{Claim: claim}
	for {
		if err := r.ask(ctx, q); err != nil {
			return err
		}
		q = r.all(claim)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// pushes pushes a row after the other until ctx ends, and counts the acknowledged ones.
func pushes(ctx context.Context, c *ps.Client) (n *atomic.Int64, over chan error) {
	n, over = new(atomic.Int64), make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if err := push(context.WithoutCancel(ctx), c, 1); err != nil {
				over <- err
				return
			}
			n.Add(1)
		}
		over <- nil
	}()
	return n, over
}

// rowBytes is about how many bytes a push of a row has in the log.
const rowBytes = 8 * wideRow

// TestThrottle: while a standby copies more slowly than a job pushes, pushes are delayed so that the log grows by no more than its room,
// and the standby becomes synchronous.
func TestThrottle(t *testing.T) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		const keep = 8 * rowBytes
		p.disks[0].Slow = 100 * time.Millisecond
		p.limits(server.CopyLimits{Lag: 2 * rowBytes, Keep: keep, Batch: rowBytes + 1<<10})
		c, err := p.task("a", "j")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		_, pushed := pushes(ctx, c)
		r, slow := p.raw(), make(chan error, 1)
		go func() { slow <- r.slowly(ctx, "x") }()
		most, throttled := uint64(0), false
		for began := time.Now(); p.roles[0].names() == 0; time.Sleep(100 * time.Millisecond) {
			if all, _ := p.servers[0].Standbys(); len(all) == 1 {
				most, throttled = max(most, all[0].Uncopied), throttled || all[0].Throttled
			}
			if time.Since(began) > 10*time.Minute {
				t.Fatal("the standby never becomes synchronous")
			}
		}
		if most > keep+4*rowBytes || !throttled {
			t.Errorf("the log grows %d bytes ahead of the standby, throttled %v; want at most %d, throttled", most, throttled, keep+4*rowBytes)
		}
		stop()
		if err := <-slow; !errors.Is(err, context.Canceled) {
			t.Errorf("the standby ends with %v", err)
		}
		_ = r.conn.Close()
		if err := <-pushed; err != nil {
			t.Errorf("pushed with %v", err)
		}
		_ = c.Close()
	})
}

// TestDrop: a standby that copies more slowly than the log grows is dropped, pushes do not wait for it, and what only it needed of the
// log is removed.
func TestDrop(t *testing.T) {
	pairOf(t, 4*rowBytes, func(t *testing.T, p *pair) {
		p.disks[0].Slow = 100 * time.Millisecond
		p.limits(server.CopyLimits{Lag: rowBytes, Keep: 16 * rowBytes, Batch: 1 << 10})
		p.servers[0].SlowStandby = server.DropStandby
		c, err := p.task("a", "j")
		if err != nil {
			t.Fatal(err)
		}
		r := p.raw()
		ctx, stop := context.WithCancel(t.Context())
		n, pushed := pushes(ctx, c)
		slow := r.slowly(t.Context(), "x")
		if !errors.Is(slow, rpc.ErrAborted) && !errors.Is(slow, rpc.ErrStale) {
			t.Errorf("the standby ends with %v, want that it was given up, or that what it needs is gone", slow)
		}
		before := n.Load()
		time.Sleep(10 * time.Second)
		if n.Load() < before+15 {
			t.Errorf("%d pushes in 10 s, want many", n.Load()-before)
		}
		if all, dropped := p.servers[0].Standbys(); len(all) > 0 || dropped != 1 {
			t.Errorf("standbys are %+v, %d were dropped, want 1", all, dropped)
		}
		stop()
		if err := <-pushed; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if kept := p.disks[0].Logged(); kept > 32*rowBytes {
			t.Errorf("%d bytes of log are kept, want at most %d", kept, 32*rowBytes)
		}
		_ = r.conn.Close()
		_ = c.Close()
	})
}

// TestStalled: a server whose synchronous standby acknowledges nothing says so, goes on alone after a while, and counts it.
func TestStalled(t *testing.T) {
	for _, policy := range []server.SlowStandby{server.ThrottlePushes, server.DropStandby} {
		t.Run(server.SlowStandbyNames()[policy], func(t *testing.T) {
			pairOf(t, 1<<40, func(t *testing.T, p *pair) {
				p.servers[0].SlowStandby = policy
				r := p.raw()
				c, err := p.task("a", "j")
				if err == nil {
					err = r.ask(t.Context(), &rpc.Copy{Claim: "x"})
				}
				if err != nil {
					t.Fatal(err)
				}
				r.start(t.Context(), r.all("x"))
				time.Sleep(time.Second)
				if all, _ := p.servers[0].Standbys(); len(all) != 1 || !all[0].Synchronous || all[0].Idle != 0 || all[0].Uncopied != 0 {
					t.Fatalf("standbys are %+v, want a synchronous one that has everything", all)
				}
				began := time.Now()
				pushed := make(chan error, 1)
				go func() { pushed <- push(t.Context(), c, 1) }()
				time.Sleep(3 * time.Second)
				if all, _ := p.servers[0].Standbys(); len(all) != 1 || !all[0].Stalled || all[0].Idle < 2 || all[0].Uncopied < rowBytes {
					t.Errorf("standbys are %+v, want one that is stalled", all)
				}
				if err := <-pushed; err != nil || time.Since(began) > 10*time.Second {
					t.Errorf("pushed after %v with %v", time.Since(began), err)
				}
				if all, dropped := p.servers[0].Standbys(); len(all) > 0 || dropped != 1 {
					t.Errorf("standbys are %+v, %d were dropped, want 1", all, dropped)
				}
				_ = r.conn.Close()
				_ = c.Close()
			})
		})
	}
}

// TestPaused: a synchronous standby that says that it has no room is waited for while it replays, unless slow standbys are dropped.
func TestPaused(t *testing.T) {
	for _, policy := range []server.SlowStandby{server.ThrottlePushes, server.DropStandby} {
		t.Run(server.SlowStandbyNames()[policy], func(t *testing.T) {
			pairOf(t, 1<<40, func(t *testing.T, p *pair) {
				p.servers[0].SlowStandby = policy
				r := p.raw()
				c, err := p.task("a", "j")
				if err == nil {
					err = r.ask(t.Context(), &rpc.Copy{Claim: "x"})
				}
				if err != nil {
					t.Fatal(err)
				}
				waits := r.start(t.Context(), r.all("x"))
				pushed := make(chan error, 1)
				go func() { pushed <- push(t.Context(), c, 1) }()
				a, err := waits.Wait(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				_ = json.Unmarshal(a.Results[0].Data, &r.last)
				a.Release()
				last := *r
				q := last.all("x")
				q.Paused = true
				if err := errors.Join(r.ask(t.Context(), q), <-pushed); err != nil { // it acknowledges, and is sent nothing any more
					t.Fatal(err)
				}
				go func() { pushed <- push(t.Context(), c, 1) }()
				time.Sleep(time.Second)
				for i := range 20 {
					q := last.all("x")
					q.Paused, q.Logs[0].Replayed = true, uint64(8*i)
					if err := r.ask(t.Context(), q); err != nil && !errors.Is(err, rpc.ErrAborted) { // which is that it was given up
						t.Fatal(err)
					}
					if time.Sleep(500 * time.Millisecond); i == 2 {
						if all, _ := p.servers[0].Standbys(); len(all) != 1 || all[0].Unreplayed != q.Logs[0].End-16 {
							t.Errorf("standbys are %+v, want one that has not replayed %d bytes", all, q.Logs[0].End-16)
						}
					}
				}
				_, dropped := p.servers[0].Standbys()
				acknowledged := len(pushed) > 0
				if wants := policy == server.DropStandby; acknowledged != wants || wants != (dropped > 0) {
					t.Errorf("after 10 s without room a push is acknowledged: %v, and %d standbys were dropped", acknowledged, dropped)
				}
				_ = r.conn.Close()
				if err := <-pushed; err != nil {
					t.Error(err)
				}
				_ = c.Close()
			})
		})
	}
}
