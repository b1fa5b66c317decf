package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"thole.example/blob"
	"thole.example/budget"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc/tcp"
	"thole.example/server"
	"thole.example/ssp"
)

// TestFewPushes: tasks that push few columns at a time, and some of them many, old ones and new ones, to the same partitions lose and
// repeat nothing; what a task has pushed it sees in its next pull.
func TestFewPushes(t *testing.T) {
	for _, rule := range []string{"", "sgd"} {
		t.Run("rule "+rule, func(t *testing.T) {
			ledger := budget.New(256 << 20)
			s := &server.Server{Funcs: table(t), Codecs: codecs, Bucket: &blob.Mem{}, Ledger: ledger}
			l, err := tcp.Network{Ledger: ledger}.Listen(t.Context(), "127.0.0.1:0", s)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			const tasks = 4
			var mu sync.Mutex
			sums, errs := map[int64]float64{}, make([]error, tasks)
			var wg sync.WaitGroup
			for task := range tasks {
				wg.Go(func() {
					f := fewTask{task: task, rule: rule, own: map[int64]float64{}, rng: rand.New(rand.NewPCG(uint64(task), 5))}
					errs[task] = f.run(ctx, l.Addr(), tasks, func() map[int64]float64 {
						mu.Lock()
						defer mu.Unlock()
						for key, v := range f.own {
							sums[key] += v
						}
						return sums
					})
					if errs[task] != nil {
						cancel()
					}
				})
			}
			wg.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// fewTask is a task that pushes whole numbers.
type fewTask struct {
	task int
	rule string
	own  map[int64]float64 // what it has pushed to each column
	rng  *rand.Rand
	w    *ps.Matrix
}

func (f *fewTask) run(ctx context.Context, addr string, tasks int, total func() map[int64]float64) error {
	p, err := ps.Dial(ctx, ps.Options{Network: tcp.Network{}, Servers: []string{addr}, Job: "j", Task: f.task, Tasks: tasks, Bound: ssp.ASP})
	if err != nil {
		return err
	}
	defer p.Close()
	m := matrix.Meta{Name: "w", Rows: 2, Cols: 1 << 40, DType: matrix.F64, Layout: matrix.RowSparse, Rule: f.rule}
	if err := p.Create(ctx, "hash", m); err != nil {
		return err
	}
	if f.w, err = p.Matrix("w"); err != nil {
		return err
	}
	for round := range 80 {
		n := 1 + f.rng.IntN(40)
		if round%8 == 7 {
			n = 300
		}
		if err := f.push(ctx, p, n); err != nil {
			return err
		}
	}
	sums := total()
	if err := p.OwnClock(ctx); err != nil {
		return err
	}
	if err := p.Barrier(ctx); err != nil { // all have ended that clock, and so have added what they pushed
		return err
	}
	keys := make([]int64, 0, len(sums))
	for key := range sums {
		keys = append(keys, key)
	}
	values, err := f.pull(ctx, keys)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if want := f.signed(sums[key]); values[2*i] != want || values[2*i+1] != 2*want {
			return fmt.Errorf("task %d: column %d is %v, want %v and twice that", f.task, key, values[2*i:2*i+2], want)
		}
	}
	return p.Leave(ctx)
}

// signed is what pushes that add up to a sum make of 0: a rule goes against the gradient.
func (f *fewTask) signed(sum float64) float64 {
	if f.rule != "" {
		return -sum
	}
	return sum
}

// push pushes to n of 600 columns, and then reads some: they have at least what the task has pushed to them, as all numbers are above 0.
func (f *fewTask) push(ctx context.Context, p *ps.Client, n int) error {
	keys, grads := make([]int64, n), make([]float64, 2*n)
	for i := range keys {
		keys[i] = f.rng.Int64N(600) * 7_919_777
		v := float64(1 + f.rng.IntN(9))
		grads[2*i], grads[2*i+1] = v, 2*v
		f.own[keys[i]] += v
	}
	plan, err := f.w.Plan(nil, keys)
	if err != nil {
		return err
	}
	if err := ps.PushKeys(f.w, plan, grads); err != nil {
		return err
	}
	if err := p.Clock(ctx, 1, 1); err != nil {
		return err
	}
	some := keys[:min(n, 20)]
	values, err := f.pull(ctx, some)
	if err != nil {
		return err
	}
	for i, key := range some {
		if f.signed(values[2*i]) < f.own[key] || values[2*i+1] != 2*values[2*i] {
			return fmt.Errorf("task %d: column %d is %v after it has pushed %v", f.task, key, values[2*i:2*i+2], f.own[key])
		}
	}
	return nil
}

func (f *fewTask) pull(ctx context.Context, keys []int64) ([]float64, error) {
	plan, err := f.w.Plan(nil, keys)
	if err != nil {
		return nil, err
	}
	values := make([]float64, 2*len(keys))
	return values, ps.PullKeys(ctx, f.w, plan, values)
}
