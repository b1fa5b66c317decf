package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/state"
)

// aheadOf is how a task makes checkpoints while it goes on: one after the other, whole ones and increments by turns.
type aheadOf struct {
	p     *ps.Client
	run   string
	under *ps.Checkpointing
	step  int // of the one under way
	done  []int
}

func (a *aheadOf) path(step int) string { return fmt.Sprintf("run/%012d", step) }

// at is called at each step, and must not wait.
func (a *aheadOf) at(ctx context.Context, step int) (err error) {
	if a.under != nil {
		over, err := a.under.Poll(ctx)
		if err != nil && !errors.Is(err, rpc.ErrPassed) {
			return err
		}
		if over {
			if a.under = nil; err == nil {
				a.done = append(a.done, a.step)
			}
		}
	}
	if a.under != nil {
		return nil
	}
	o := ps.CheckpointOptions{Path: a.path(step), Track: true}
	o.Files = map[string][]byte{"job.yaml": fmt.Appendf(nil, "step: %d\n", step), "graph.json": []byte("{}")}
	if n := len(a.done); n > 0 && n%4 != 0 {
		o.Base = a.path(a.done[n-1])
	}
	o.Moment, _ = json.Marshal(state.Moment{Run: a.run, Attempt: 1, Step: step})
	a.step = step
	a.under, err = a.p.BeginCheckpoint(ctx, o)
	return err
}

// TestCheckpointGoesOn: the task that asks for checkpoints goes on at once, and so do the others. Each checkpoint is of one moment all
// the same: that in which it was asked for. None of them waits for anybody under ASP.
func TestCheckpointGoesOn(t *testing.T) {
	const tasks, steps = 3, 30
	metas := []matrix.Meta{
		{Name: "a", Rows: 1, Cols: 3000, DType: matrix.F64}, {Name: "b", Rows: 1, Cols: 3000, DType: matrix.F64, Layout: matrix.RowSparse},
	}
	for _, network := range []string{"mem", "tcp"} {
		for _, bound := range []ssp.Bound{ssp.BSP, 2, ssp.ASP} {
			t.Run(fmt.Sprint(network, " ", bound), func(t *testing.T) {
				bucket := &blob.Mem{}
				f := newFleet(t, network, 3, bucket, metas)
				var made aheadOf
				f.run(tasks, bound, func(ctx context.Context, p *ps.Client, task int) error {
					a := aheadOf{p: p, run: "r"}
					for step := 1; step <= steps; step++ {
						for _, m := range metas {
							if err := p.Push(m.Name, ones(m)); err != nil {
								return err
							}
						}
						if err := p.Clock(ctx, 0, 0); err != nil {
							return err
						}
						if task == 0 {
							if err := a.at(ctx, step); err != nil {
								return err
							}
						}
						if _, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "a"}}); err != nil {
							return err
						}
					}
					for task == 0 && (a.under != nil || len(a.done) < 2) { // the steps may be over before the second one begins
						if a.under != nil {
							if err := a.under.Wait(ctx); err != nil {
								return err
							}
							a.under, a.done = nil, append(a.done, a.step)
						} else if err := a.at(ctx, steps); err != nil {
							return err
						}
					}
					if task == 0 {
						made = a
					}
					return nil
				})
				if len(made.done) < 2 {
					t.Errorf("checkpoints %v, want some", made.done)
				}
				for _, step := range slices.Compact([]int{made.done[0], made.done[1], made.done[len(made.done)-1]}) {
					goesOnFrom(t, bucket, metas, bound, made.path(step), step)
				}
			})
		}
	}
}

// goesOnFrom wants a checkpoint to have what was there after a step, on other servers, and increments based on it at once.
func goesOnFrom(t *testing.T, bucket blob.Bucket, metas []matrix.Meta, bound ssp.Bound, path string, step int) {
	t.Helper()
	head, err := state.Open(t.Context(), bucket, path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := blob.ReadAll(t.Context(), bucket, path+"/job.yaml", 1<<20)
	if want := fmt.Sprintf("step: %d\n", step); err != nil || string(text) != want || !slices.Equal(head.Loose, []string{"graph.json", "job.yaml"}) {
		t.Errorf("%s: %q, %v beside it (%v), want %q", path, text, head.Loose, err, want)
	}
	if head.Moment.Step != step || head.Moment.Run != "r" || head.Bound != bound || head.Clock != step {
		t.Errorf("%s: of %+v at clock %d under %v, want step %d under %v", path, head.Moment, head.Clock, head.Bound, step, bound)
	}
	newFleet(t, "mem", 2, bucket, metas).run(1, bound, func(ctx context.Context, p *ps.Client, _ int) error {
		if _, err := p.Restore(ctx, path); err != nil {
			return err
		}
		got, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "a"}, {Matrix: "b"}})
		if err != nil {
			return err
		}
		for i, b := range got {
			for _, v := range b.Data.Values().([]float64) {
				if v != float64(3*step) && (bound != ssp.ASP || v < float64(step)) {
					t.Fatalf("%s: a value of %s is %v, want %d", path, metas[i].Name, v, 3*step)
				}
			}
		}
		k, err := p.BeginCheckpoint(ctx, ps.CheckpointOptions{Path: path + "-next", Base: path, Moment: []byte(`{"run":"r"}`)})
		if err != nil {
			return err
		}
		return k.Wait(ctx)
	})
}
