package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/rpc/rpctest"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// retry is how long clients of these tests try to come back; nothing is measured with it.
const retry = 20 * time.Second

// lossyJob runs two tasks that change matrices in every way and save them, and gives the values at the end.
func lossyJob(t *testing.T, c *cluster, bound ssp.Bound) []float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ms := []matrix.Meta{
		{Name: "sum", Rows: 1, Cols: 40, DType: matrix.F64},
		{Name: "w", Rows: 1, Cols: 40, DType: matrix.F64, Rule: "adagrad"},
		{Name: "keys", Rows: 2, Cols: 1 << 30, DType: matrix.F64, Layout: matrix.RowSparse},
	}
	keys := []int64{3, 5000, 1 << 29}
	var end []float64
	var wg sync.WaitGroup
	for task := range 2 {
		wg.Go(func() {
			if err := func() error {
				p, err := ps.Dial(ctx, ps.Options{Network: c.net, Servers: c.addrs, Job: "j", Task: task, Tasks: 2, Bound: bound,
					Retry: retry, Worker: fmt.Sprint(task)})
				if err != nil {
					return err
				}
				defer p.Close()
				if err := p.Create(ctx, "", ms...); err != nil {
					return err
				}
				if err := lossySteps(ctx, p, task, bound, keys); err != nil {
					return err
				}
				if err := p.Barrier(ctx); err != nil {
					return err
				}
				got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "sum"}, {Matrix: "w"}, {Matrix: "keys", Cols: keys}})
				if err != nil {
					return err
				}
				if task == 0 {
					for _, b := range got {
						end = append(end, b.Data.Values().([]float64)...)
					}
					o := ps.SaveOptions{Codec: "npz", Path: "m.npz", Lossy: true, Matrices: []string{"sum", "w"}}
					if _, err := p.Rehearse(ctx, o); err != nil {
						return err
					}
					if err := p.Save(ctx, o); err != nil {
						return err
					}
				}
				return p.Leave(ctx)
			}(); err != nil {
				t.Errorf("task %d: %v", task, err)
			}
		})
	}
	wg.Wait()
	return end
}

// lossySteps makes changes: pushes that are flushed, or at once, assignments, and steps.
func lossySteps(ctx context.Context, p *ps.Client, task int, bound ssp.Bound, keys []int64) error {
	sum, err := p.Matrix("sum")
	if err != nil {
		return err
	}
	for step := range 30 {
		d := matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, 40))
		g := matrix.NewDense(matrix.F64, matrix.At(0, 1, 0, 40))
		for i := range 40 {
			d.Data.Values().([]float64)[i] = float64(1 + task + 100*i)
			if bound != ssp.ASP || task == 0 { // else the order of steps is left to chance
				g.Data.Values().([]float64)[i] = float64(i-step) / 7
			}
		}
		k := &matrix.Cols[float64]{Idx: slices.Clone(keys), Val: []float64{1, 2, 3, 4, 5, 6}}
		if step%4 == 0 {
			if err := sum.PushNow(ctx, d.Cut(matrix.At(0, 1, 20, 40))).Wait(ctx); err != nil { // which no assignment meets
				return err
			}
		}
		if step%7 == 6 && bound != ssp.ASP {
			if err := sum.Assign(d.Cut(matrix.At(0, 1, 10, 20))); err != nil {
				return err
			}
		}
		if err := sum.Increment(d); err != nil {
			return err
		}
		if step%3 == 0 {
			if err := p.Flush(ctx); err != nil {
				return err
			}
		}
		if bound != ssp.ASP || task == 0 {
			if err := p.Push("w", g); err != nil {
				return err
			}
		}
		if err := p.Push("keys", matrix.Block{At: matrix.At(0, 2, 0, 1<<30), Data: k}); err != nil {
			return err
		}
		weight := float64(1)
		if bound == ssp.ASP && task == 1 {
			weight = 0
		}
		if _, err := p.Next(ctx, weight, 0.1, []matrix.Lookup{{Matrix: "w"}, {Matrix: "keys", Cols: keys}}, nil); err != nil {
			return err
		}
		if step%10 == 9 {
			if err := p.Barrier(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestExactlyOnce: connections that are lost before and after requests were handled change not a bit of the outcome.
func TestExactlyOnce(t *testing.T) {
	nets := map[string]func() rpc.Network{
		"mem": func() rpc.Network { return &mem.Network{} },
		"tcp": func() rpc.Network { return &tcp.Network{} },
	}
	for name, net := range nets {
		for _, bound := range []ssp.Bound{ssp.BSP, 2, ssp.ASP} {
			t.Run(fmt.Sprintf("%s/%v", name, bound), func(t *testing.T) {
				want := lossyJob(t, newCluster(t, net(), 3), bound)
				for _, every := range []int{11, 17} { // a save has seven requests, and is repeated as a whole
					c := newCluster(t, net(), 3)
					f := rpctest.Flaky(c.net, every)
					c.net = f
					got := lossyJob(t, c, bound)
					if !slices.Equal(got, want) {
						t.Errorf("every %d-th request lost: %v, want %v", every, got, want)
					}
					if met := f.Met(); met[rpctest.CutBefore] < 3 || met[rpctest.CutAfter] < 3 {
						t.Errorf("%d losses before and %d after, want more", met[rpctest.CutBefore], met[rpctest.CutAfter])
					}
				}
			})
		}
	}
}

// TestFaults: whatever happens to requests and answers on their way, the outcome is the same to the last bit.
func TestFaults(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, 2, ssp.ASP} {
		want := lossyJob(t, newCluster(t, &mem.Network{}, 3), bound)
		met := [rpctest.Fates]int{}
		for seed := range uint64(12) {
			bubble(t, fmt.Sprint(bound, seed), func(t *testing.T) {
				net := &rpctest.Faulty{
					Network: &mem.Network{}, Seed: seed, Chance: rpctest.Even(0.004), Spare: func(q *rpc.Request) bool { return q.Op == rpc.OpSave || q.Op == rpc.OpCommit },
					Delay: 5 * time.Millisecond, Notice: 50 * time.Millisecond, Timeout: time.Second,
				}
				defer net.Wait()
				c := newCluster(t, net, 3)
				if got := lossyJob(t, c, bound); !slices.Equal(got, want) {
					t.Errorf("values are %v, want %v", got, want)
				}
				for i, n := range net.Met() {
					met[i] += n
				}
			})
		}
		for fate := rpctest.GoesWell; fate < rpctest.Fates; fate++ {
			if met[fate] == 0 {
				t.Errorf("%v: fate %d was not met", bound, fate)
			}
		}
	}
}

// TestServerRestarts: a server that comes back without what it held ends the job with a clear error.
func TestServerRestarts(t *testing.T) {
	funcs, err := psf.NewTable(psf.Funcs(), optim.Rules())
	if err != nil {
		t.Fatal(err)
	}
	net := &mem.Network{}
	listen := func() rpc.Listener {
		l, err := net.Listen(t.Context(), "s", &server.Server{Funcs: funcs, Codecs: codecs, Bucket: &blob.Mem{}})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := listen()
	p, err := ps.Dial(t.Context(), ps.Options{Network: net, Servers: []string{"s"}, Job: "j", Tasks: 1, Retry: retry})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	l.Close()
	l = listen()
	defer l.Close()
	err = p.Create(t.Context(), "", matrix.Meta{Name: "w", Rows: 1, Cols: 1, DType: matrix.F64})
	if !errors.Is(err, rpc.ErrNotFound) || !strings.Contains(err.Error(), "what it held is lost") || !strings.Contains(err.Error(), "server s") {
		t.Errorf("after a restart: %v", err)
	}
}
