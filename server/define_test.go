package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/rpc/mem"
	"thole.example/server"
	"thole.example/ssp"
	"thole.example/wasm"
)

// TestDefine: a function of the user's own runs beside the data on all servers, at once and staged; another module of the same
// name, the name of a built-in one, and what is no module are refused.
func TestDefine(t *testing.T) {
	module, err := os.ReadFile("../examples/functions/affine/affine.wasm")
	if err != nil {
		t.Fatal(err)
	}
	runtime, err := wasm.NewRuntime(t.Context(), 8)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close(context.Background())
	compiled, err := runtime.Compile(t.Context(), "affine", module, wasm.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer compiled.Close()
	for _, servers := range []int{1, 3} {
		c := newCluster(t, &mem.Network{}, 0)
		c.with = func(s *server.Server) { s.Modules = runtime }
		c.start(servers)
		c.run(2, ssp.BSP, func(ctx context.Context, p *ps.Client, task int) error {
			if err := p.Create(ctx, "", meta("m", 2, 100, matrix.RowDense)); err != nil {
				return err
			}
			m, err := p.Matrix("m")
			if err != nil {
				return err
			}
			if err := p.Define(ctx, compiled.Func("affine"), module); err != nil {
				return err
			}
			if err := p.Barrier(ctx); err != nil {
				return err
			}
			see := func(want float64) error {
				for _, what := range []string{"min", "max"} {
					if got, err := call(ctx, m, what, `{"rows":1}`); err != nil || got != want {
						return fmt.Errorf("task %d: %s is %v, %v, want %v", task, what, got, err, want)
					}
				}
				return p.Barrier(ctx)
			}
			args := psf.Args{"from": 0, "to": 1, "arg": map[string]float64{"a": 2, "b": 3}}
			if task == 0 {
				if err := m.Update(ctx, "affine", args); err != nil {
					return err
				}
			}
			if err := errors.Join(p.SyncClock(ctx), p.Barrier(ctx), see(3)); err != nil {
				return err
			}
			if err := errors.Join(m.Stage("affine", psf.Args{"from": 1, "arg": map[string]float64{"a": 10}}), see(3), p.SyncClock(ctx), p.Barrier(ctx),
				see(300)); err != nil { // both tasks
				return err
			}
			for name, other := range map[string][]byte{"affine": []byte("no module"), "none": []byte("no module"), "sum": module} {
				q := compiled.Func(name + "2")
				q.Name = name
				if name == "affine" {
					continue // the client has it
				}
				if err := p.Define(ctx, q, other); err == nil {
					return fmt.Errorf("%s can be defined", name)
				}
			}
			return nil
		})
	}
}

// TestDefineRefused: a server without a runtime says so.
func TestDefineRefused(t *testing.T) {
	c := newCluster(t, &mem.Network{}, 1)
	c.run(1, ssp.BSP, func(ctx context.Context, p *ps.Client, _ int) error {
		if err := p.Define(ctx, psf.Func{Name: "x"}, []byte("y")); !errors.Is(err, rpc.ErrRefused) {
			return fmt.Errorf("defined: %v", err)
		}
		return nil
	})
}
