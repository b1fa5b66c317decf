package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

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
				n := len(made.done) // how many there is time for differs, the last one is waited for
				if n == 0 {
					t.Fatal("no checkpoint came about")
				}
				for _, step := range slices.Compact([]int{made.done[0], made.done[n/2], made.done[n-1]}) {
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

// TestCheckpointPassedByUpdate: a checkpoint that waits for an update, while its task goes on, is too late when that ends: the task is told
// so, nothing else is disturbed, and the next one has everything.
func TestCheckpointPassedByUpdate(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s, c, m, update, busy := updating(t)
		call := c.checkpointing("c", 0, m)
		push := c.push([]rpc.Part{m.row(0, 5)}, own(0), m.tick(0, 0, 0))
		synctest.Wait()
		close(busy)
		c.wait(update)
		c.wait(push)
		_, err := c.outcome(call)
		fails(t, "checkpoint", err, rpc.ErrPassed, `matrix "m" is at clock 1, want 0`)
		c.must(rpc.Request{Op: rpc.OpAbort, Arg: arg(rpc.Save{Path: "c", Stage: "c", Checkpoint: true})})
		c.checkpointed("d", c.wait(c.checkpointing("d", 1, m)))
		if got := c.pulled(m.whole(1)); got[0] != 6 {
			t.Errorf("value %v, want 6", got)
		}
		if _, err := state.Open(t.Context(), s.server.Bucket, "d"); err != nil {
			t.Error(err)
		}
	})
}

// TestCheckpointAbortedEarly: a checkpoint that is given up before its clock has come leaves nothing when it comes.
func TestCheckpointAbortedEarly(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := serve(t, nil)
		c, slow := s.join(0, 2, ssp.BSP), s.join(1, 2, ssp.BSP)
		m := c.create(one("m", 1, 1))[0]
		c.pushed(nil, own(0), m.tick(0, 0, 0))
		call := c.checkpointing("c", 1, m)
		c.must(rpc.Request{Op: rpc.OpAbort, Arg: arg(rpc.Save{Path: "c", Stage: "c", Checkpoint: true})})
		slow.pushed(nil, own(0), m.tick(0, 0, 0))
		_, err := c.outcome(call)
		fails(t, "checkpoint", err, rpc.ErrAborted, "was given up")
		if left, err := s.server.Bucket.List(t.Context(), ""); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	})
}

// TestCheckpointOfEarlierAttempt: what an earlier attempt of the same run wrote is replaced, as a run that goes on from before writes it
// again; what another run or a later attempt wrote is not.
func TestCheckpointOfEarlierAttempt(t *testing.T) {
	bucket := &blob.Mem{}
	for _, c := range []struct {
		moment state.Moment
		want   string
	}{
		{state.Moment{Run: "r", Attempt: 2}, ""},
		{state.Moment{Run: "r", Attempt: 2}, ""},
		{state.Moment{Run: "r", Attempt: 3}, ""},
		{state.Moment{Run: "r", Attempt: 2}, "is there now"},
		{state.Moment{Run: "q", Attempt: 9}, "is there now"},
		{state.Moment{}, "is there now"},
	} {
		f := newFleet(t, "mem", 2, bucket, small())
		f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
			moment, _ := json.Marshal(c.moment)
			k, err := p.BeginCheckpoint(ctx, ps.CheckpointOptions{Path: "run/best.000003", Moment: moment})
			if err == nil {
				err = k.Wait(ctx)
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v, want %q", c.moment, err, c.want)
			}
			return nil
		})
	}
}

// TestCheckpointWords: what a checkpoint is said to be has to be possible.
func TestCheckpointWords(t *testing.T) {
	f := newFleet(t, "mem", 2, &blob.Mem{}, small())
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		for name, kind := range map[string]error{
			"job.yaml": nil, "server.0": rpc.ErrMalformed, "checkpoint": rpc.ErrMalformed, "../x": rpc.ErrMalformed, "": rpc.ErrMalformed,
		} {
			k, err := p.BeginCheckpoint(ctx, ps.CheckpointOptions{Path: "c", Files: map[string][]byte{name: {1}}})
			if err == nil {
				err = k.Wait(ctx)
			}
			if kind != nil {
				fails(t, name, err, kind)
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		_, err := p.BeginCheckpoint(ctx, ps.CheckpointOptions{Path: "c", Moment: []byte("no JSON")})
		if err == nil {
			t.Error("a moment that is no JSON")
		}
		k, err := p.BeginCheckpoint(ctx, ps.CheckpointOptions{Path: "c", Moment: []byte(`{"step":"x"}`)})
		if err == nil {
			err = k.Wait(ctx)
		}
		fails(t, "a moment that is none", err, rpc.ErrMalformed)
		return nil
	})
}

// TestEndSaves: of a checkpoint that nobody commits any more nothing is left when the server is told that its process ends.
func TestEndSaves(t *testing.T) {
	folder := t.TempDir()
	m := matrix.Meta{Name: "w", Rows: 1, Cols: 9, DType: matrix.F32}
	f := newFleet(t, "mem", 1, blob.NewDir(folder), []matrix.Meta{m})
	f.attempt = 1
	f.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		if _, err := p.BeginCheckpoint(ctx, ps.CheckpointOptions{Path: "c"}); err != nil {
			return err
		}
		left := func() int {
			entries, err := os.ReadDir(folder)
			if err != nil {
				t.Fatal(err)
			}
			return len(entries)
		}
		if err := p.Clock(ctx, 1, 0.1); err != nil { // its moment has come
			return err
		}
		for left() == 0 {
			runtime.Gosched()
		}
		f.served[0].EndSaves(ctx)
		if n := left(); n > 0 {
			t.Errorf("%d folders are left", n)
		}
		return nil
	})
}
