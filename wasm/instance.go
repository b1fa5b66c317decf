package wasm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// Instance is a module with memory of its own, for one argument. It is of one goroutine at a time. After an error it cannot be
// used any more: who wants to go on makes another.
type Instance struct {
	rt     *Runtime
	m      *Module
	mod    api.Module
	mem    api.Memory
	funcs  map[string]api.Function
	stack  [6]uint64
	busy   atomic.Bool
	broken error
	memory *memory // that mem is; nil until there is some

	buffer, size uint32 // of the module's memory

	// What WASI keeps.
	exit   *uint32
	said   []byte
	clock  uint64
	random *rand.ChaCha8
}

// callingKey is where the context of a call has its instance.
type callingKey struct{}

func calling(ctx context.Context) *Instance {
	in, _ := ctx.Value(callingKey{}).(*Instance)
	return in
}

// New makes an instance and gives it an argument, JSON by agreement; nil if there is none. The caller closes it.
func (m *Module) New(ctx context.Context, arg []byte) (*Instance, error) {
	if err := m.rt.enter(); err != nil {
		return nil, err
	}
	defer m.rt.leave()
	in, err := m.instance(ctx)
	if err != nil {
		return nil, err
	}
	if err := in.begin(ctx, arg); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

func (in *Instance) begin(ctx context.Context, arg []byte) error {
	switch {
	case len(arg) > in.m.limits.Result:
		return in.m.failed(exportBegin, "an argument of %d bytes, want at most %d", len(arg), in.m.limits.Result)
	case !in.m.c.has[exportBegin] && len(arg) > 0:
		return in.m.failed(exportBegin, "an argument of %d bytes, but the module takes none", len(arg))
	case !in.m.c.has[exportBegin]:
		return nil
	}
	b, err := in.room(ctx, len(arg))
	if err != nil {
		return err
	}
	copy(b, arg)
	return in.status(ctx, exportBegin, uint64(len(arg)))
}

// instance makes an instance without an argument.
func (m *Module) instance(ctx context.Context) (in *Instance, err error) {
	in = &Instance{rt: m.rt, m: m, funcs: map[string]api.Function{}, clock: clockStart}
	caller := ctx
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, callingKey{}, in), m.limits.Time)
	defer cancel()
	ctx = experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(in.allocate))
	defer func() {
		if p := recover(); p != nil {
			in.memory.Free()
			in, err = nil, m.failed("start", "the engine fails: %v", p)
		}
	}()
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions(exportStart)
	mod, err := m.rt.engine.InstantiateModule(ctx, m.c.code, config)
	full := in.memory != nil && in.memory.plain != nil
	if err != nil || in.exit != nil || full {
		if mod != nil {
			err = errors.Join(err, mod.Close(context.WithoutCancel(ctx)))
		}
		in.memory.Free()
		if full {
			return nil, fmt.Errorf("wasm: %s: %w", m.name, in.memory.full)
		}
		return nil, in.why(caller, ctx, "start", err)
	}
	in.mod, in.mem = mod, mod.Memory()
	for name := range m.c.has {
		in.funcs[name] = mod.ExportedFunction(name)
	}
	return in, nil
}

// Close frees the instance. Closing it again does nothing.
func (in *Instance) Close() {
	if in.mod != nil {
		_ = in.mod.Close(context.Background()) // there is nothing open that could not be closed
		in.mod, in.broken = nil, in.m.failed("close", "the instance is closed")
	}
}

// call runs an exported function within its time. An instance whose function failed is not used again: nobody knows what state
// it left its memory in.
func (in *Instance) call(ctx context.Context, name string, args ...uint64) (result uint64, err error) {
	if !in.busy.CompareAndSwap(false, true) {
		return 0, in.m.failed(name, "the instance is used by another goroutine")
	}
	defer in.busy.Store(false)
	if in.broken != nil {
		return 0, in.broken
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, callingKey{}, in), in.m.limits.Time)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = in.m.failed(name, "the engine fails: %v", p)
		}
		in.broken = err
	}()
	copy(in.stack[:], args)
	err = in.funcs[name].CallWithStack(ctx, in.stack[:])
	if err != nil || in.exit != nil {
		return 0, in.why(caller, ctx, name, err)
	}
	return in.stack[0], nil
}

// why says in one line why a function ended: the reason that the host had for it comes before what the engine says.
func (in *Instance) why(caller, ctx context.Context, name string, err error) error {
	var reason string
	switch {
	case in.exit != nil:
		reason = fmt.Sprintf("it exited with code %d", int32(*in.exit))
	case caller.Err() != nil:
		return fmt.Errorf("wasm: %s: %s: %w", in.m.name, name, caller.Err())
	case ctx.Err() != nil:
		reason = fmt.Sprintf("it took longer than %v", in.m.limits.Time)
	case in.rt.closing.Load():
		reason = "the runtime is closed"
	case err != nil:
		reason = firstLine(err)
	}
	if in.memory != nil && in.memory.full != nil {
		return fmt.Errorf("wasm: %s: %s: %s; its memory could not grow: %w", in.m.name, name, reason, in.memory.full)
	}
	if said := strings.TrimSpace(strings.ToValidUTF8(string(in.said), "?")); said != "" {
		reason += "; it said: " + said
	}
	return in.m.failed(name, "%s", reason)
}

// firstLine is an error of the engine without its trace, whose functions have no names.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	line = strings.TrimSuffix(line, " (recovered by wazero)")
	return strings.TrimPrefix(line, "wasm error: ")
}

// room is n bytes of the module's memory for what it is to be given; they are valid until the next call.
func (in *Instance) room(ctx context.Context, n int) ([]byte, error) {
	if in.broken != nil { // its memory may be gone
		return nil, in.broken
	}
	if n > math.MaxInt32 {
		return nil, in.m.failed(exportBuffer, "%d bytes, want at most %d", n, math.MaxInt32)
	}
	if in.size < uint32(n) || in.buffer == 0 {
		v, err := in.call(ctx, exportBuffer, uint64(max(n, 8)))
		if err != nil {
			return nil, err
		}
		in.buffer, in.size = uint32(v), uint32(max(n, 8))
		switch {
		case in.buffer == 0:
			return nil, in.bad(exportBuffer, "it has no %d bytes", n)
		case in.buffer%8 != 0:
			return nil, in.bad(exportBuffer, "address %d, want a multiple of 8", in.buffer)
		}
	}
	return in.view(exportBuffer, in.buffer, uint32(n))
}

// bad is an error of what a function of the module answered: the instance is not used again.
func (in *Instance) bad(function, format string, args ...any) error {
	in.broken = in.m.failed(function, format, args...)
	return in.broken
}

// view is a piece of the module's memory, valid until the next call.
func (in *Instance) view(function string, at, n uint32) ([]byte, error) {
	b, ok := in.mem.Read(at, n)
	if !ok {
		return nil, in.bad(function, "%d bytes at address %d, want them within the memory of %d", n, at, in.mem.Size())
	}
	return b, nil
}

// status calls a function that answers 0, or something else if it failed.
func (in *Instance) status(ctx context.Context, name string, args ...uint64) error {
	v, err := in.call(ctx, name, args...)
	if err != nil || uint32(v) == 0 {
		return err
	}
	return in.refused(ctx, name, fmt.Sprintf("code %d", int32(v)))
}

// refused is the error of a function that says that it failed, in the module's own words if it has any.
func (in *Instance) refused(ctx context.Context, name, reason string) error {
	if in.m.c.has[exportError] {
		if v, err := in.call(ctx, exportError); err == nil {
			text, err := in.view(exportError, uint32(v>>32), min(uint32(v), saidLimit))
			if err == nil && len(text) > 0 {
				reason = strings.ToValidUTF8(string(text), "?")
			}
		}
	}
	if in.memory != nil && in.memory.full != nil {
		reason += "; its memory could not grow: " + in.memory.full.Error()
	}
	return in.bad(name, "%s", reason)
}

// answer calls a function that answers with bytes: their address in the high half of the result, their number in the low one;
// all ones if it failed. The caller owns the bytes.
func (in *Instance) answer(ctx context.Context, name string, limit int, args ...uint64) ([]byte, error) {
	v, err := in.call(ctx, name, args...)
	if err != nil {
		return nil, err
	}
	if v == math.MaxUint64 {
		return nil, in.refused(ctx, name, "it failed")
	}
	if n := uint32(v); uint64(n) > uint64(limit) {
		return nil, in.bad(name, "an answer of %d bytes, want at most %d", n, limit)
	}
	b, err := in.view(name, uint32(v>>32), uint32(v))
	return append([]byte{}, b...), err
}
