package ps_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
)

// numbers is a server that notes the numbers of the requests for its matrices.
type numbers struct {
	server.Server
	mu   sync.Mutex
	seen []numbered
}

type numbered struct {
	op  rpc.Op
	seq uint64
}

func (s *numbers) Serve(ctx context.Context, from *rpc.Peer, q *rpc.Request) (*rpc.Response, error) {
	switch q.Op {
	case rpc.OpPush, rpc.OpStep, rpc.OpUpdate, rpc.OpPull:
		s.mu.Lock()
		s.seen = append(s.seen, numbered{q.Op, q.Seq})
		s.mu.Unlock()
	}
	return s.Server.Serve(ctx, from, q)
}

// TestChangesAreNumbered wants every kind of change numbered by a client that may send it again, and nothing else.
func TestChangesAreNumbered(t *testing.T) {
	for retry, want := range map[time.Duration][]numbered{
		time.Minute: {{rpc.OpPush, 1}, {rpc.OpUpdate, 2}, {rpc.OpStep, 3}, {rpc.OpPull, 0}},
		0:           {{rpc.OpPush, 0}, {rpc.OpUpdate, 0}, {rpc.OpStep, 0}, {rpc.OpPull, 0}},
	} {
		funcs, err := psf.NewTable(psf.Gets(), psf.Updates(), nil)
		if err != nil {
			t.Fatal(err)
		}
		net, s := &mem.Network{}, &numbers{Server: server.Server{Funcs: funcs}}
		l, err := net.Listen(t.Context(), "", s)
		if err != nil {
			t.Fatal(err)
		}
		changes(t, ps.Options{Network: net, Servers: []string{l.Addr()}, Job: "j", Tasks: 1, Retry: retry})
		l.Close()
		if !slices.Equal(s.seen, want) {
			t.Errorf("retry %v: %v, want %v", retry, s.seen, want)
		}
	}
}

// changes makes a change of every kind, and reads.
func changes(t *testing.T, o ps.Options) {
	t.Helper()
	c, err := ps.Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	meta := matrix.Meta{Name: "m", Rows: 1, Cols: 3, DType: matrix.F32}
	if err := c.Create(t.Context(), "column", meta); err != nil {
		t.Fatal(err)
	}
	m, err := c.Matrix("m")
	if err != nil {
		t.Fatal(err)
	}
	delta := matrix.NewDense(matrix.F32, meta.Rect())
	all := []matrix.Want{{Matrix: "m"}}
	for _, do := range []func() error{
		func() error { return m.Increment(delta) },
		func() error { return c.SyncClock(t.Context()) },
		func() error { return m.Update(t.Context(), &psf.Updates()[0], []byte(`{"value":0.5}`)) },
		func() error { return m.Increment(delta) },
		func() error { _, err := c.Next(t.Context(), 0, 0, all); return err },
		func() error { _, err := c.Pull(t.Context(), all); return err },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
}
