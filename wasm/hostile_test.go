package wasm

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var small = Limits{Memory: 4 << 20, Time: 50 * time.Millisecond, Result: 1 << 10}

// tooLong is the error of a call beyond small.Time. On a machine with much else to do it may be that of an earlier call than the
// one that loops.
const tooLong = ": it took longer than 50ms"

// quiet is a time that is enough on a machine that has much else to do.
const quiet = 20 * time.Second

// callAll compiles a module and calls its map, or what it has of a get function.
func callAll(ctx context.Context, r *Runtime, s *source, l Limits) error {
	m, err := r.Compile(ctx, "f", s.bytes(), l)
	if err != nil {
		return err
	}
	defer m.Close()
	in, err := m.New(ctx, []byte("{}"))
	if err != nil {
		return err
	}
	defer in.Close()
	x := make([]float64, 10)
	if m.Describe().Kind == KindMap {
		if err := Map(ctx, in, x, [][]float64{x}, 0, nil); err != nil {
			if again := Map(ctx, in, x, [][]float64{x}, 0, nil); again == nil {
				return nil // a broken instance works
			}
			return err
		}
	}
	if m.c.has[exportChunk] {
		if err := Add(ctx, in, 0, [][]float64{x}, 0, nil); err != nil {
			return err
		}
		if _, err := in.End(ctx); err != nil {
			return err
		}
		_, err = m.Merge(ctx, nil, [][]byte{{1}, nil})
	}
	return err
}

// Whatever a module does, the call ends with an error that says what, and the next module works.
func TestHostileModules(t *testing.T) {
	recursion := []byte{opCall, 4}                              // function 4: the first behind the four of every module
	twice := append([]byte{0x20, 0, 0x04, 0x40}, slices.Concat( // if n: f(n-1), f(n-1)
		[]byte{0x20, 0}, i32(1), []byte{0x6b, opCall, 4}, []byte{0x20, 0}, i32(1), []byte{0x6b, opCall, 4}, []byte{opEnd})...)
	grow := slices.Concat([]byte{0x03, 0x40}, i32(1), []byte{0x40, 0, 0x1a, 0x0c, 0, opEnd}, unreachable)
	for _, c := range []struct {
		name string
		s    *source
		l    Limits
		want string
	}{
		{"loop in map", module(fn{export: exportMap, code: forever}), small, tooLong},
		{"loop in abi", module(fn{export: exportABI, code: forever}), small, tooLong},
		{"loop in begin", module(fn{export: exportBegin, code: forever}), small, tooLong},
		{"loop in _initialize", module(fn{export: exportStart, code: forever}), small, tooLong},
		{"loop in start", func() *source {
			s := module(fn{code: forever})
			s.start = []byte{4}
			return s
		}(), small, tooLong},
		{"calls without a loop", module(fn{sig: signature{"i", ""}, code: twice},
			fn{export: exportMap, code: slices.Concat(i32(60), []byte{opCall, 4}, i32(0))}), small, tooLong},
		{"recursion", module(fn{code: recursion}, fn{export: exportMap, code: slices.Concat([]byte{opCall, 4}, i32(0))}),
			Limits{Time: quiet}, "f: thole_map: stack overflow"},
		{"loop that fills the memory", module(fn{export: exportMap, code: slices.Concat([]byte{0x03, 0x40}, i32(0), i32(1), i32(3<<16),
			[]byte{0xfc, 11, 0, 0x0c, 0, opEnd}, unreachable)}), small, tooLong},
		{"loop that grows", module(fn{export: exportMap, code: grow}), small, tooLong},
		{"trap", module(fn{export: exportMap, code: unreachable}), Limits{Time: quiet}, "f: thole_map: unreachable"},
		{"division by zero", module(fn{export: exportMap, code: slices.Concat(i32(1), i32(0), []byte{0x6d})}), Limits{Time: quiet},
			"f: thole_map: integer divide by zero"},
		{"outside memory", module(fn{export: exportMap, code: slices.Concat(i32(-8), []byte{0x28, 2, 0})}), Limits{Time: quiet},
			"f: thole_map: out of bounds memory access"},
		{"a code of its own", module(fn{export: exportMap, code: i32(-7)}), Limits{Time: quiet}, "f: thole_map: code -7"},
		{"no buffer", module(fn{export: exportBuffer, code: i32(0)}), Limits{Time: quiet}, "f: thole_buffer: it has no 2 bytes"},
		{"crooked buffer", module(fn{export: exportBuffer, code: i32(12)}), Limits{Time: quiet}, "address 12, want a multiple of 8"},
		{"buffer outside", module(fn{export: exportBuffer, code: i32(-8)}), Limits{Time: quiet},
			"f: thole_buffer: 2 bytes at address 4294967288, want them within the memory of 196608"},
		{"version 2", module(fn{export: exportABI, code: i32(2)}), Limits{Time: quiet}, "f: thole_abi: version 2, want 1"},
		{"large answer", get(fn{export: exportMap, code: i32(0)}, fn{export: exportEnd, code: slices.Concat(i64(2000))}),
			Limits{Time: quiet, Result: 1 << 10}, "f: thole_end: an answer of 2000 bytes, want at most 1024"},
		{"answer outside", get(fn{export: exportEnd, code: slices.Concat(i64(-1), i64(32), []byte{0x86}, i64(10), []byte{0x84})}),
			Limits{Time: quiet}, "f: thole_end: 10 bytes at address 4294967295, want them within the memory of 196608"},
		{"failed end", get(fn{export: exportEnd, code: i64(-1)}), Limits{Time: quiet}, "f: thole_end: it failed"},
		{"failed merge", get(fn{export: exportMerge, code: i64(-1)}), Limits{Time: quiet}, "f: thole_merge: it failed"},
		{"nonsense of itself", module(fn{export: exportDescribe, code: i64(4)}), Limits{Time: quiet}, "f: thole_describe: invalid character"},
		{"error of its error", module(fn{export: exportMap, code: i32(1)}, fn{export: exportError, code: i64(-1)}), Limits{Time: quiet},
			"f: thole_map: code 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRuntime(t)
			err := callAll(t.Context(), r, c.s, c.l)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if err := callAll(t.Context(), r, get(), Limits{Time: quiet}); err != nil {
				t.Errorf("the next module: %v", err)
			}
		})
	}
}

// Memory and tables grow up to their limits and not beyond, whatever the module says of itself.
func TestGrowthEnds(t *testing.T) {
	grown := func(op []byte) fn { // grows until it cannot, and answers with how often it could
		return fn{export: exportMap, locals: 1, code: slices.Concat([]byte{0x03, 0x40}, op,
			i32(-1), []byte{0x47, 0x04, 0x40, 0x20, 5}, i32(1), []byte{0x6a, 0x21, 5, 0x0c, 1, opEnd, opEnd, 0x20, 5})}
	}
	r := newRuntime(t)
	memory := slices.Concat(i32(1), []byte{0x40, 0})
	table := slices.Concat([]byte{0xd0, typeFunc}, i32(10_000), []byte{0xfc, 15, 0})
	s := module(grown(table))
	s.table = []byte{0, 0}
	wide := module(grown(memory))
	wide.memory = []byte{1, 3, 0x80, 0x80, 4} // to 65536 pages
	for _, c := range []struct {
		s    *source
		want string
	}{
		{module(grown(memory)), "f: thole_map: code 61"}, // 64 pages are 4 MiB; 3 are there
		{wide, "f: thole_map: code 61"},
		{s, "f: thole_map: code 10"},
	} {
		err := callAll(t.Context(), r, c.s, Limits{Memory: 4 << 20, Time: quiet})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// What is wrong with a module is said before the compiler sees it.
func TestCompileRefuses(t *testing.T) {
	r := newRuntime(t)
	good := module().bytes()
	with := func(change func(s *source)) []byte {
		s := module()
		change(s)
		return s.bytes()
	}
	blocks := slices.Concat(bytes.Repeat([]byte{0x02, 0x40}, 2000), bytes.Repeat([]byte{opEnd}, 2000), i32(0))
	for _, c := range []struct {
		name   string
		module []byte
		want   string
	}{
		{"empty", nil, "wasm: f does not begin as a WebAssembly module"},
		{"text", []byte("(module)"), "wasm: f does not begin as a WebAssembly module"},
		{"large", make([]byte, 9<<20), "wasm: f has 9437184 bytes, want at most 8388608"},
		{"cut", good[:len(good)-1], "bytes remain, want"},
		{"a section again", append(slices.Clone(good), 1, 1, 0), "section 1 again or out of order"},
		{"a strange section", append(slices.Clone(good), 77, 0), "section 77, want 0 to 12"},
		{"another import", []byte(header + "\x01\x04\x01\x60\x00\x00\x02\x09\x01\x03env\x01f\x00\x00"), `import of "f" from "env", want only`},
		{"no abi", with(func(s *source) { s.funcs[0].export = "x" }), "f: it does not export thole_abi"},
		{"no memory", with(func(s *source) { s.memory = nil }), "f: it does not export its memory"},
		{"no function", with(func(s *source) { s.funcs[3].export = "x" }), "exports neither thole_map nor thole_chunk"},
		{"half a get", module(fn{export: exportEnd, code: i64(0)}).bytes(), "exports some of thole_chunk, thole_end and thole_merge"},
		{"of a later version", module(fn{export: "thole_x"}).bytes(), "it exports thole_x, which is not of version 1"},
		{"another type", module(fn{export: exportMap, sig: signature{"i", "i"}, code: i32(0)}).bytes(),
			"thole_map has the type (i) -> (i), want (iiiIi) -> (i)"},
		{"much memory", with(func(s *source) { s.memory = []byte{0, 0x80, 0x20} }), "a memory's pages of 4096, want at most 1024"},
		{"shared memory", with(func(s *source) { s.memory = []byte{3, 1, 1} }), "a memory's pages with flags 0x3, want 0 or 1"},
		{"a large table", with(func(s *source) { s.table = []byte{0, 0x80, 0x80, 0x80, 1} }), "a table's entries of 2097152, want at most 100000"},
		{"many variables", module(fn{export: exportMap, locals: 1 << 31, code: i32(0)}).bytes(), "2147483648 variables of a function, want at most 5000"},
		{"many functions", with(func(s *source) { s.code = []byte{0xff, 0xff, 0xff, 0xff, 0x0f} }), "4294967295 functions with code, want at most"},
		{"many data", with(func(s *source) { s.data = []byte{0x80, 0x80, 1} }), "16384 data segments in 0 bytes"},
		{"long data", with(func(s *source) { s.data = []byte{1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f} }), "0 bytes remain, want 4294967295"},
		{"a long function", module(fn{export: exportMap, code: append(bytes.Repeat([]byte{1}, 300<<10), i32(0)...)}).bytes(), "want at most 262144"},
		{"deep blocks", module(fn{export: exportMap, code: blocks}).bytes(), "more than 1000 blocks inside each other"},
		{"atomics", module(fn{export: exportMap, code: []byte{0xfe, 0, 2, 0}}).bytes(), "instruction 0xfe, which is not of WebAssembly 2.0"},
		{"no such function", module(fn{export: exportMap, code: []byte{opCall, 99}}).bytes(), "number 99 of 4 functions"},
		{"a wrong type inside", module(fn{export: exportMap, code: i64(0)}).bytes(), "wasm: f: "},
	} {
		if _, err := r.Compile(t.Context(), "f", c.module, Limits{Time: quiet}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	for cut := range good {
		if m, err := r.Compile(t.Context(), "f", good[:cut], Limits{Time: quiet}); err == nil {
			t.Errorf("cut to %d bytes, it compiles", cut)
			m.Close()
		}
	}
}

// A caller that goes away ends the function.
func TestCancel(t *testing.T) {
	r := newRuntime(t)
	m, err := r.Compile(t.Context(), "f", module(fn{export: exportMap, code: forever}).bytes(), Limits{Time: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	in := instance(t, m, "")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	x := []float64{1}
	go func() { done <- Map(ctx, in, x, [][]float64{x}, 0, nil) }()
	for range 3 { // a collection does not wait for a loop that never ends
		runtime.GC()
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}

// A runtime that closes ends what runs, and refuses what comes.
func TestRuntimeCloses(t *testing.T) {
	r, err := NewRuntime(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.Compile(t.Context(), "f", module(fn{export: exportMap, code: forever}).bytes(), Limits{Time: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	in := instance(t, m, "")
	done := make(chan error)
	x := []float64{1}
	go func() { done <- Map(t.Context(), in, x, [][]float64{x}, 0, nil) }()
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "the runtime is closed") {
		t.Errorf("%v, want that the runtime is closed", err)
	}
	if _, err := m.New(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "the runtime is closed") {
		t.Errorf("afterwards: %v", err)
	}
}
