package server_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/part"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// cluster is some servers on one network, with a bucket that they share.
type cluster struct {
	t      *testing.T
	net    rpc.Network
	addrs  []string
	bucket blob.Bucket

	average bool
	retry   time.Duration
	servers []*server.Server
	funcs   *psf.Table             // that the clients know; nil: the built-in ones
	with    func(s *server.Server) // changes them before they begin; may be nil
}

func newCluster(t *testing.T, net rpc.Network, servers int) *cluster {
	t.Helper()
	c := &cluster{t: t, net: net, bucket: &blob.Mem{}}
	c.start(servers)
	return c
}

// start adds servers.
func (c *cluster) start(servers int) {
	c.t.Helper()
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		c.t.Fatal(err)
	}
	for range servers {
		addr := ""
		if _, ok := c.net.(*tcp.Network); ok {
			addr = "127.0.0.1:0"
		}
		s := &server.Server{Funcs: funcs, Codecs: codecs, Bucket: c.bucket}
		if c.with != nil {
			c.with(s)
		}
		l, err := c.net.Listen(c.t.Context(), addr, s)
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(func() { l.Close() })
		c.addrs, c.servers = append(c.addrs, l.Addr()), append(c.servers, s)
	}
}

// run starts the tasks of a job and waits for all of them.
func (c *cluster) run(tasks int, bound ssp.Bound, task func(ctx context.Context, p *ps.Client, task int) error) {
	c.t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, tasks)
	for t := range tasks {
		wg.Go(func() {
			ctx := c.t.Context()
			p, err := ps.Dial(ctx, ps.Options{Network: c.net, Servers: c.addrs, Job: "j", Task: t, Tasks: tasks, Bound: bound,
				Average: c.average, Retry: c.retry, Funcs: c.funcs, Worker: fmt.Sprint(t)})
			if err != nil {
				errs[t] = err
				return
			}
			defer p.Close()
			if errs[t] = task(ctx, p, t); errs[t] == nil {
				errs[t] = p.Leave(ctx)
			}
		})
	}
	wg.Wait()
	for t, err := range errs {
		if err != nil {
			c.t.Fatalf("task %d: %v", t, err)
		}
	}
}

func meta(name string, rows, cols int64, layout matrix.Layout) matrix.Meta {
	return matrix.Meta{Name: name, Rows: rows, Cols: cols, DType: matrix.F64, Layout: layout}
}

// TestInterface goes once through PSModel's verbs.
func TestInterface(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, 2, ssp.ASP} {
		t.Run(bound.String(), func(t *testing.T) {
			c := newCluster(t, &mem.Network{}, 3)
			c.run(1, bound, func(ctx context.Context, p *ps.Client, _ int) error {
				if err := p.Create(ctx, "range", meta("m", 10, 100, matrix.RowDense)); err != nil {
					return err
				}
				m, err := p.Matrix("m")
				if err != nil {
					return err
				}
				delta := matrix.NewDense(matrix.F64, matrix.At(3, 5, 0, 100))
				for i := range delta.Data.Values().([]float64) {
					delta.Data.Values().([]float64)[i] = float64(i)
				}
				if err := m.Increment(delta); err != nil {
					return err
				}
				delta.Data.Values().([]float64)[0] = 1e9 // increment has copied
				if err := p.SyncClock(ctx); err != nil {
					return err
				}
				for range 3 { // under SSP a reader may run two clocks ahead of what it sees
					if err := p.SyncClock(ctx); err != nil {
						return err
					}
				}
				return checkRows(ctx, m)
			})
		})
	}
}

func checkRows(ctx context.Context, m *ps.Matrix) error {
	rows, err := m.GetRows(ctx, []int64{4, 0, 3})
	if err != nil {
		return err
	}
	for i, want := range []float64{105, 0, 5} {
		if got := rows[i].Data.Values().([]float64)[5]; got != want {
			return fmt.Errorf("row %d column 5 is %v, want %v", i, got, want)
		}
	}
	rows[0].Data.Values().([]float64)[5] = -1 // a copy: the next read must not see it
	again, err := m.GetRow(ctx, 4)
	if err != nil {
		return err
	}
	if got := again.Data.Values().([]float64)[5]; got != 105 {
		return fmt.Errorf("after changing the copy the row has %v, want 105", got)
	}
	var n int
	for b, err := range m.GetRowsFlow(ctx, []int64{9, 8, 7, 4, 3, 2, 1}, 2) {
		if err != nil {
			return err
		}
		if n == 3 && b.At.Rows.Lo != 4 {
			return fmt.Errorf("flow's fourth row is %v, want 4", b.At)
		}
		n++
	}
	if n != 7 {
		return fmt.Errorf("flow gave %d rows, want 7", n)
	}
	return checkFuncs(ctx, m)
}

func checkFuncs(ctx context.Context, m *ps.Matrix) error {
	for _, step := range []struct {
		update, arg string
		get, sel    string
		want        float64
	}{
		{"", "", "sum", "", 199 * 200 / 2},
		{"", "", "max", `{"rows":[3]}`, 99},
		{"scale", `{"by":2,"rows":[3]}`, "max", `{"rows":[3]}`, 198},
		{"fill", `{"value":-2,"rows":[5]}`, "sum", `{"rows":[5]}`, -200},
		{"", "", "max", `{"rows":[5]}`, -2},
		{"", "", "nrm2", `{"rows":[5]}`, 20},
		{"threshold", `{"below":3,"rows":[5]}`, "nrm2", `{"rows":[5]}`, 0},
	} {
		if step.update != "" {
			if err := m.Update(ctx, step.update, step.arg); err != nil {
				return err
			}
		}
		answer, err := m.Get(ctx, step.get, step.sel)
		if err != nil {
			return err
		}
		if v, err := answer.Number(); err != nil || v != step.want {
			return fmt.Errorf("after %s: %s is %s, want %v", step.update, step.get, answer, step.want)
		}
	}
	return nil
}

// TestShares (T20): every server gets its share of a matrix that has enough columns, whatever the partitioner and the number
// of servers, and answers for it.
func TestShares(t *testing.T) {
	for _, p := range part.Partitioners() {
		for _, servers := range []int{1, 2, 3, 7, 10, 20} {
			c := newCluster(t, &mem.Network{}, servers)
			c.run(1, ssp.BSP, func(ctx context.Context, cl *ps.Client, _ int) error {
				layout := matrix.RowDense
				if p.Hash {
					layout = matrix.RowSparse
				}
				if err := cl.Create(ctx, p.Name, meta("m", 4, 1000, layout)); err != nil {
					return err
				}
				m, err := cl.Matrix("m")
				if err != nil {
					return err
				}
				least, most := math.MaxInt, 0
				for s := range servers {
					n := len(m.Parts().Owned(s))
					least, most = min(least, n), max(most, n)
				}
				if least == 0 || most > least+1 {
					t.Errorf("%s on %d servers: from %d to %d partitions each", p.Name, servers, least, most)
				}
				k, err := m.Plan(nil, []int64{0, 999, 500, 3, 77, 500})
				if err != nil {
					return err
				}
				if err := errors.Join(ps.PushKeys(m, k, slices.Repeat([]float64{1}, 24)), cl.SyncClock(ctx)); err != nil {
					return err
				}
				got := make([]float64, 24)
				if err := ps.PullKeys(ctx, m, k, got); err != nil {
					return err
				}
				want := slices.Repeat([]float64{1}, 24)
				copy(want[8:12], []float64{2, 2, 2, 2})
				copy(want[20:], []float64{2, 2, 2, 2})
				if !slices.Equal(got, want) {
					t.Errorf("%s on %d servers: %v, want %v", p.Name, servers, got, want)
				}
				return nil
			})
		}
	}
}
