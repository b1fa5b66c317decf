// Package wasm runs functions that users wrote as WebAssembly modules beside the data: maps over chunks of rows, and functions
// that gather something from a matrix. docs/functions.md says how a module is written, byte by byte.
//
// A module is hostile until shown otherwise. It sees nothing but its own memory, a clock that goes on by itself and random
// values from a fixed seed; memory, tables, time, answers and what it may cost to compile have limits; whatever it does ends in
// an error of the call. See meter.go for how it is stopped.
package wasm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"thole.example/budget"
)

// ABI is the version of the interface that modules have to have.
const ABI = 1

// Limits of one module. A field that is 0 is that of [DefaultLimits].
type Limits struct {
	Memory int64         // bytes of an instance's memory, in whole pages of 64 KiB
	Time   time.Duration // of each call, and of making an instance
	Size   int           // bytes of the module
	Result int           // bytes of an answer
}

// DefaultLimits are for functions of some hundred lines, also if they are written in a language with a runtime such as Go.
func DefaultLimits() Limits {
	return Limits{Memory: 64 << 20, Time: time.Second, Size: 8 << 20, Result: 16 << 20}
}

func (l Limits) filled() Limits {
	d := DefaultLimits()
	if l.Memory > 0 {
		d.Memory = min(l.Memory, 4<<30)
	}
	if l.Time > 0 {
		d.Time = l.Time
	}
	if l.Size > 0 {
		d.Size = l.Size
	}
	if l.Result > 0 {
		d.Result = l.Result
	}
	return d
}

// ErrFull is the error of Compile when as many modules are in use as the runtime keeps.
var ErrFull = errors.New("no room for another module")

// Runtime compiles modules and keeps what it compiled. A process has one; many goroutines may use it at once.
type Runtime struct {
	// Ledger counts compiled modules and the memory of instances (budget.Modules); nil: nothing does. It is set before the first use.
	Ledger *budget.Ledger

	engine  wazero.Runtime
	modules int

	closing atomic.Bool
	calls   sync.RWMutex // held for reading by whoever is inside the engine

	compiling sync.Mutex // one at a time: it is the most expensive thing a stranger can ask for
	mu        sync.Mutex
	kept      []*compiled // the least recently used first
}

// compiled is a module as machine code.
type compiled struct {
	key   key
	code  wazero.CompiledModule
	about Description
	has   map[string]bool // functions of the ABI
	users int
	bytes budget.Charge
}

// key tells compiled modules apart: by their bytes, and by what is written into them.
type key struct {
	sum   [sha256.Size]byte
	pages uint32
}

// NewRuntime makes a runtime that keeps at most so many compiled modules, those in use and those that may be used again.
func NewRuntime(ctx context.Context, modules int) (*Runtime, error) {
	if modules < 1 {
		return nil, fmt.Errorf("wasm: %d modules, want 1 at least", modules)
	}
	config := wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false)
	r := &Runtime{engine: wazero.NewRuntimeWithConfig(ctx, config), modules: modules}
	if err := system(ctx, r.engine); err != nil {
		return nil, errors.Join(fmt.Errorf("wasm: %w", err), r.engine.Close(ctx))
	}
	return r, nil
}

// Close ends all calls with an error, waits for them, and frees everything. Later calls are errors.
func (r *Runtime) Close(ctx context.Context) error {
	r.closing.Store(true)
	r.calls.Lock()
	defer r.calls.Unlock()
	return r.engine.Close(ctx)
}

// enter says that the engine is about to be used; leave that it was.
func (r *Runtime) enter() error {
	r.calls.RLock()
	if r.closing.Load() {
		r.calls.RUnlock()
		return errors.New("wasm: the runtime is closed")
	}
	return nil
}

func (r *Runtime) leave() { r.calls.RUnlock() }

// Module is a compiled module under a name, with limits. Many goroutines may use it at once.
type Module struct {
	rt     *Runtime
	name   string
	limits Limits
	c      *compiled
	closed sync.Once
}

// Compile checks and compiles a module, or takes what is kept of one with the same bytes. name is for errors. The caller keeps
// the bytes, and closes the module when nothing of it is used any more.
func (r *Runtime) Compile(ctx context.Context, name string, module []byte, limits Limits) (*Module, error) {
	m := &Module{rt: r, name: name, limits: limits.filled()}
	if len(module) > m.limits.Size {
		return nil, fmt.Errorf("wasm: %s has %d bytes, want at most %d", name, len(module), m.limits.Size)
	}
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	k := key{sha256.Sum256(module), uint32(m.limits.Memory / pageSize)}
	r.compiling.Lock()
	defer r.compiling.Unlock()
	if m.c = r.take(k); m.c != nil {
		return m, nil
	}
	ready, err := rewrite(name, module, k.pages)
	if err != nil {
		return nil, err
	}
	bytes, err := r.room(ctx, int64(len(ready))*compilerBytes)
	if err != nil {
		return nil, fmt.Errorf("wasm: %s: %w", name, err)
	}
	code, err := r.compile(ctx, ready)
	if err != nil {
		bytes.Release()
		return nil, fmt.Errorf("wasm: %s: %s", name, firstLine(err))
	}
	bytes.Resize(int64(len(ready)) * codeBytes)
	m.c = &compiled{key: k, code: code, users: 1, bytes: bytes}
	if err := m.examine(ctx); err != nil {
		m.c.bytes.Release()
		return nil, errors.Join(err, code.Close(ctx))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, m.c)
	return m, nil
}

// compile turns a panic of the compiler, which would be a defect of it, into an error.
func (r *Runtime) compile(ctx context.Context, module []byte) (c wazero.CompiledModule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the compiler fails: %v", p)
		}
	}()
	return r.engine.CompileModule(ctx, module)
}

// take finds a kept module.
func (r *Runtime) take(k key) *compiled {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.kept, func(c *compiled) bool { return c.key == k })
	if at < 0 {
		return nil
	}
	c := r.kept[at]
	r.kept = append(slices.Delete(r.kept, at, at+1), c)
	c.users++
	return c
}

// What a module takes for each of its bytes: while it is compiled, and as machine code with what the engine knows of it.
const (
	compilerBytes = 18
	codeBytes     = 6
)

// room counts n bytes for a module that is about to be compiled. It forgets those that were not used for longest while there are too many,
// or no memory.
func (r *Runtime) room(ctx context.Context, n int64) (budget.Charge, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		unused := slices.IndexFunc(r.kept, func(c *compiled) bool { return c.users == 0 })
		if many := len(r.kept) >= r.modules; !many || unused < 0 {
			if many {
				return budget.Charge{}, fmt.Errorf("%w: %d modules are in use, the most that are kept; one of them has to be closed first",
					ErrFull, len(r.kept))
			}
			bytes, err := r.Ledger.Hold(budget.Modules, n)
			if err == nil {
				return bytes, nil
			}
			if unused < 0 {
				return budget.Charge{}, fmt.Errorf("%w: %w", ErrFull, err)
			}
		}
		c := r.kept[unused]
		r.kept = slices.Delete(r.kept, unused, unused+1)
		c.bytes.Release()
		if err := c.code.Close(ctx); err != nil {
			return budget.Charge{}, err
		}
	}
}

// Close says that the module is not used any more; its instances have to be closed before. Closing it again does nothing.
func (m *Module) Close() {
	m.closed.Do(func() {
		m.rt.mu.Lock()
		defer m.rt.mu.Unlock()
		m.c.users--
	})
}

// Name is what the module was called when it was compiled.
func (m *Module) Name() string { return m.name }
