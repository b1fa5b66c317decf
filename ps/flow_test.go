package ps_test

import (
	"context"
	"sync/atomic"
	"testing"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
)

// counting counts the rows that a server was asked for.
type counting struct {
	server.Server
	rows atomic.Int64
}

func (c *counting) Serve(ctx context.Context, from *rpc.Peer, q *rpc.Request) (*rpc.Response, error) {
	if q.Op == rpc.OpPull {
		c.rows.Add(int64(len(q.Pieces)))
	}
	return c.Server.Serve(ctx, from, q)
}

// TestFlowAhead wants a flow to begin at once, and to ask for two batches beyond what was taken at most, however slow the
// consumer is; also when it stops early and when a row is not there.
func TestFlowAhead(t *testing.T) {
	funcs, err := psf.NewTable(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	net, s := &mem.Network{}, &counting{Server: server.Server{Funcs: funcs}}
	l, err := net.Listen(t.Context(), "", s)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{l.Addr()}, Job: "j", Tasks: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const rows, batch = 1000, 10
	if err := c.Create(t.Context(), "column", matrix.Meta{Name: "m", Rows: rows, Cols: 3, DType: matrix.F32}); err != nil {
		t.Fatal(err)
	}
	m, err := c.Matrix("m")
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]int64, rows)
	for i := range ids {
		ids[i] = int64(rows - 1 - i)
	}
	flow := m.GetRowsFlow(t.Context(), ids, batch)
	if n := s.rows.Load(); n != 0 {
		t.Errorf("%d rows asked for before the first is taken", n)
	}
	taken := 0
	for b, err := range flow {
		if err != nil || b.At.Rows.Lo != ids[taken] {
			t.Fatalf("row %v, %v, want row %d", b.At, err, ids[taken])
		}
		taken++
		if ahead := s.rows.Load() - int64(taken); ahead > 2*batch {
			t.Fatalf("%d rows asked for beyond the %d taken, want %d at most", ahead, taken, 2*batch)
		}
		if taken == rows/2 {
			break
		}
	}
	taken = 0
	for _, err := range m.GetRowsFlow(t.Context(), []int64{1, 2, rows}, 2) {
		if taken++; taken <= 2 != (err == nil) {
			t.Errorf("place %d of rows 1, 2 and one too many: %v", taken, err)
		}
	}
	for range m.GetRowsFlow(t.Context(), nil, -1) {
		t.Error("a row of no rows")
	}
}
