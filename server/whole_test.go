package server_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// sized notes how much room the network is told to take for answers.
type sized struct {
	*server.Server
	total, most atomic.Int64
}

func (s *sized) Size(x *rpc.Exchange) int64 {
	n := s.Server.Size(x)
	s.total.Add(n)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	return n
}

// wholeRows is how many rows the matrix has.
const wholeRows = 16

// TestWholeSparseReads (D3, T22): several clients read a sparse matrix whole, or all its keys, whose values take more than the
// server has room for in one answer. All of it is counted before it is read, and comes in answers of which each fits.
func TestWholeSparseReads(t *testing.T) {
	const clients, columns, memory = 4, 40_000, 8 << 20 // 2.9 MB of keys and values, in 16 partitions
	ledger := budget.New(memory)
	s := &sized{Server: &server.Server{Funcs: table(t), Ledger: ledger, Scratch: t.TempDir()}}
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
	keys := make([]int64, columns)
	for i := range keys {
		keys[i] = int64(i) * 7919
	}
	for task := range clients {
		all.Go(func() {
			o := ps.Options{Network: net, Servers: []string{l.Addr()}, Job: "j", Task: task, Tasks: clients, Bound: ssp.BSP}
			if err := readWhole(ctx, o, keys); err != nil {
				t.Errorf("task %d: %v", task, err)
			}
		})
	}
	all.Wait()
	// Next asks before all columns are there; what it brings beyond is counted when it is read.
	if least := int64(clients * columns * (2*4*wholeRows + 8)); s.total.Load() < least {
		t.Errorf("room was taken for %d bytes, want %d or more", s.total.Load(), least)
	}
	if most := ledger.Most(budget.Queues); s.most.Load() > most {
		t.Errorf("an answer of %d bytes, of which at most %d fit", s.most.Load(), most)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	stop()
	relieve.Wait()
	if used := ledger.Used(); used.Total() != 0 {
		t.Errorf("bytes in use at the end: %v", used)
	}
}

// readWhole adds 1 to all columns, and reads them in each way that there is.
func readWhole(ctx context.Context, o ps.Options, keys []int64) error {
	p, err := ps.Dial(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	const rows = wholeRows
	if err := p.Create(ctx, "", matrix.Meta{Name: "m", Rows: rows, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse}); err != nil {
		return err
	}
	m, err := p.Matrix("m")
	if err != nil {
		return err
	}
	k, err := m.Plan(nil, keys)
	if err != nil {
		return err
	}
	values := make([]float32, rows*len(keys))
	for i := range values {
		values[i] = 1
	}
	if err := ps.PushKeys(m, k, values); err != nil {
		return err
	}
	after, err := p.Next(ctx, 0, 0, []matrix.Lookup{{Matrix: "m"}}, nil)
	if err != nil {
		return fmt.Errorf("next: %w", err)
	}
	pulled, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "m"}})
	if err != nil {
		return fmt.Errorf("pull: %w", err)
	}
	if err := ps.PullKeys(ctx, m, k, values); err != nil {
		return fmt.Errorf("pull of keys: %w", err)
	}
	for i, v := range values {
		if v != float32(o.Tasks) {
			return fmt.Errorf("value %d of the keys is %v, want %d", i, v, o.Tasks)
		}
	}
	for _, b := range []matrix.Block{after[0], pulled[0]} {
		got := b.Data.(*matrix.Cols[float32])
		if len(got.Idx) != len(keys) {
			return fmt.Errorf("%d columns, want %d", len(got.Idx), len(keys))
		}
		for i, key := range got.Idx {
			if key != keys[i] || got.Val[rows*i] != float32(o.Tasks) || got.Val[rows*i+rows-1] != float32(o.Tasks) {
				return fmt.Errorf("column %d is %d: %v, want %d: %d", i, key, got.Val[rows*i:][:rows], keys[i], o.Tasks)
			}
		}
	}
	return p.Leave(ctx)
}
