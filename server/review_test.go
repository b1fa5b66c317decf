package server_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc/mem"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// These are reproductions of defects that an examination of the first core found and no other test has; docs/reliability.md
// has all of them.

// TestSlowTaskComesThrough (D2, D3): fast tasks push more than the server has memory for while the slowest one, whose push
// alone lets it be given back, has not pushed yet. Nobody is refused, nobody waits for ever, and the sums are right.
func TestSlowTaskComesThrough(t *testing.T) {
	const tasks, cols, rounds = 13, 12_500, 4 // 100 kB of f64 in each push, 5 MB together
	ledger := budget.New(1<<20 + tasks<<15)   // with room for the connections
	if err := ledger.Bound(budget.Connections, budget.Bounds{Ceiling: tasks << 15}); err != nil {
		t.Fatal(err)
	}
	s := &server.Server{Funcs: table(t), Codecs: codecs, Bucket: &blob.Mem{}, Ledger: ledger, Scratch: t.TempDir()}
	net := &tcp.Network{Log: slog.New(slog.DiscardHandler)}
	counting := *net
	counting.Ledger = ledger
	l, err := counting.Listen(t.Context(), "127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	var relieve, all sync.WaitGroup
	relieve.Go(func() { s.Relieve(ctx) })
	for task := range tasks {
		all.Go(func() {
			err := slowRounds(ctx, ps.Options{Network: net, Servers: []string{l.Addr()}, Job: "j", Task: task, Tasks: tasks}, cols, rounds,
				func(round int) {
					if task == 0 && round == 0 {
						time.Sleep(300 * time.Millisecond) // the others are on their way, or stuck if they were
					}
				})
			if err != nil {
				t.Errorf("task %d: %v", task, err)
			}
		})
	}
	all.Wait()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	stop()
	relieve.Wait()
	if used := ledger.Used(); used.Total() != 0 {
		t.Errorf("bytes in use at the end: %v", used)
	}
}

func slowRounds(ctx context.Context, o ps.Options, cols, rounds int, before func(round int)) error {
	p, err := ps.Dial(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	m := matrix.Meta{Name: "m", Rows: 1, Cols: int64(cols), DType: matrix.F64, BlockCols: int64(cols)}
	if err := p.Create(ctx, "", m); err != nil {
		return err
	}
	for round := range rounds {
		before(round)
		ones := matrix.NewDense(matrix.F64, m.Rect())
		for i := range ones.Data.Values().([]float64) {
			ones.Data.Values().([]float64)[i] = 1
		}
		if err := errors.Join(p.Push("m", ones), p.SyncClock(ctx)); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "m"}})
	if err != nil {
		return err
	}
	for i, v := range got[0].Data.Values().([]float64) {
		if v != float64(o.Tasks*rounds) {
			return fmt.Errorf("column %d is %v, want %d", i, v, o.Tasks*rounds)
		}
	}
	return p.Leave(ctx)
}

// alone is a client that is the only task of its job.
func alone(t *testing.T, bound ssp.Bound, ms ...matrix.Meta) (*ps.Client, *ps.Matrix) {
	t.Helper()
	net := &mem.Network{}
	l, err := net.Listen(t.Context(), "s", &server.Server{Funcs: table(t), Codecs: codecs, Bucket: &blob.Mem{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p, err := ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Tasks: 1, Bound: bound})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	if err := p.Create(t.Context(), "", ms...); err != nil {
		t.Fatal(err)
	}
	m, err := p.Matrix(ms[0].Name)
	if err != nil {
		t.Fatal(err)
	}
	return p, m
}

// TestFlowSaysItsClock (D14): the rows of one flow may be of several clocks, if the task ticks while it reads them; each says
// as of which, whatever else was read since it came.
func TestFlowSaysItsClock(t *testing.T) {
	for _, batch := range []int{1, 3} {
		p, m := alone(t, ssp.BSP, matrix.Meta{Name: "m", Rows: 8, Cols: 4, DType: matrix.F64})
		later := 0
		for row, err := range m.GetRowsFlow(t.Context(), []int64{0, 1, 2, 3, 4, 5, 6, 7}, batch) {
			if err != nil {
				t.Fatal(err)
			}
			if v := row.Data.Values().([]float64)[0]; v != float64(m.AsOf()) {
				t.Errorf("%v has %v, added once a clock, and says that it is as of clock %d", row.At, v, m.AsOf())
			}
			later = max(later, m.AsOf())
			ones := matrix.NewDense(matrix.F64, m.Meta().Rect())
			for i := range ones.Data.Values().([]float64) {
				ones.Data.Values().([]float64)[i] = 1
			}
			if err := errors.Join(m.Increment(ones), p.Clock(t.Context(), 0, 0)); err != nil {
				t.Fatal(err)
			}
			if now, err := m.GetRow(t.Context(), 0); err != nil || now.Data.Values().([]float64)[0] != float64(m.AsOf()) {
				t.Errorf("a row beside the flow, as of clock %d: %v, %v", m.AsOf(), now.Data, err)
			}
		}
		if later == 0 {
			t.Error("no row was of a later clock: the test shows nothing")
		}
	}
}
