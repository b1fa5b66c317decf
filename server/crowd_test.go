package server_test

import (
	"context"
	"errors"
	"fmt"
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

// crowd is tasks whose pushes of one clock are many times what their server has memory for.
type crowd struct {
	meta   matrix.Meta
	tasks  int
	clocks int
	memory int64
	delta  func() matrix.Block // of ones
	adds   float32             // that a clock adds to each column
	next   bool                // pushes ask for values of the next clock, too
}

// run lets the tasks push, and wants the sum of all deltas in columns that they push to.
func (c crowd) run(t *testing.T) {
	ledger := budget.New(c.memory)
	s := &server.Server{Funcs: table(t), Codecs: codecs, Bucket: &blob.Mem{}, Ledger: ledger, Scratch: t.TempDir()}
	l, err := tcp.Network{Ledger: ledger}.Listen(t.Context(), "127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	relieved := make(chan struct{})
	go func() { defer close(relieved); s.Relieve(ctx) }()
	defer func() { cancel(); <-relieved; l.Close() }()
	errs := make([]error, c.tasks)
	var tasks sync.WaitGroup
	for task := range c.tasks {
		tasks.Go(func() {
			if errs[task] = c.task(ctx, l.Addr(), task); errs[task] != nil {
				cancel()
			}
		})
	}
	tasks.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("%v; in use: %v", err, ledger.Used())
	}
}

func (c crowd) task(ctx context.Context, addr string, task int) error {
	p, err := ps.Dial(ctx, ps.Options{Network: tcp.Network{}, Servers: []string{addr}, Job: "j", Task: task, Tasks: c.tasks,
		Bound: ssp.BSP})
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Create(ctx, "", c.meta); err != nil {
		return err
	}
	lookups := []matrix.Lookup{{Matrix: c.meta.Name, Cols: []int64{0, c.meta.Cols / 2, c.meta.Cols - 1}}}
	for clock := range c.clocks {
		if err := p.Push(c.meta.Name, c.delta()); err != nil {
			return err
		}
		if !c.next {
			if err := p.SyncClock(ctx); err != nil {
				return err
			}
		} else if _, err := p.Next(ctx, 1, 0.5, lookups, nil); err != nil {
			return err
		}
		blocks, err := p.Pull(ctx, lookups)
		if err != nil {
			return err
		}
		for i, v := range blocks[0].Data.Values().([]float32) {
			if want := c.adds * float32(clock+1); v != want {
				return fmt.Errorf("task %d: column %d after clock %d is %v, want %v", task, lookups[0].Cols[i], clock, v, want)
			}
		}
	}
	if err := p.Barrier(ctx); err != nil {
		return err
	}
	return p.Leave(ctx)
}

// TestCrowdUnderRule: the rule makes one step with the sum of deltas that were on disk.
func TestCrowdUnderRule(t *testing.T) {
	m := matrix.Meta{Name: "w", Rows: 1, Cols: 200_000, DType: matrix.F32, Rule: "sgd"}
	ones := func() matrix.Block {
		v := make([]float32, m.Cols)
		for i := range v {
			v[i] = 1
		}
		return matrix.Block{At: m.Rect(), Data: &matrix.Dense[float32]{Val: v}}
	}
	crowd{m, 24, 2, 5 << 20, ones, -0.5, true}.run(t) // the rate times the mean of gradients of 1
}

// TestCrowd: tasks that push many times what there is memory for are slowed down and finish, with the right sums: whatever
// way they push, and also if the answers come only after the clock.
func TestCrowd(t *testing.T) {
	const cols = 200_000
	dense := matrix.Meta{Name: "w", Rows: 1, Cols: cols, DType: matrix.F32}
	thin := matrix.Meta{Name: "w", Rows: 4, Cols: cols, DType: matrix.F32}
	sparse := thin
	sparse.Layout = matrix.RowSparse
	ones := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = 1
		}
		return v
	}
	keys := make([]int64, 0, cols/8+1)
	for k := int64(0); k < cols; k += 8 {
		keys = append(keys, k)
	}
	keys = append(keys, cols-1)
	whole := func() matrix.Block {
		return matrix.Block{At: dense.Rect(), Data: &matrix.Dense[float32]{Val: ones(cols)}}
	}
	some := func() matrix.Block {
		return matrix.Block{At: thin.Rect(), Data: &matrix.Cols[float32]{Idx: keys, Val: ones(4 * len(keys))}}
	}
	t.Run("a dense row", crowd{dense, 24, 2, 4 << 20, whole, 24, false}.run)
	t.Run("a dense row and a pull", crowd{dense, 24, 2, 4 << 20, whole, 24, true}.run)
	t.Run("keys", crowd{thin, 24, 2, 8 << 20, some, 24, false}.run)
	t.Run("keys and a pull", crowd{thin, 24, 2, 8 << 20, some, 24, true}.run)
	t.Run("new keys", crowd{sparse, 24, 2, 8 << 20, some, 24, false}.run)
	t.Run("new keys and a pull", crowd{sparse, 24, 2, 8 << 20, some, 24, true}.run)
}
