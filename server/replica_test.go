package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/server"
	"thole.example/ssp"
)

// reader follows a job at the first server, or at the second where that has a copy.
func (p *pair) reader(o ps.Options) (*ps.Client, error) {
	o.Network, o.Servers, o.Job = p.net, p.at[:1], "j"
	o.Replicas = func(context.Context, int) ([]string, error) { return p.at[1:], nil }
	return ps.Follow(p.t.Context(), o)
}

func (r *keptRole) hold(is bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = is
}

// copies has the second server copy the logs of the first and waits until it is synchronous.
func (p *pair) copies() (copying *server.Copying, cut func()) {
	p.t.Helper()
	copying = p.servers[1].NewCopying(p.at[1])
	copying.Reads = p.at[1]
	conn, over := p.follow(copying, p.at[0])
	p.becomesSynchronous(time.Minute)
	time.Sleep(time.Second) // it has replayed what there is
	p.t.Cleanup(func() {
		_ = copying.Drop()
		time.Sleep(time.Hour) // its jobs end
	})
	return copying, func() {
		_ = conn.Close()
		<-over
	}
}

// first is the first value of the row, where all have to be equal.
func first(ctx context.Context, c *ps.Client) (float64, error) {
	m, err := c.Matrix("m")
	if err != nil {
		return 0, err
	}
	row, err := m.GetRow(ctx, 0)
	if err != nil {
		return 0, err
	}
	all := row.Data.Values().([]float64)
	for i, v := range all {
		if v != all[0] {
			return 0, fmt.Errorf("value %d is %v, the first is %v: half a change", i, v, all[0])
		}
	}
	return all[0], nil
}

// from is where a reader reads the only server's values.
func from(c *ps.Client) string {
	s := c.Sources()[0]
	if s.Lag != nil {
		return s.Addr + ", a copy"
	}
	return s.Addr
}

// TestReplica: a standby answers a reader that accepts a copy with the values that the server has; the reader changes something at the
// server, and reads there from then on. A standby answers no other reader, no task and no change.
func TestReplica(t *testing.T) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		ctx := t.Context()
		c, err := p.task("a", "j")
		if err == nil {
			err = push(ctx, c, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, cut := p.copies()
		r, err := p.reader(ps.Options{ReadFrom: ps.ReadReplica})
		if err != nil {
			t.Fatal(err)
		}
		for want := 2.0; want < 5; want++ {
			if err := push(ctx, c, 1); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			got, err := first(ctx, r)
			sum := -1.0
			if m, merr := r.Matrix("m"); merr == nil && err == nil {
				var out psf.Answer
				if out, err = m.Get(ctx, "sum", nil); err == nil {
					sum, err = out.Number()
				}
			}
			if err != nil || got != want || sum != want*wideRow || from(r) != "b, a copy" {
				t.Errorf("from %s: %v, sum %v, %v; want %v from b", from(r), got, sum, err, want)
			}
		}
		if lag := r.Sources()[0].Lag; lag == nil || lag.Seconds > 1 || lag.Bytes > 0 {
			t.Errorf("an idle copy lags %+v", lag)
		}
		if served := p.servers[1].CopyReads(); served < 6 {
			t.Errorf("%d requests were served from the copy, want 6 or more", served)
		}

		conn, err := p.net.Dial(ctx, "b")
		if err != nil {
			t.Fatal(err)
		}
		for what, q := range map[string]*rpc.Request{
			"a reader that accepts no copy": {Op: rpc.OpFollow, Arg: []byte(`{"job":"j"}`)},
			"a task":                        {Op: rpc.OpJoin, Arg: []byte(`{"job":"j","tasks":1,"attempt":1}`)},
			"a save":                        {Op: rpc.OpSave, Arg: []byte(`{}`)},
		} {
			if _, err := conn.Start(ctx, q).Wait(ctx); !errors.Is(err, rpc.ErrStandby) {
				t.Errorf("%s at a standby: %v", what, err)
			}
		}
		if _, err := conn.Start(ctx, &rpc.Request{Op: rpc.OpFollow, Arg: []byte(`{"job":"j","replica":true}`)}).Wait(ctx); err != nil {
			t.Error(err)
		}
		update := &rpc.Request{Op: rpc.OpUpdate, Func: "scale", Arg: []byte(`{"by":2}`), Parts: []rpc.Part{{Kind: rpc.KindDense, Matrix: 1}}}
		if _, err := conn.Start(ctx, update).Wait(ctx); !errors.Is(err, rpc.ErrStandby) {
			t.Errorf("an update at a standby: %v", err)
		}
		_ = conn.Close()

		m, err := r.Matrix("m")
		if err == nil {
			err = m.Update(ctx, "scale", psf.Args{"by": 2})
		}
		if got, bad := first(ctx, r); err != nil || bad != nil || got != 8 || from(r) != "a" {
			t.Errorf("after an update: %v from %s, %v, %v; want 8 from a", got, from(r), err, bad)
		}
		time.Sleep(time.Minute)
		if _, err := first(ctx, r); err != nil || from(r) != "a" {
			t.Errorf("a reader that has changed something reads from %s: %v", from(r), err)
		}
		_ = r.Close()
		cut()
		_ = c.Close()
	})
}

// TestReplicaLag: a copy that the network has cut off from its server is not read once it is older than the reader accepts: the reader
// reads from the server, and from the copy again when that has caught up. A request that waits for a clock there is not left waiting.
func TestReplicaLag(t *testing.T) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		ctx := t.Context()
		c, err := p.task("a", "j")
		if err != nil {
			t.Fatal(err)
		}
		copying, cut := p.copies()
		r, err := p.reader(ps.Options{ReadFrom: ps.ReadReplica, MaxLag: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		cut()
		for i := range 3 { // a cut-off copy may be read for as long as the reader said
			if _, err := first(ctx, r); err != nil || from(r) != "b, a copy" {
				t.Errorf("%d s after the loss: from %s, %v", i/2, from(r), err)
			}
			time.Sleep(500 * time.Millisecond)
		}
		if err := push(ctx, c, 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got, err := first(ctx, r); err != nil || got != 1 || from(r) != "a" {
			t.Errorf("2.5 s after the loss: %v from %s, %v; want 1 from a", got, from(r), err)
		}
		over := make(chan error, 1)
		conn, err := p.net.Dial(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		go func() { over <- copying.From(ctx, conn) }()
		time.Sleep(time.Minute)
		if got, err := first(ctx, r); err != nil || got != 1 || from(r) != "b, a copy" {
			t.Errorf("after the copy has caught up: %v from %s, %v; want 1 from b", got, from(r), err)
		}
		_ = r.Close()
		_ = conn.Close()
		<-over
		_ = c.Close()
	})
}

// TestReplicaBehind: while a standby has much to replay it answers no reader.
func TestReplicaBehind(t *testing.T) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		ctx := t.Context()
		p.limits(server.CopyLimits{Ahead: 1}) // half of it is nothing
		p.disks[1].Slow = 2 * time.Second     // what comes is replayed when it is on the disk
		c, err := p.task("a", "j")
		if err != nil {
			t.Fatal(err)
		}
		_, cut := p.copies()
		time.Sleep(time.Minute)
		r, err := p.reader(ps.Options{ReadFrom: ps.ReadReplica})
		if err != nil || from(r) != "b, a copy" {
			t.Fatal(from(r), err)
		}
		pushed := make(chan error, 1)
		go func() { pushed <- push(ctx, c, 1) }()
		time.Sleep(500 * time.Millisecond)
		if _, err := first(ctx, r); err != nil || from(r) != "a" {
			t.Errorf("while a record is to be replayed: from %s, %v; want a", from(r), err)
		}
		if err := <-pushed; err != nil {
			t.Error(err)
		}
		_ = r.Close()
		cut()
		_ = c.Close()
	})
}

// TestReplicaTakesOver: a reader whose standby takes over reads there what the server had, and one whose standby copies another server
// from the start reads from that server.
func TestReplicaTakesOver(t *testing.T) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		ctx := t.Context()
		c, err := ps.Dial(ctx, ps.Options{Network: p.net, Servers: []string{"a"}, Job: "j", Tasks: 1, Bound: ssp.ASP, Retry: time.Hour})
		if err == nil {
			err = c.Create(ctx, "", matrix.Meta{Name: "m", Rows: 1, Cols: wideRow, DType: matrix.F64, Layout: matrix.RowDense})
		}
		if err == nil {
			err = push(ctx, c, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		copying, cut := p.copies()
		now := "a"
		find := func(context.Context, int) (string, uint64, error) { return now, 1, nil }
		r, err := p.reader(ps.Options{ReadFrom: ps.ReadReplica, Retry: time.Minute, Find: find})
		if err != nil {
			t.Fatal(err)
		}
		again, err := p.reader(ps.Options{ReadFrom: ps.ReadReplica})
		if err == nil {
			_, err = first(ctx, again)
		}
		if err != nil {
			t.Fatal(err)
		}
		cut()
		if err := copying.Drop(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // the server gives the standby up
		if got, err := first(ctx, again); err != nil || got != 1 || from(again) != "a" {
			t.Errorf("after the copy was dropped: %v from %s, %v; want 1 from a", got, from(again), err)
		}
		_ = again.Close()

		copying, cut = p.copies()
		for _, want := range []string{"a", "b, a copy"} { // its job at b has ended; later it looks there again
			if got, err := first(ctx, r); err != nil || got != 1 || from(r) != want {
				t.Fatalf("%v from %s, %v; want 1 from %s", got, from(r), err, want)
			}
			time.Sleep(time.Minute)
		}
		cut()
		p.roles[0].hold(false)
		if err := copying.Take(ctx); err != nil {
			t.Fatal(err)
		}
		p.roles[1].hold(true)
		now = "b"
		if got, err := first(ctx, r); err != nil || got != 1 || from(r) != "b" && from(r) != "b, a copy" {
			t.Errorf("after the takeover: %v from %s, %v; want 1 from b", got, from(r), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		_ = c.Close()
	})
}

// TestReplicaCut: readers of copies get the values of one clock on all servers, of some of which they read a copy, while tasks go on.
func TestReplicaCut(t *testing.T) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		ctx := t.Context()
		c, err := ps.Dial(ctx, ps.Options{Network: p.net, Servers: []string{"a"}, Job: "j", Tasks: 1, Bound: ssp.BSP})
		if err == nil {
			err = c.Create(ctx, "", meta("m", 1, 64, matrix.RowDense), meta("s", 1, 64, matrix.RowSparse))
		}
		if err != nil {
			t.Fatal(err)
		}
		_, cut := p.copies()
		r, err := p.reader(ps.Options{ReadFrom: ps.ReadReplica})
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 1)
		go func() {
			for range 200 {
				ones := matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, 64))
				for i := range ones.Data.Values().([]float64) {
					ones.Data.Values().([]float64)[i] = 1
				}
				if err := errors.Join(c.Push("m", ones.Clone()), c.Push("s", ones), c.SyncClock(ctx)); err != nil {
					over <- err
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
			over <- nil
		}()
		cuts, last := 0, 0
		for last < 190 {
			got, err := r.Cut(ctx, []matrix.Lookup{{Matrix: "m"}, {Matrix: "s", Cols: []int64{3, 63}}})
			if err != nil {
				t.Fatal(err)
			}
			m, _ := r.Matrix("m")
			for _, b := range got {
				for _, v := range b.Data.Values().([]float64) {
					if v != float64(m.AsOf()) || m.AsOf() < last {
						t.Fatalf("a value %v at clock %d, after clock %d", v, m.AsOf(), last)
					}
				}
			}
			cuts, last = cuts+1, m.AsOf()
			time.Sleep(7 * time.Millisecond)
			if from(r) != "b, a copy" {
				t.Fatalf("a cut from %s", from(r))
			}
		}
		if err := <-over; err != nil || cuts < 50 {
			t.Errorf("%d cuts, %v", cuts, err)
		}

		// The clock after the last one never comes; the copy is cut off while a reader waits for it.
		waits := make(chan error, 1)
		next := &rpc.Request{Op: rpc.OpPull, Parts: []rpc.Part{{Kind: rpc.KindDense, DType: matrix.F64, Matrix: 1, Version: 1, Clock: 201,
			Rows: matrix.Range{Hi: 1}, Cols: matrix.Range{Hi: 32}, Groups: []rpc.Group{{}}}}}
		conn, err := p.net.Dial(ctx, "b")
		if err == nil {
			_, err = conn.Start(ctx, &rpc.Request{Op: rpc.OpFollow, Arg: []byte(`{"job":"j","replica":true}`)}).Wait(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := conn.Start(ctx, next).Wait(ctx)
			waits <- err
		}()
		time.Sleep(time.Minute)
		select {
		case err := <-waits:
			t.Fatalf("a read of a clock that has not come: %v", err)
		default:
		}
		cut()
		select {
		case err := <-waits:
			if !errors.Is(err, rpc.ErrLag) {
				t.Errorf("a read of a clock at a copy that is cut off: %v", err)
			}
		case <-time.After(7 * time.Second):
			t.Error("a read of a clock waits at a copy that is cut off")
		}
		_ = conn.Close()
		_ = r.Close()
		_ = c.Close()
	})
}

// TestReplicaMemory: what readers take of a standby's memory does not refuse what the server has accepted.
func TestReplicaMemory(t *testing.T) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		ctx := t.Context()
		ledger := p.servers[1].Ledger
		c, err := ps.Dial(ctx, ps.Options{Network: p.net, Servers: []string{"a"}, Job: "j", Tasks: 1, Bound: ssp.BSP})
		if err == nil {
			err = c.Create(ctx, "", meta("s", 1, 1<<20, matrix.RowSparse))
		}
		if err != nil {
			t.Fatal(err)
		}
		_, cut := p.copies()
		taken := ledger.Force(budget.Tables, ledger.Left()-1<<10) // as of marks that functions of many readers read
		values := matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, 10_000))
		for i := range values.Data.Values().([]float64) {
			values.Data.Values().([]float64)[i] = 5
		}
		if err := errors.Join(c.Push("s", values), c.SyncClock(ctx)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		r, err := p.reader(ps.Options{ReadFrom: ps.ReadReplica})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Cut(ctx, []matrix.Lookup{{Matrix: "s", Cols: []int64{0}}})
		if err != nil || got[0].Data.Values().([]float64)[0] != 5 || from(r) != "b, a copy" {
			t.Errorf("%v from %s, %v; want 5 from b", got, from(r), err)
		}
		taken.Release()
		_ = r.Close()
		cut()
		_ = c.Close()
	})
}

// TestReplicaRefusals: what a reader cannot be told at a standby says why.
func TestReplicaRefusals(t *testing.T) {
	pairOf(t, 1<<40, func(t *testing.T, p *pair) {
		ctx := t.Context()
		c, err := p.task("a", "j")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := p.net.Dial(ctx, "b")
		if err != nil {
			t.Fatal(err)
		}
		follow := &rpc.Request{Op: rpc.OpFollow, Arg: []byte(`{"job":"j","replica":true,"maxLag":1000000000}`)}
		if _, err := conn.Start(ctx, follow).Wait(ctx); !errors.Is(err, rpc.ErrNotFound) {
			t.Errorf("a job of which there is no copy: %v", err)
		}
		_, cut := p.copies()
		if _, err := conn.Start(ctx, follow).Wait(ctx); err != nil {
			t.Error(err)
		}
		cut()
		time.Sleep(2 * time.Second)
		if _, err := conn.Start(ctx, follow).Wait(ctx); !errors.Is(err, rpc.ErrLag) || !strings.Contains(err.Error(), "want at most 1s") {
			t.Errorf("a copy that is too old: %v", err)
		}
		_ = conn.Close()
		_ = c.Close()
	})
}
