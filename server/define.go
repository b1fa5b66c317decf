package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"thole.example/budget"
	"thole.example/psf"
	"thole.example/rpc"
	"thole.example/wasm"
)

// functions are those of a job's own, beside the ones of the server.
type functions struct {
	all atomic.Pointer[psf.Table] // with the server's; nil: there are none

	calls calls // of them that run beside the partitions

	mu      sync.Mutex
	modules map[string]defined // by name
	closed  bool
}

// defined is a module that a job has under a name.
type defined struct {
	sum    [sha256.Size]byte
	module *wasm.Module
	text   []byte // as it came, if the job has a log
	about  held
}

// moduleLimit is how many functions of its own a job can have.
const moduleLimit = 64

// table is the functions that the job's tasks can call.
func (f *functions) table(s *Server) *psf.Table {
	if own := f.all.Load(); own != nil {
		return own
	}
	return s.Funcs
}

// define compiles a module and makes it a function of the job. Every task may define it, all of them the same.
func (s *Server) define(m *member, x *rpc.Exchange) {
	m.background(x, func(ctx context.Context) (*rpc.Response, error) {
		if err := m.job.define(x.Func, bytes.Clone(x.Arg)); err != nil {
			return nil, err
		}
		return nil, m.job.log.sync(ctx)
	})
}

// define makes a module a function of the job.
func (j *job) define(name string, module []byte) error {
	s, f := j.server, &j.functions
	f.mu.Lock()
	defer f.mu.Unlock()
	sum := sha256.Sum256(module)
	if err := checkName("function", name); err != nil {
		return err
	}
	switch have, there := f.modules[name]; {
	case s.Modules == nil:
		return fmt.Errorf("function %q: this server runs no modules: %w", name, rpc.ErrRefused)
	case f.closed:
		return fmt.Errorf("function %q: the job has ended: %w", name, rpc.ErrAborted)
	case there && have.sum == sum:
		return nil
	case there:
		return fmt.Errorf("function %q is there, and is another module: %w", name, rpc.ErrExists)
	case len(f.modules) == moduleLimit:
		return fmt.Errorf("function %q: the job has %d of its own, want no more: %w", name, moduleLimit, rpc.ErrRefused)
	}
	// Not the caller's context: others may wait for the same module.
	own, err := s.Modules.Compile(context.Background(), name, module, wasm.Limits{})
	if _, full := errors.AsType[*budget.TooLarge](err); full || errors.Is(err, wasm.ErrFull) {
		return fmt.Errorf("function %q: %w: %w (a job that ends gives its modules back)", name, rpc.ErrRefused, err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", rpc.ErrMalformed, err)
	}
	table, err := f.table(s).With(own.Func(name))
	if err != nil {
		own.Close()
		return fmt.Errorf("%w: %w", rpc.ErrExists, err)
	}
	if f.modules == nil {
		f.modules = map[string]defined{}
	}
	d := defined{sum: sum, module: own}
	if j.log != nil {
		d.text = module
	}
	size := functionBytes + int64(len(module))
	if j.log.replaying() { // what was accepted is
		d.about = s.force(budget.Modules, size, j.accounts)
	} else if d.about, err = s.hold(budget.Modules, size, j.accounts); err != nil {
		own.Close()
		return fmt.Errorf("function %q: %w: %w", name, rpc.ErrRefused, err)
	}
	f.modules[name] = d
	j.log.request(recordDefine, -1, &rpc.Request{Op: rpc.OpDefine, Func: name, Arg: module}, nil, changes(&rpc.Request{}))
	f.all.Store(table)
	return nil
}

// moduleText is a module as it came.
type moduleText struct {
	name string
	text []byte
}

// texts are the modules of a job with a log, by name.
func (f *functions) texts() (all []moduleText) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(f.modules)) {
		all = append(all, moduleText{name, f.modules[name].text})
	}
	return all
}

// close frees the modules, once the last call that runs beside the partitions has ended.
func (f *functions) close() { f.calls.close(f.free) }

func (f *functions) free() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, d := range f.modules {
		d.module.Close()
		d.about.release()
	}
	f.modules = nil
}
