package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// full is servers over TCP with little memory each, which they share with the network.
func fullServers(t *testing.T, servers int, total int64) (addrs []string, ledgers []*budget.Ledger) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	t.Cleanup(func() { stop(); done.Wait() })
	for range servers {
		ledger := budget.New(total)
		s := &server.Server{Funcs: table(t), Codecs: codecs, Bucket: &blob.Mem{}, Ledger: ledger, Scratch: t.TempDir()}
		l, err := tcp.Network{Ledger: ledger}.Listen(ctx, "127.0.0.1:0", s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		done.Go(func() { s.Relieve(ctx) })
		addrs, ledgers = append(addrs, l.Addr()), append(ledgers, ledger)
	}
	return addrs, ledgers
}

// most is the most that was in use of a ledger, looked at again and again until stop.
func most(ledger *budget.Ledger, stop <-chan struct{}) (top int64) {
	for {
		top = max(top, ledger.Used().Total())
		select {
		case <-stop:
			return top
		case <-time.After(time.Millisecond):
		}
	}
}

// TestFullLedger (T22): tasks that push far more than there is memory for, of which one is slow, all finish, with all sums right;
// what they have in use stays in bounds, and nothing is in use in the end.
func TestFullLedger(t *testing.T) {
	const tasks, clocks, cells, total = 12, 4, 64 << 10, 8 << 20 // half a MiB each: 24 MiB, of which all but one task's can wait
	for _, bound := range []ssp.Bound{ssp.BSP, ssp.ASP} {
		t.Run(bound.String(), func(t *testing.T) {
			addrs, ledgers := fullServers(t, 2, total)
			stop := make(chan struct{})
			top := make(chan int64, 1)
			go func() { top <- most(ledgers[0], stop) }()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			ahead := make(chan struct{}, tasks)
			var wg sync.WaitGroup
			for task := range tasks {
				wg.Go(func() {
					if err := pushMuch(ctx, addrs, bound, task, tasks, clocks, cells, ahead); err != nil {
						t.Errorf("task %d: %v", task, err)
						cancel()
					}
				})
			}
			wg.Wait()
			close(stop)
			if n := <-top; n > total+total/2 {
				t.Errorf("%d bytes were in use at a time, of %d", n, total)
			}
			within := time.Now().Add(patience)
			for ledgers[0].Used().Total() > 0 && time.Now().Before(within) {
				time.Sleep(time.Millisecond)
			}
			if u := ledgers[0].Used(); u.Total() > 0 {
				t.Errorf("in use are %v in the end", u)
			}
		})
	}
}

// pushMuch pushes dense and keyed gradients in each clock. Task 0 begins when some of the others are as far ahead as they get.
func pushMuch(ctx context.Context, addrs []string, bound ssp.Bound, task, tasks, clocks int, cells int64, ahead chan struct{}) error {
	p, err := ps.Dial(ctx, ps.Options{Network: tcp.Network{}, Servers: addrs, Job: "j", Task: task, Tasks: tasks, Bound: bound})
	if err != nil {
		return err
	}
	defer p.Close()
	w, k := meta("w", 1, cells, matrix.RowDense), meta("k", 4, 1<<40, matrix.RowSparse)
	if err := p.Create(ctx, "", w, k); err != nil {
		return err
	}
	if task == 0 {
		select {
		case <-ahead:
		case <-time.After(time.Second): // they have no room
		case <-ctx.Done():
		}
	}
	keys := []int64{1, 1 << 20, 1 << 39}
	for range clocks {
		d := matrix.NewDense(matrix.F64, w.Rect())
		val := d.Data.Values().([]float64)
		for i := range val {
			val[i] = 1
		}
		g := &matrix.Cols[float64]{Idx: slices.Clone(keys), Val: slices.Repeat([]float64{2}, 12)}
		if err := errors.Join(p.Push("w", d), p.Push("k", matrix.Block{At: k.Rect(), Data: g}), p.Clock(ctx, 0, 0)); err != nil {
			return err
		}
	}
	ahead <- struct{}{}
	if err := p.Barrier(ctx); err != nil {
		return err
	}
	got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "w"}, {Matrix: "k", Cols: keys}})
	if err != nil {
		return err
	}
	for i, b := range got {
		n := float64((i + 1) * tasks * clocks)
		val := b.Data.Values().([]float64)
		if slices.Min(val) != n || slices.Max(val) != n {
			return fmt.Errorf("values of %d are from %v to %v, want %v", i, slices.Min(val), slices.Max(val), n)
		}
	}
	return p.Leave(ctx)
}

// TestTooLarge: what can never fit is refused with both numbers, and the job goes on.
func TestTooLarge(t *testing.T) {
	addrs, _ := fullServers(t, 1, 1<<20)
	p, err := ps.Dial(t.Context(), ps.Options{Network: tcp.Network{}, Servers: addrs, Job: "j", Tasks: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	fails(t, "a matrix", p.Create(t.Context(), "", meta("huge", 1, 1<<20, matrix.RowDense)), rpc.ErrRefused, "8 MiB", "--memory")
	if err := p.Create(t.Context(), "", meta("k", 64, 1<<40, matrix.RowSparse)); err != nil {
		t.Fatal(err)
	}
	m, err := p.Matrix("k")
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Plan(nil, []int64{5, 1 << 39})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(ps.PushKeys(m, k, slices.Repeat([]float64{1}, 128)), p.SyncClock(t.Context())); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
}

// TestUrgent: whoever holds others back may use the reserve: a task at the slowest clock, one that has not joined, and one that
// comes back; who is ahead may not.
func TestUrgent(t *testing.T) {
	s := &server.Server{Funcs: table(t), Codecs: codecs, Bucket: &blob.Mem{}}
	gone := make(chan struct{})
	ask := func(from *rpc.Peer, q rpc.Request) {
		t.Helper()
		done := make(chan error, 1)
		s.Serve(rpc.NewExchange(&q, from, func(_ *rpc.Exchange, _ *rpc.Response, err error) { done <- err }))
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	peer := func(a rpc.Join) *rpc.Peer {
		p := &rpc.Peer{Gone: make(chan struct{})}
		if a.Epoch == 0 {
			p.Gone = gone
		}
		ask(p, joining(a))
		return p
	}
	want := func(what string, from *rpc.Peer, urgent bool) {
		t.Helper()
		if s.Urgent(from) != urgent {
			t.Errorf("%s: urgent is %v", what, !urgent)
		}
	}
	fast, slow := peer(rpc.Join{Tasks: 2, Client: "a", Grace: int64(time.Hour)}), peer(rpc.Join{Task: 1, Tasks: 2})
	want("a stranger", &rpc.Peer{}, true)
	want("both at clock 0", fast, true)
	tick := func(from *rpc.Peer, clock int) {
		ask(from, rpc.Request{Op: rpc.OpPush, Seq: uint64(clock + 1), Ticks: []rpc.Tick{own(clock)}})
	}
	tick(fast, 0)
	want("the fast one", fast, false)
	want("the slow one", slow, true)
	tick(slow, 0)
	want("the fast one when it is met", fast, true)
	tick(fast, 1)
	tick(fast, 2)
	back := peer(rpc.Join{Tasks: 2, Client: "a", Epoch: 1})
	want("the fast one that has come back", back, false)
	ask(slow, rpc.Request{Op: rpc.OpLeave})
	want("the last one", back, true)
	ask(back, rpc.Request{Op: rpc.OpLeave})
	close(gone)
}
