package server_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/ssp"
)

// TestCut: readers of a running job see values of one moment on all servers and in all matrices, hold no task back, and cannot
// change what is pushed. Every task adds 1 to every cell in every clock, so all cells of a cut are the same.
func TestCut(t *testing.T) {
	const tasks, clocks = 2, 200
	for _, bound := range []ssp.Bound{ssp.BSP, 2} {
		c := newCluster(t, &mem.Network{}, 3)
		dense, sparse := meta("d", 2, 500, matrix.RowDense), meta("s", 1, 500, matrix.RowSparse)
		joined, over := make(chan struct{}), make(chan struct{})
		seen := map[int]bool{}
		reader := func() error {
			<-joined
			ctx := t.Context()
			r, err := ps.Follow(ctx, ps.Options{Network: c.net, Servers: c.addrs, Job: "j"})
			if err != nil {
				return err
			}
			defer r.Close()
			if n := len(r.Matrices()); n != 2 || r.Tasks() != tasks {
				return fmt.Errorf("%d matrices of %d tasks, want 2 of %d", n, r.Tasks(), tasks)
			}
			if err := r.SyncClock(ctx); err == nil {
				return errors.New("a reader has a clock")
			}
			for {
				select {
				case <-over:
					return nil
				default:
				}
				got, err := r.Cut(ctx, []matrix.Lookup{{Matrix: "d"}, {Matrix: "s", Cols: []int64{3, 77, 499}}})
				if errors.Is(err, rpc.ErrAborted) || errors.Is(err, rpc.ErrNotFound) {
					return nil // it has ended
				}
				if err != nil {
					return err
				}
				d, _ := r.Matrix("d")
				want := float64(tasks * min(d.AsOf(), clocks)) // tasks that are done are at every later clock
				seen[d.AsOf()] = true
				for _, b := range got {
					for _, v := range b.Data.Values().([]float64) {
						if v != want {
							return fmt.Errorf("a cell is %v at clock %d, want %v", v, d.AsOf(), want)
						}
					}
				}
			}
		}
		read := make(chan error, 1)
		go func() { read <- reader() }()
		c.run(tasks, bound, func(ctx context.Context, p *ps.Client, task int) error {
			defer func() {
				if task == 0 {
					close(over)
				}
			}()
			if err := p.Create(ctx, "", dense, sparse); err != nil {
				return err
			}
			if task == 0 {
				close(joined)
			}
			ones := matrix.NewDense(matrix.F64, dense.Rect())
			for i := range ones.Data.Values().([]float64) {
				ones.Data.Values().([]float64)[i] = 1
			}
			line := ones.Cut(matrix.At(0, 1, 0, 500))
			for range clocks {
				if err := errors.Join(p.Push("d", ones.Clone()), p.Push("s", line.Clone()), p.SyncClock(ctx)); err != nil {
					return err
				}
				if _, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "d"}}); err != nil {
					return err
				}
			}
			return nil
		})
		if err := <-read; err != nil {
			t.Errorf("%v: %v", bound, err)
		}
		if len(seen) == 0 {
			t.Errorf("%v: no cut was seen", bound)
		}
	}
}

// TestReader: a reader sees rows, keys and results of functions, and runs update functions; a job that is not there is not
// followed.
func TestReader(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 2)
	c.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		o := ps.Options{Network: c.net, Servers: c.addrs, Job: "nobody"}
		if _, err := ps.Follow(ctx, o); !errors.Is(err, rpc.ErrNotFound) {
			return fmt.Errorf("following a job that is not there: %v", err)
		}
		if err := p.Create(ctx, "", meta("m", 1, 100, matrix.RowDense)); err != nil {
			return err
		}
		if err := errors.Join(p.Push("m", digit(0)), p.SyncClock(ctx)); err != nil {
			return err
		}
		o.Job = "j"
		r, err := ps.Follow(ctx, o)
		if err != nil {
			return err
		}
		defer r.Close()
		m, err := r.Matrix("m")
		if err != nil {
			return err
		}
		for _, want := range []float64{1, 10} {
			row, err := m.GetRow(ctx, 0)
			if err != nil {
				return err
			}
			sum, err := m.Get(ctx, "sum", nil)
			if err != nil {
				return err
			}
			n, err := sum.Number()
			if got := row.Data.Values().([]float64)[0]; err != nil || got != want || n != want {
				t.Errorf("cell %v, sum %v, %v, want %v", got, n, err, want)
			}
			if err := m.Update(ctx, "scale", psf.Args{"by": 10}); err != nil {
				return err
			}
		}
		if err := p.Barrier(ctx); err != nil { // nobody waits for the reader
			return err
		}
		for what, err := range map[string]error{"push": errors.Join(r.Push("m", digit(0)), r.Flush(ctx)), "barrier": r.Barrier(ctx), "leave": r.Leave(ctx)} {
			if err == nil {
				t.Errorf("a reader can %s", what)
			}
		}
		return nil
	})
}

// TestInitAndGet: columns that are asked for are there afterwards, with initial values that are the same on any servers.
func TestInitAndGet(t *testing.T) {
	var want []float64
	for _, servers := range []int{1, 3} {
		c := newCluster(t, &mem.Network{}, servers)
		m := meta("e", 2, 1<<40, matrix.RowSparse)
		m.Init = matrix.Init{Kind: "normal", Scale: 0.5, Seed: 9}
		c.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			if err := p.Create(ctx, "", m); err != nil {
				return err
			}
			e, err := p.Matrix("e")
			if err != nil {
				return err
			}
			k, err := e.Plan(nil, []int64{5, 1 << 39, 5, 77})
			if err != nil {
				return err
			}
			got := make([]float64, 2*k.Len())
			for i, stored := range []float64{0, 6} {
				if n, err := call(ctx, e, "size", ""); err != nil || n != stored {
					t.Errorf("stored are %v cells, %v, want %v", n, err, stored)
				}
				pull := ps.PullKeys[float64]
				if i == 0 {
					pull = ps.InitAndGet[float64]
				}
				if err := pull(ctx, e, k, got); err != nil {
					return err
				}
			}
			if want == nil {
				want = append(want, got...)
			}
			for i := range got {
				if got[i] != want[i] || got[0] != got[4] || got[0] == 0 {
					t.Errorf("values %v, want %v", got, want)
					break
				}
			}
			grads, after := []float64{1, 1, 1, 1, 1, 1, 1, 1}, make([]float64, 8)
			if err := ps.PushPullKeys(ctx, e, k, grads, after); err != nil {
				return err
			}
			if after[0] != got[0] { // it is of this clock
				t.Errorf("BSP: what was pushed is seen before its clock: %v", after)
			}
			if err := errors.Join(p.SyncClock(ctx), ps.PullKeys(ctx, e, k, after)); err != nil || after[0] != got[0]+2 || after[2] != got[2]+1 {
				t.Errorf("after the clock %v, %v, want %v and more", after, err, got)
			}
			return nil
		})
	}
}

// TestStagedFunction: a staged function takes effect with its task's clock, between what was pushed before and after it; an
// update at once does so at once; both tell what comes of them.
func TestStagedFunction(t *testing.T) {
	for _, servers := range []int{1, 3} {
		c := newCluster(t, &mem.Network{}, servers)
		met := make(chan struct{}) // barriers of one clock do not wait for each other
		c.run(2, ssp.BSP, func(ctx context.Context, p *ps.Client, task int) error {
			if err := p.Create(ctx, "", meta("m", 1, 100, matrix.RowDense)); err != nil {
				return err
			}
			m, err := p.Matrix("m")
			if err != nil {
				return err
			}
			see := func(want float64) error {
				if got, err := call(ctx, m, "max", ""); err != nil || got != want {
					return fmt.Errorf("task %d sees %v, %v, want %v", task, got, err, want)
				}
				select {
				case met <- struct{}{}:
				case <-met:
				case <-time.After(patience):
					return fmt.Errorf("task %d is alone", task)
				}
				return nil
			}
			if task == 0 {
				err = errors.Join(p.Push("m", digit(0)), m.Stage("scale", psf.Args{"by": 10}), p.Push("m", digit(0)), p.Flush(ctx), see(0))
			} else {
				err = errors.Join(p.Push("m", digit(0)), m.Stage("scale", psf.Args{"by": 3}), see(0))
			}
			if err != nil {
				return err
			}
			f := p.StartClock(ctx, 0, 0)
			if err := errors.Join(f.Wait(ctx), p.Barrier(ctx), see(36)); err != nil || !f.Done() { // (1*10 + 1 + 1) * 3
				return err
			}
			if task == 1 {
				u := m.StartUpdate(ctx, "fill", psf.Args{"value": 7})
				if err := u.Wait(ctx); err != nil || !u.Done() {
					return fmt.Errorf("update: %v", err)
				}
				if err := m.StartUpdate(ctx, "fill", nil).Wait(ctx); !errors.Is(err, rpc.ErrMalformed) {
					return fmt.Errorf("an update without its argument: %v", err)
				}
				if err := m.Stage("sum", nil); err == nil {
					return errors.New("a get function is staged")
				}
			}
			return errors.Join(p.SyncClock(ctx), p.Barrier(ctx), see(7))
		})
	}
}

// TestStagedBesideRule: a staged function takes effect with its clock also where no task has gradients for the matrix's rule, and
// after the step where one has.
func TestStagedBesideRule(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, 1, ssp.ASP} {
		newCluster(t, &mem.Network{}, 3).run(1, bound, func(ctx context.Context, p *ps.Client, _ int) error {
			w := meta("w", 1, 100, matrix.RowDense)
			w.Rule = "sgd"
			if err := p.Create(ctx, "", w); err != nil {
				return err
			}
			m, err := p.Matrix("w")
			if err != nil {
				return err
			}
			fill := func() error { return m.Stage("fill", psf.Args{"value": 5}) }
			if err := errors.Join(fill(), p.SyncClock(ctx), answers(ctx, m, "min", "", "5")); err != nil {
				return err
			}
			err = errors.Join(p.Push("w", digit(0)), m.Stage("adds", psf.Args{"from": 0, "s": 1}), p.Clock(ctx, 1, 1), p.SyncClock(ctx))
			return errors.Join(err, answers(ctx, m, "min", "", "5", "max", "", "6")) // 5 - 1 + 1 in the column of the gradient
		})
	}
}

// TestStagedRefused: a staged function that servers refuse is told once, and not sent again; what was pushed beside it is.
func TestStagedRefused(t *testing.T) {
	for _, bound := range []ssp.Bound{ssp.BSP, ssp.ASP} {
		c := newCluster(t, &mem.Network{}, 2)
		c.funcs = table(t, changing("mine", func(x float64) float64 { return 0 })) // the servers have none
		c.run(1, bound, func(ctx context.Context, p *ps.Client, _ int) error {
			if err := p.Create(ctx, "", meta("m", 1, 100, matrix.RowDense)); err != nil {
				return err
			}
			m, err := p.Matrix("m")
			if err != nil {
				return err
			}
			if err := errors.Join(p.Push("m", digit(0)), m.Stage("mine", nil), p.Push("m", digit(0))); err != nil {
				return err
			}
			fails(t, "a function that the servers do not know", p.SyncClock(ctx), rpc.ErrNotFound, `"mine"`)
			return errors.Join(p.SyncClock(ctx), answers(ctx, m, "sum", "", "2"))
		})
	}
}

// TestPushOnceDespitePull: what goes with a pull that fails is made once, however often the caller tries again.
func TestPushOnceDespitePull(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 2)
	c.run(1, ssp.ASP, func(ctx context.Context, p *ps.Client, _ int) error {
		if err := p.Create(ctx, "hash", meta("m", 1, 100, matrix.RowSparse)); err != nil {
			return err
		}
		m, err := p.Matrix("m")
		if err != nil {
			return err
		}
		if err := m.Update(ctx, "mapinplace", psf.Args{"f": "x + 1"}); err != nil {
			return err
		}
		k, err := m.Plan(nil, []int64{7, 8, 9, 10, 11})
		if err != nil {
			return err
		}
		grads, got := []float64{1, 1, 1, 1, 1}, make([]float64, 5)
		all := []matrix.Lookup{{Matrix: "m"}} // which columns have no cells that could be listed
		for i, wrong := range []func() error{
			func() error { return ps.PushPullKeys(ctx, m, k, grads, got[:3]) },
			func() error { return ps.PushPullKeys(ctx, m, k, grads[:3], got) },
			func() error {
				_, err := p.FlushPull(ctx, all)
				return errors.Join(err, ps.PushKeys(m, k, grads))
			},
			func() error { _, err := p.FlushPull(ctx, all); return err },
			func() error { _, err := p.Next(ctx, 1, 0, all, nil); return err },
			func() error { _, err := p.FlushPull(ctx, all); return err },
		} {
			if err := wrong(); err == nil {
				t.Errorf("pull %d is right", i)
			}
		}
		if err := errors.Join(p.SyncClock(ctx), ps.PullKeys(ctx, m, k, got)); err != nil || got[0] != 2 || got[4] != 2 {
			t.Errorf("cells are %v, %v, want 2", got, err)
		}
		return nil
	})
}

// TestFollowAgain: a reader is told when the job of the name is another one now, whose matrix is not the one that it knows.
func TestFollowAgain(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 2)
	var r *ps.Client
	for rows := int64(1); rows < 3; rows++ {
		c.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			err := p.Create(ctx, "", meta("m", rows, 100*rows, matrix.RowDense))
			if err == nil && r == nil {
				r, err = ps.Follow(ctx, ps.Options{Network: c.net, Servers: c.addrs, Job: "j"})
			}
			if err != nil {
				return err
			}
			got, err := r.Cut(ctx, []matrix.Lookup{{Matrix: "m"}})
			switch {
			case rows == 1 && err == nil && got[0].At == matrix.At(0, 1, 0, 100):
			case rows == 2 && errors.Is(err, rpc.ErrNotFound):
			default:
				t.Errorf("a matrix of %d rows: %v, %v", rows, got, err)
			}
			return nil
		})
	}
	r.Close()
}
