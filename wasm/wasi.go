package wasm

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// wasiModule is the name under which compilers look for the system. Modules that need none import nothing of it.
const wasiModule = "wasi_snapshot_preview1"

// Error numbers of WASI.
const (
	wasiOK      = 0
	wasiBadFile = 8
	wasiInvalid = 28
	wasiMissing = 52
)

const (
	saidLimit   = 4 << 10   // bytes kept of what a module prints
	vectorLimit = 1024      // buffers of one fd_write
	clockStart  = 1_000_000 // nanoseconds; Go does not start at 0
	clockStep   = 1_000     // between two looks at the clock
	sleepEvents = 64        // of one poll_oneoff
)

// wasiFunction is what a module gets for a function of WASI: a system without files, network and time of its own. Every run
// of a function sees the same: the clock goes on by a microsecond whenever it is read, and random values come from a fixed
// seed.
type wasiFunction struct {
	params string // i: i32, I: i64
	result bool   // an i32, the error number
	call   func(in *Instance, mem api.Memory, a []uint64) uint32
}

// missing is a function that says that there is no such thing here.
func missing(params string) *wasiFunction { return &wasiFunction{params, true, answer(wasiMissing)} }

// badFile is a function on files: there are none but the three that every program has.
func badFile(params string) *wasiFunction { return &wasiFunction{params, true, answer(wasiBadFile)} }

func answer(code uint32) func(*Instance, api.Memory, []uint64) uint32 {
	return func(*Instance, api.Memory, []uint64) uint32 { return code }
}

// wasiFunctions are all functions of the preview 1. The table is not changed.
var wasiFunctions = map[string]*wasiFunction{
	"args_get": {"ii", true, answer(wasiOK)}, "args_sizes_get": {"ii", true, wasiNone},
	"environ_get": {"ii", true, answer(wasiOK)}, "environ_sizes_get": {"ii", true, wasiNone},
	"clock_res_get": {"ii", true, wasiResolution}, "clock_time_get": {"iIi", true, wasiClock},
	"fd_advise": badFile("iIIi"), "fd_allocate": badFile("iII"), "fd_close": {"i", true, answer(wasiOK)},
	"fd_datasync": badFile("i"), "fd_fdstat_get": {"ii", true, wasiFileState},
	"fd_fdstat_set_flags": {"ii", true, answer(wasiOK)}, "fd_fdstat_set_rights": badFile("iII"),
	"fd_filestat_get": badFile("ii"), "fd_filestat_set_size": badFile("iI"), "fd_filestat_set_times": badFile("iIIi"),
	"fd_pread": badFile("iiiIi"), "fd_prestat_get": badFile("ii"), "fd_prestat_dir_name": badFile("iii"),
	"fd_pwrite": badFile("iiiIi"), "fd_read": badFile("iiii"), "fd_readdir": badFile("iiiIi"), "fd_renumber": badFile("ii"),
	"fd_seek": badFile("iIii"), "fd_sync": badFile("i"), "fd_tell": badFile("ii"), "fd_write": {"iiii", true, wasiWrite},
	"path_create_directory": missing("iii"), "path_filestat_get": missing("iiiii"),
	"path_filestat_set_times": missing("iiiiIIi"), "path_link": missing("iiiiiii"), "path_open": missing("iiiiiIIii"),
	"path_readlink": missing("iiiiii"), "path_remove_directory": missing("iii"), "path_rename": missing("iiiiii"),
	"path_symlink": missing("iiiii"), "path_unlink_file": missing("iii"),
	"poll_oneoff": {"iiii", true, wasiPoll}, "proc_exit": {"i", false, wasiExit}, "proc_raise": missing("i"),
	"random_get": {"ii", true, wasiRandom}, "sched_yield": {"", true, answer(wasiOK)},
	"sock_accept": missing("iii"), "sock_recv": missing("iiiiii"), "sock_send": missing("iiiii"), "sock_shutdown": missing("ii"),
}

// system makes the host's side of all modules: WASI and the meter.
func system(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(wasiModule)
	for name, f := range wasiFunctions {
		params := make([]api.ValueType, len(f.params))
		for i, p := range f.params {
			params[i] = api.ValueTypeI32
			if p == 'I' {
				params[i] = api.ValueTypeI64
			}
		}
		var results []api.ValueType
		if f.result {
			results = []api.ValueType{api.ValueTypeI32}
		}
		b = b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(f.host), params, results).Export(name)
	}
	if _, err := b.Instantiate(ctx); err != nil {
		return err
	}
	_, err := r.NewHostModuleBuilder(meterModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(tick), nil, []api.ValueType{api.ValueTypeI32}).Export(meterFunction).Instantiate(ctx)
	return err
}

// host is the function as the engine calls it.
func (f *wasiFunction) host(ctx context.Context, m api.Module, stack []uint64) {
	code := uint32(wasiMissing)
	if in, mem := calling(ctx), m.Memory(); in != nil && mem != nil {
		code = f.call(in, mem, stack)
	}
	if f.result {
		stack[0] = uint64(code)
	}
}

// tick is what a module calls when its fuel is used up: 0 lets it go on.
func tick(ctx context.Context, stack []uint64) {
	stack[0] = 1
	if in := calling(ctx); in != nil && ctx.Err() == nil && in.exit == nil && !in.rt.closing.Load() {
		stack[0] = 0
	}
}

// wasiNone says that a list has no elements and no bytes.
func wasiNone(_ *Instance, mem api.Memory, a []uint64) uint32 {
	return stored(mem.WriteUint32Le(uint32(a[0]), 0) && mem.WriteUint32Le(uint32(a[1]), 0))
}

// stored is the error number of a write into the module's memory.
func stored(ok bool) uint32 {
	if ok {
		return wasiOK
	}
	return wasiInvalid
}

func wasiResolution(_ *Instance, mem api.Memory, a []uint64) uint32 {
	return stored(mem.WriteUint64Le(uint32(a[1]), clockStep))
}

func wasiClock(in *Instance, mem api.Memory, a []uint64) uint32 {
	in.clock += clockStep
	return stored(mem.WriteUint64Le(uint32(a[2]), in.clock))
}

// wasiFileState says that the files 0, 1 and 2 are there: character devices without rights to anything else.
func wasiFileState(_ *Instance, mem api.Memory, a []uint64) uint32 {
	if a[0] > 2 {
		return wasiBadFile
	}
	state := make([]byte, 24)
	state[0] = 2
	return stored(mem.Write(uint32(a[1]), state))
}

// wasiWrite keeps the beginning of what a module prints, for the error that may follow.
func wasiWrite(in *Instance, mem api.Memory, a []uint64) uint32 {
	if a[0] != 1 && a[0] != 2 {
		return wasiBadFile
	}
	n := uint32(a[2])
	if n > vectorLimit {
		return wasiInvalid
	}
	list, ok := mem.Read(uint32(a[1]), n*8)
	if !ok {
		return wasiInvalid
	}
	var written uint32
	for ; len(list) > 0; list = list[8:] {
		text, ok := mem.Read(binary.LittleEndian.Uint32(list), binary.LittleEndian.Uint32(list[4:]))
		if !ok {
			return wasiInvalid
		}
		in.said = append(in.said, text[:min(len(text), saidLimit-len(in.said))]...)
		written += uint32(len(text))
	}
	return stored(mem.WriteUint32Le(uint32(a[3]), written))
}

// wasiPoll lets every sleep end at once: the clock goes on by what was asked for.
func wasiPoll(in *Instance, mem api.Memory, a []uint64) uint32 {
	n := uint32(a[2])
	if n == 0 || n > sleepEvents {
		return wasiInvalid
	}
	for i := range n {
		sub, ok := mem.Read(uint32(a[0])+i*48, 48)
		if !ok {
			return wasiInvalid
		}
		event := make([]byte, 32)
		copy(event, sub[:8]) // the user's mark
		event[10] = sub[8]
		if sub[8] == 0 { // a clock
			sleep := binary.LittleEndian.Uint64(sub[24:])
			if absolute := sub[40]&1 != 0; absolute {
				in.clock = max(in.clock, sleep)
			} else {
				in.clock += sleep
			}
		} else {
			event[8] = wasiBadFile
		}
		if !mem.Write(uint32(a[1])+i*32, event) {
			return wasiInvalid
		}
	}
	return stored(mem.WriteUint32Le(uint32(a[3]), n))
}

// wasiExit notes that the module wants to end. It does at the next tick, if it does not before.
func wasiExit(in *Instance, _ api.Memory, a []uint64) uint32 {
	code := uint32(a[0])
	in.exit = &code
	return wasiOK
}

func wasiRandom(in *Instance, mem api.Memory, a []uint64) uint32 {
	b, ok := mem.Read(uint32(a[0]), uint32(a[1]))
	if !ok {
		return wasiInvalid
	}
	if in.random == nil {
		in.random = rand.NewChaCha8([32]byte{})
	}
	in.random.Read(b)
	return wasiOK
}
