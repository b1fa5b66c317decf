package server_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/optim"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
	"thole.example/wire"
)

// fleet is some servers with one bucket, and what is trained on them.
type fleet struct {
	attempt int // of jobs; 0: they have none
	t       testing.TB
	net     rpc.Network
	servers []string
	served  []*server.Server
	cut     [2]string // of dense and of sparse matrices
	metas   []matrix.Meta
}

// newFleet starts servers over "mem" or "tcp".
func newFleet(t testing.TB, network string, servers int, bucket blob.Bucket, metas []matrix.Meta, cut ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, net: &mem.Network{Log: slog.New(slog.DiscardHandler)}, metas: metas}
	copy(f.cut[:], cut)
	addr := ""
	if network == "tcp" {
		f.net, addr = tcp.Network{Log: slog.New(slog.DiscardHandler)}, "127.0.0.1:0"
	}
	for range servers {
		s := &server.Server{Funcs: table(t), Codecs: codecs, Bucket: bucket}
		l, err := f.net.Listen(t.Context(), addr, s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		f.servers, f.served = append(f.servers, l.Addr()), append(f.served, s)
	}
	return f
}

// run has tasks do something, each with the matrices made, and wants no error.
func (f *fleet) run(tasks int, bound ssp.Bound, do func(ctx context.Context, p *ps.Client, task int) error) {
	f.t.Helper()
	var all sync.WaitGroup
	errs := make([]error, tasks)
	for task := range tasks {
		all.Go(func() {
			ctx := f.t.Context()
			p, err := ps.Dial(ctx, ps.Options{Network: f.net, Servers: f.servers, Job: "j", Task: task, Tasks: tasks, Bound: bound,
				Attempt: f.attempt})
			if err != nil {
				errs[task] = err
				return
			}
			defer p.Close()
			for sparse, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
				for _, m := range f.metas {
					if m.Layout == layout && err == nil {
						err = p.Create(ctx, f.cut[sparse], m)
					}
				}
			}
			if err == nil {
				err = do(ctx, p, task)
			}
			if err == nil {
				err = p.Leave(ctx)
			}
			errs[task] = err
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		f.t.Fatal(err)
	}
}

// trained are matrices with every rule and none, dense and sparse, of every type that can be trained, and of integers.
func trained() (all []matrix.Meta) {
	rules := []string{""}
	for _, r := range optim.Rules() {
		rules = append(rules, r.Name)
	}
	for _, layout := range []matrix.Layout{matrix.RowDense, matrix.RowSparse} {
		for _, d := range []matrix.DType{matrix.F32, matrix.F64, matrix.I32, matrix.I64} {
			for _, rule := range rules {
				if rule != "" && !d.Float() {
					continue
				}
				m := matrix.Meta{
					Name: fmt.Sprintf("%v-%v-%s", layout, d, rule), Rows: 3, Cols: 61, ColLo: -20, DType: d, Layout: layout, Rule: rule,
				}
				if d.Float() {
					m.Init = matrix.Init{Kind: "normal", Scale: 0.1, Seed: 3}
				}
				all = append(all, m)
			}
		}
	}
	return all
}

// gradient is what a task pushes at a step: some columns with values that follow from what it has pulled.
func gradient(m *matrix.Meta, have matrix.Block, rng *rand.Rand) matrix.Block {
	var idx []int64
	for c := m.ColLo; c < m.ColLo+m.Cols; c++ {
		if rng.IntN(3) == 0 {
			idx = append(idx, c)
		}
	}
	b := matrix.Block{At: m.Rect(), Data: matrix.KindOf(m.DType).Cols(idx, int(m.Rows))}
	at := func(i int) int { return int(idx[i/int(m.Rows)]-m.ColLo)*int(m.Rows) + i%int(m.Rows) }
	switch v := b.Data.Values().(type) {
	case []float32:
		for i := range v {
			v[i] = have.Data.Values().([]float32)[at(i)]/3 + float32(rng.NormFloat64())
		}
	case []float64:
		for i := range v {
			v[i] = have.Data.Values().([]float64)[at(i)]/3 + rng.NormFloat64()
		}
	case []int32:
		for i := range v {
			v[i] = int32(rng.IntN(1000)) - 500
		}
	case []int64:
		for i := range v {
			v[i] = rng.Int64() / 1000
		}
	}
	return b
}

// everything asks for all columns of all matrices, column by column.
func (f *fleet) everything() (all []matrix.Lookup) {
	for _, m := range f.metas {
		cols := make([]int64, m.Cols)
		for i := range cols {
			cols[i] = m.ColLo + int64(i)
		}
		all = append(all, matrix.Lookup{Matrix: m.Name, Cols: cols})
	}
	return all
}

// train makes the steps from one up to another.
func (f *fleet) train(ctx context.Context, p *ps.Client, task, from, to int) error {
	for step := from; step < to; step++ {
		have, err := p.Pull(ctx, f.everything())
		if err != nil {
			return err
		}
		rng := rand.New(rand.NewPCG(uint64(step), uint64(task)))
		for i := range f.metas {
			if err := p.Push(f.metas[i].Name, gradient(&f.metas[i], have[i], rng)); err != nil {
				return err
			}
		}
		if err := p.Clock(ctx, 2, 0.05); err != nil {
			return err
		}
	}
	return nil
}

// bits is all values of each matrix as they lie in memory.
func (f *fleet) bits(ctx context.Context, p *ps.Client) (map[string]string, error) {
	have, err := p.Pull(ctx, f.everything())
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for i, b := range have {
		raw, _ := wire.ViewAny(b.Data.Values())
		out[f.metas[i].Name] = string(raw)
	}
	return out, nil
}

const fleetTasks, half, full = 2, 4, 8

// trainAll trains from one step to another, after restoring and before writing a checkpoint if there are paths for that.
func (f *fleet) trainAll(from, to int, restore, checkpoint string) (out map[string]string) {
	f.t.Helper()
	f.run(fleetTasks, ssp.BSP, func(ctx context.Context, p *ps.Client, task int) error {
		if restore != "" && task == 0 {
			what, err := p.Restore(ctx, restore)
			if err != nil {
				return err
			}
			if what.Job != "j" || what.Clock != half+1 || len(what.Matrices) != len(f.metas) {
				return fmt.Errorf("restored job %q at clock %d with %d matrices", what.Job, what.Clock, len(what.Matrices))
			}
			for _, m := range what.Matrices {
				if rule := !strings.HasSuffix(m.Name, "-"); m.Clock != half+1 || m.Steps != int64(half) && rule || m.Steps != 0 && !rule {
					return fmt.Errorf("restored matrix %s at clock %d after %d steps", m.Name, m.Clock, m.Steps)
				}
			}
		}
		if err := p.SyncClock(ctx); err != nil { // one clock without a step: nobody goes on before it is restored
			return err
		}
		if err := p.Barrier(ctx); err != nil {
			return err
		}
		if err := f.train(ctx, p, task, from, to); err != nil {
			return err
		}
		if checkpoint != "" && task == 1 {
			return p.Checkpoint(ctx, checkpoint)
		}
		all, err := f.bits(ctx, p)
		if task == 0 {
			out = all
		}
		return err
	})
	return out
}

// TestCheckpoint (D8, A13): training that is interrupted, and goes on from a checkpoint on other servers that cut the
// matrices in another way, gives the same bits as training that is not, for every rule.
func TestCheckpoint(t *testing.T) {
	metas := trained()
	want := newFleet(t, "mem", 2, &blob.Mem{}, metas).trainAll(0, full, "", "")
	type setup struct {
		net          string
		servers      int
		dense, keyed string
	}
	for _, c := range []struct{ before, after setup }{
		{setup{"mem", 1, "", ""}, setup{"mem", 1, "", ""}},
		{setup{"mem", 4, "column", "hash"}, setup{"mem", 7, "range", "column"}},
		{setup{"mem", 3, "range", "column"}, setup{"mem", 2, "column", "hash"}},
		{setup{"mem", 5, "column", "range"}, setup{"mem", 1, "range", "hash"}},
		{setup{"tcp", 2, "column", "hash"}, setup{"tcp", 5, "column", "hash"}},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			bucket := blob.NewDir(t.TempDir())
			first := newFleet(t, c.before.net, c.before.servers, bucket, metas, c.before.dense, c.before.keyed)
			first.trainAll(0, half, "", "dir/c")
			second := newFleet(t, c.after.net, c.after.servers, bucket, metas, c.after.dense, c.after.keyed)
			got := second.trainAll(half, full, "dir/c", "")
			for name, bits := range want {
				if got[name] != bits {
					t.Errorf("matrix %s: the bits differ from those of training in one go", name)
				}
			}
		})
	}
}

// BenchmarkCheckpoint writes and restores a sparse matrix with its slots, and saves it without for comparison.
func BenchmarkCheckpoint(b *testing.B) {
	const keys, rows = 1 << 17, 16
	m := matrix.Meta{Name: "w", Rows: rows, Cols: 1 << 40, DType: matrix.F32, Layout: matrix.RowSparse, Rule: "adagrad"}
	bucket := &blob.Mem{}
	f := newFleet(b, "mem", 2, bucket, []matrix.Meta{m})
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		d := matrix.KindOf(m.DType).Cols(make([]int64, keys), rows)
		idx, val := d.(*matrix.Cols[float32]).Idx, d.(*matrix.Cols[float32]).Val
		for i := range idx {
			idx[i] = int64(i) << 20
		}
		for i := range val {
			val[i] = float32(i)
		}
		err := errors.Join(p.Push(m.Name, matrix.Block{At: m.Rect(), Data: d}), p.Clock(ctx, 1, 0.1), p.Flush(ctx))
		if err != nil {
			return err
		}
		for name, do := range map[string]func() error{
			"checkpoint": func() error { return p.Checkpoint(ctx, "c") },
			"restore":    func() error { _, err := p.Restore(ctx, "c"); return err },
			"save": func() error {
				return p.Save(ctx, ps.SaveOptions{Codec: "angel", Path: "s"})
			},
		} {
			if err := p.Checkpoint(ctx, "c"); err != nil {
				return err
			}
			b.Run(name, func(b *testing.B) {
				b.SetBytes(keys * (8 + 2*4*rows))
				for b.Loop() {
					if err := do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		return nil
	})
}
