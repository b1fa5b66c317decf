package server_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/ssp"
	"thole.example/wasm"
)

// operation is something that a task, or somebody who reads, asks for.
type operation struct {
	name string
	do   func(ctx context.Context, p, reader *ps.Client) error
}

// operations are all that change what servers hold, in an order.
func operations(t *testing.T, runtime *wasm.Runtime) []operation {
	module, err := os.ReadFile("../examples/functions/affine/affine.wasm")
	if err != nil {
		t.Fatal(err)
	}
	affine, err := runtime.Compile(t.Context(), "affine", module, wasm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(affine.Close)
	dense := func(v float64) matrix.Block {
		b := matrix.NewDense(matrix.F64, matrix.At(0, 2, 0, 40))
		for i := range b.Data.Values().([]float64) {
			b.Data.Values().([]float64)[i] = v * float64(i%7)
		}
		return b
	}
	on := func(f func(ctx context.Context, d, s *ps.Matrix, p *ps.Client) error) func(context.Context, *ps.Client, *ps.Client) error {
		return func(ctx context.Context, p, _ *ps.Client) error {
			d, err := p.Matrix("d")
			if err != nil {
				return err
			}
			s, err := p.Matrix("s")
			if err != nil {
				return err
			}
			return f(ctx, d, s, p)
		}
	}
	push := on(func(ctx context.Context, d, s *ps.Matrix, p *ps.Client) error {
		keys, err := s.Plan(nil, []int64{5, 1 << 30, 77})
		if err != nil {
			return err
		}
		return errors.Join(d.Increment(dense(0.1)), ps.PushKeys(s, keys, []float64{1, 2, 3}), p.Clock(ctx, 1, 0.1))
	})
	return []operation{
		{"create", func(ctx context.Context, p, _ *ps.Client) error {
			init := matrix.Init{Kind: "normal", Scale: 1, Seed: 3}
			return p.Create(ctx, "", matrix.Meta{Name: "d", Rows: 2, Cols: 40, DType: matrix.F64, Init: init},
				matrix.Meta{Name: "s", Rows: 1, Cols: 1 << 40, DType: matrix.F64, Layout: matrix.RowSparse, Rule: "adam", Init: init})
		}},
		{"push", push},
		{"update", on(func(ctx context.Context, d, _ *ps.Matrix, _ *ps.Client) error { return d.Update(ctx, "more", nil) })},
		{"columns that are made", on(func(ctx context.Context, _, s *ps.Matrix, _ *ps.Client) error {
			keys, err := s.Plan(nil, []int64{9, 1 << 35})
			if err != nil {
				return err
			}
			return ps.InitAndGet(ctx, s, keys, make([]float64, 2))
		})},
		{"assign now", on(func(ctx context.Context, d, _ *ps.Matrix, _ *ps.Client) error {
			return d.AssignNow(ctx, dense(2)).Wait(ctx)
		})},
		{"assign", on(func(ctx context.Context, d, _ *ps.Matrix, p *ps.Client) error {
			return errors.Join(d.Assign(dense(3)), d.Increment(dense(0.3)), d.Stage("more", nil), p.Clock(ctx, 1, 0.1))
		})},
		{"save", func(ctx context.Context, p, _ *ps.Client) error {
			return p.Save(ctx, ps.SaveOptions{Codec: "angel", Path: "model", Matrices: []string{"d"}, Lossy: true})
		}},
		{"checkpoint", func(ctx context.Context, p, _ *ps.Client) error { return p.Checkpoint(ctx, "checkpoint") }},
		{"push after it", push},
		{"restore", func(ctx context.Context, p, _ *ps.Client) error { _, err := p.Restore(ctx, "checkpoint"); return err }},
		{"push after that", push},
		{"load", func(ctx context.Context, p, _ *ps.Client) error {
			return p.Load(ctx, ps.LoadOptions{Path: "model", Matrices: []string{"d"}})
		}},
		{"load of nothing", func(ctx context.Context, p, _ *ps.Client) error {
			if err := p.Load(ctx, ps.LoadOptions{Path: "nothing"}); !errors.Is(err, rpc.ErrNotFound) {
				return fmt.Errorf("it ends with %w", err)
			}
			return nil
		}},
		{"define", func(ctx context.Context, p, _ *ps.Client) error { return p.Define(ctx, affine.Func("affine"), module) }},
		{"its update", on(func(ctx context.Context, d, _ *ps.Matrix, _ *ps.Client) error {
			return d.Update(ctx, "affine", psf.Args{"from": 0, "to": 1, "arg": map[string]float64{"a": 2, "b": 3}})
		})},
		{"a reader's update", func(ctx context.Context, _, reader *ps.Client) error {
			d, err := reader.Matrix("d")
			if err != nil {
				return err
			}
			return d.Update(ctx, "more", nil)
		}},
		{"last push", push},
		{"a push that is not finite", on(func(ctx context.Context, d, _ *ps.Matrix, p *ps.Client) error {
			err := errors.Join(d.Increment(dense(math.Inf(1))), p.Flush(ctx))
			if !errors.Is(err, rpc.ErrRefused) {
				return fmt.Errorf("it ends with %w", err)
			}
			return nil
		})},
	}
}

// TestRecoverOperations kills the servers after each operation of a job, also when each is in a base of the log, and wants what a job has that
// nobody disturbed.
func TestRecoverOperations(t *testing.T) {
	runtime, err := wasm.NewRuntime(t.Context(), 8)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close(context.Background())
	for _, bound := range []ssp.Bound{ssp.BSP, 1, ssp.ASP} {
		t.Run(bound.String(), func(t *testing.T) {
			var calm []string
			for _, how := range []struct {
				killed bool
				base   int64
			}{{}, {true, 1 << 30}, {true, 1}} {
				all := operations(t, runtime)
				synctest.Test(t, func(t *testing.T) {
					got := operate(t, bound, runtime, all, how.killed, how.base)
					if !how.killed {
						calm = got
					} else if !slices.Equal(got, calm) {
						for i := range got {
							t.Errorf("killed after each operation, with a base from %d bytes on: %d is other than without: %v", how.base, i, got[i] != calm[i])
						}
					}
				})
			}
		})
	}
}

// operate does the operations, and tells what is there in the end.
func operate(t *testing.T, bound ssp.Bound, runtime *wasm.Runtime, all []operation, killed bool, base int64) (out []string) {
	f := newFarm(t, 0, nil)
	defer f.close()
	k := newKiller(t, &scenario{seed: uint64(bound), servers: 2, modules: runtime, base: base}, f)
	ctx := t.Context()
	o := ps.Options{Network: f.net, Servers: f.addrs, Job: "j", Tasks: 1, Bound: bound, Retry: time.Hour, Attempt: 3, Funcs: moreFuncs}
	p, err := ps.Dial(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range all {
		reader, err := ps.Follow(ctx, ps.Options{Network: f.net, Servers: f.addrs, Job: "j", Funcs: moreFuncs})
		if err == nil {
			err = op.do(ctx, p, reader)
			_ = reader.Close()
		}
		if err != nil {
			t.Fatalf("%s: %v", op.name, err)
		}
		if killed {
			time.Sleep(time.Minute) // bases are written
			for i := range f.addrs {
				k.kill(i)
				k.start(i)
			}
		}
	}
	blocks, err := p.Pull(ctx, []matrix.Lookup{{Matrix: "d"}, {Matrix: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		out = append(out, bits(b))
	}
	bad, err := p.NonFinite(ctx)
	if err = errors.Join(err, p.Close()); err != nil { // it cannot leave: a push was refused
		t.Fatal(err)
	}
	time.Sleep(2 * time.Hour)
	synctest.Wait()
	return append(out, fmt.Sprint(bad))
}
