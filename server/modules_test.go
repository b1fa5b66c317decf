package server

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"thole.example/matrix"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/wasm"
)

// TestModulesEnd: a job that ends keeps its modules until no partition can be running one, and then gives them back.
func TestModulesEnd(t *testing.T) {
	affine, err := os.ReadFile("../examples/functions/affine/affine.wasm")
	if err != nil {
		t.Fatal(err)
	}
	other := append(slices.Clone(affine), 0, 2, 1, 'x') // with a section of that name
	runtime, err := wasm.NewRuntime(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer runtime.Close(context.Background())
	j := newJob(t)
	j.server.Modules = runtime
	if j.server.Funcs, err = psf.NewTable(nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := j.define("f", affine); err != nil {
		t.Fatal(err)
	}
	st := &store{job: j, meta: matrix.Meta{Name: "m"}}
	st.partitions = []*partition{nil, {of: st}, {of: st, id: 2}}
	j.stores.Store(&[]*store{nil, st})
	busy := st.partitions[2]
	if !busy.post(deed(func() {})) { // this test is at it, as one that runs a function
		t.Fatal("the mailbox has an owner")
	}
	j.server.close(j)
	next := func() error {
		m, err := runtime.Compile(t.Context(), "next", other, wasm.Limits{})
		if err == nil {
			m.Close()
		}
		return err
	}
	if err := next(); err == nil {
		t.Error("a module is closed while a partition may run it")
	}
	full := newJob(t)
	full.server.Modules, full.server.Funcs = runtime, j.server.Funcs
	if err := full.define("g", other); !errors.Is(err, rpc.ErrRefused) || errors.Is(err, rpc.ErrMalformed) ||
		!strings.Contains(err.Error(), "1 modules are in use") || !strings.Contains(err.Error(), "a job that ends") {
		t.Errorf("a module for which there is no room: %v", err)
	}
	busy.run()
	if err := next(); err != nil {
		t.Errorf("the module of a job that has ended: %v", err)
	}
}
