package wasm

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// The functions of WASI have the types that compilers expect: those of the engine's own implementation.
func TestWASITypes(t *testing.T) {
	r := wazero.NewRuntime(t.Context())
	defer r.Close(t.Context())
	theirs, err := wasi_snapshot_preview1.NewBuilder(r).Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	functions := theirs.ExportedFunctions()
	for name, f := range functions {
		own := wasiFunctions[name]
		if own == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		want := signature{letters(f.ParamTypes()), letters(f.ResultTypes())}
		if got := (signature{own.params, map[bool]string{true: "i"}[own.result]}); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if len(functions) != len(wasiFunctions) {
		t.Errorf("%d functions, want %d", len(wasiFunctions), len(functions))
	}
}

// printing is a module that prints the text at address 16 and goes on with more code.
func printing(imports []string, more ...[]byte) *source {
	s := module()
	s.imports = imports
	iov := []byte{16, 0, 0, 0, 5, 0, 0, 0}
	s.data = slices.Concat([]byte{1, 0}, i32(0), []byte{opEnd, 21}, iov, make([]byte, 8), []byte("hello"))
	write := slices.Concat(i32(2), i32(0), i32(1), i32(8), []byte{opCall, 0, 0x1a})
	s.funcs[3].code = slices.Concat(write, slices.Concat(more...))
	return s
}

func TestWhatAModuleSays(t *testing.T) {
	r := newRuntime(t)
	two := []string{"fd_write", "proc_exit"}
	for want, s := range map[string]*source{
		"wasm: f: thole_map: unreachable; it said: hello":               printing(two, unreachable),
		"wasm: f: thole_map: it exited with code 3; it said: hello":     printing(two, i32(3), []byte{opCall, 1}, unreachable),
		"wasm: f: thole_map: it exited with code 4; it said: hello":     printing(two, i32(4), []byte{opCall, 1}, forever),
		"wasm: f: thole_map: it exited with code 0; it said: hello":     printing(two, i32(0), []byte{opCall, 1}, i32(0)),
		"wasm: f: thole_map: it exited with code 0; it said: hellohell": printing(two, i32(0), []byte{opCall, 1}, i32(0), many),
	} {
		err := callAll(t.Context(), r, s, Limits{Time: quiet})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if err != nil && len(err.Error()) > saidLimit+100 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	}
}

// many prints a thousand times more.
var many = bytes.Repeat(slices.Concat(i32(2), i32(0), i32(1), i32(8), []byte{opCall, 0, 0x1a}), 1000)

// A module sees the same clock and the same random values in every instance.
func TestSystemIsTheSameForAll(t *testing.T) {
	s := get(fn{export: exportEnd, code: slices.Concat(
		i32(64), i32(40), []byte{opCall, 1, 0x1a}, // random_get(64, 40)
		i32(0), i64(1), i32(104), []byte{opCall, 2, 0x1a}, // clock_time_get(0, 1, 104)
		i32(0), i64(1), i32(112), []byte{opCall, 2, 0x1a},
		i64(64), i64(32), []byte{0x86}, i64(56), []byte{0x84},
	)})
	s.imports = []string{"fd_write", "random_get", "clock_time_get"}
	m := compile(t, newRuntime(t), "f", s.bytes())
	var first []byte
	for i := range 3 {
		got, err := instance(t, m, "").End(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = got
		}
		if !bytes.Equal(got, first) || bytes.Equal(got[:40], make([]byte, 40)) || bytes.Equal(got[40:48], got[48:]) {
			t.Errorf("%x, want %x with random values and two times", got, first)
		}
	}
}

// Modules with the same bytes are compiled once, and those that nobody uses are forgotten first.
func TestKeptModules(t *testing.T) {
	r := newRuntime(t) // keeps 4
	ctx := t.Context()
	variant := func(i int32) []byte { return module(fn{export: "v", sig: signature{"", "i"}, code: i32(i)}).bytes() }
	a := compile(t, r, "a", variant(0))
	b := compile(t, r, "b", variant(0))
	if a.c != b.c {
		t.Error("the same bytes were compiled twice")
	}
	other, err := r.Compile(ctx, "c", variant(0), Limits{Memory: 2 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if other.c == a.c {
		t.Error("another limit of memory has the same code")
	}
	other.Close()
	other.Close() // counts once
	for i := range int32(10) {
		m, err := r.Compile(ctx, "v", variant(i+1), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		m.Close()
	}
	if len(r.kept) != 4 || !slices.Contains(r.kept, a.c) {
		t.Errorf("%d modules are kept, want 4 with the one in use", len(r.kept))
	}
	for i := range int32(3) {
		compile(t, r, "v", variant(i+1))
	}
	if _, err := r.Compile(ctx, "v", variant(9), Limits{}); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "4 modules are in use") {
		t.Errorf("a fifth module: %v", err)
	}
	if err := Map(ctx, instance(t, a, ""), []int32{1}, [][]int32{{1}}, 0, nil); err != nil {
		t.Error(err)
	}
}

// Instances of one module work at the same time.
func TestInstancesAtOnce(t *testing.T) {
	m := compile(t, newRuntime(t), "affine", affine(t))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { testAffine[float32](t, m) })
	}
	wg.Wait()
}

func TestMapRefuses(t *testing.T) {
	r := newRuntime(t)
	m := compile(t, r, "affine", affine(t))
	in := instance(t, m, "")
	one, two := []float64{1}, []float64{1, 2}
	_, noEnd := in.End(t.Context())
	_, noMerge := m.Merge(t.Context(), nil, nil)
	gets := instance(t, compile(t, r, "g", func() []byte { s := get(); s.funcs[3].export = "x"; return s.bytes() }()), "")
	for _, c := range []struct {
		err  error
		want string
	}{
		{Map(t.Context(), in, one, nil, 0, nil), "affine: thole_map: 0 rows, want 1"},
		{Map(t.Context(), in, one, [][]float64{one, one}, 0, nil), "2 rows, want 1"},
		{Map(t.Context(), in, one, [][]float64{two}, 0, nil), "2 cells in row 0, want 1"},
		{Map(t.Context(), in, one, [][]float64{one}, 0, []int64{1, 2}), "2 columns, want 1"},
		{Add(t.Context(), in, 0, [][]float64{one}, 0, nil), "affine: thole_chunk: the module does not export it"},
		{noEnd, "affine: thole_end: the module does not export it"},
		{noMerge, "affine: thole_merge: the module does not export it"},
		{Map(t.Context(), gets, one, [][]float64{one}, 0, nil), "g: thole_map: the module does not export it"},
		{Add[float64](t.Context(), gets, 0, nil, 0, nil), "g: thole_chunk: no rows, want 1"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want %s", c.err, c.want)
		}
	}
	if err := Map(t.Context(), in, one, [][]float64{one}, 0, nil); err != nil {
		t.Errorf("after errors of the caller: %v", err)
	}
	in.Close()
	if err := Map(t.Context(), in, one, [][]float64{one}, 0, nil); err == nil || !strings.Contains(err.Error(), "is closed") {
		t.Errorf("after Close: %v", err)
	}
}

// FuzzCompile changes modules: whatever they are, they are refused, or they run within their limits.
func FuzzCompile(f *testing.F) {
	f.Add(module().bytes())
	f.Add(get().bytes())
	f.Add(printing([]string{"fd_write", "proc_exit"}, forever).bytes())
	s := module(fn{export: exportMap, locals: 1, code: slices.Concat([]byte{0xd0, typeFunc}, i32(1), []byte{0xfc, 15, 0})})
	s.table = []byte{0, 1}
	f.Add(s.bytes())
	f.Add(affine(f))
	r, err := NewRuntime(f.Context(), 2)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, module []byte) {
		l := Limits{Memory: 1 << 20, Time: small.Time, Size: 16 << 10, Result: 1 << 10}
		m, err := r.Compile(t.Context(), "f", module, l)
		if err != nil {
			return
		}
		defer m.Close()
		in, err := m.New(t.Context(), nil)
		if err != nil {
			return
		}
		defer in.Close()
		rows := make([][]float32, m.Describe().Rows)
		for i := range rows {
			rows[i] = make([]float32, 100)
		}
		if m.c.has[exportMap] {
			_ = Map(t.Context(), in, rows[0], rows, 0, nil)
		}
		if m.c.has[exportChunk] {
			_ = Add(t.Context(), in, 0, rows, 0, nil)
			_, _ = in.End(t.Context())
		}
		if n := in.mem.Size(); n > 1<<20 {
			t.Errorf("%d bytes of memory, want at most %d", n, 1<<20)
		}
	})
}
