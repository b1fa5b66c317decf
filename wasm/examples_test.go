package wasm

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newRuntime(t testing.TB) *Runtime {
	t.Helper()
	r, err := NewRuntime(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func compile(t testing.TB, r *Runtime, name string, module []byte) *Module {
	t.Helper()
	m, err := r.Compile(t.Context(), name, module, Limits{Time: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func instance(t testing.TB, m *Module, arg string) *Instance {
	t.Helper()
	in, err := m.New(t.Context(), []byte(arg))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)
	return in
}

// affine is the example in C, built by the command in its source.
func affine(t testing.TB) []byte {
	b, err := os.ReadFile("../examples/functions/affine/affine.wasm")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// moments builds the example in Go, once.
var moments = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "moments")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "moments.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s", "-o", file, "../examples/functions/moments")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, &exec.Error{Name: string(out), Err: err}
	}
	return os.ReadFile(file)
})

func testAffine[T Elem](t *testing.T, m *Module) {
	in := instance(t, m, `{"a": 3, "b": -2}`)
	x := make([]T, 2*ChunkLimit+5)
	want := make([]T, len(x))
	for i := range x {
		x[i] = T(i - 100)
		want[i] = 3*x[i] - 2
	}
	dst := make([]T, len(x))
	if err := Map(t.Context(), in, dst, [][]T{x}, 7, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(dst, want) {
		t.Errorf("%v..., want %v...", dst[:5], want[:5])
	}
	cols := make([]int64, len(x))
	if err := Map(t.Context(), in, x, [][]T{x}, 0, cols); err != nil || !slices.Equal(x, want) {
		t.Errorf("in place: %v..., %v, want %v...", x[:5], err, want[:5])
	}
}

func TestExampleInC(t *testing.T) {
	m := compile(t, newRuntime(t), "affine", affine(t))
	if d, want := m.Describe(), (Description{Name: "affine", Help: "a*x + b", Kind: KindMap, Rows: 1}); d != want {
		t.Errorf("it says that it is %+v, want %+v", d, want)
	}
	testAffine[float64](t, m)
	testAffine[float32](t, m)
	testAffine[int64](t, m)
	testAffine[int32](t, m)
	for arg, want := range map[string]string{
		`{"c": 1}`: "the argument has another name than a and b", `{"a": true}`: "something else than a number",
	} {
		if _, err := m.New(t.Context(), []byte(arg)); err == nil || !strings.Contains(err.Error(), "wasm: affine: thole_begin: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
}

func testMoments[T Elem](t *testing.T, m *Module) {
	var parts [][]byte
	var all []float64
	for p := range 3 {
		in := instance(t, m, "")
		for row := range int64(p + 1) {
			x := make([]T, 1000*p+3)
			for i := range x {
				x[i] = T((i*i + int(row)) % 101)
				all = append(all, float64(x[i]))
			}
			if err := Add(t.Context(), in, row, [][]T{x}, 0, nil); err != nil {
				t.Fatal(err)
			}
		}
		part, err := in.End(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	got, err := m.Merge(t.Context(), nil, parts)
	if err != nil {
		t.Fatal(err)
	}
	var mean, variance float64
	for _, v := range all {
		mean += v / float64(len(all))
	}
	for _, v := range all {
		variance += (v - mean) * (v - mean) / float64(len(all))
	}
	var said struct{ Count, Mean, Variance float64 }
	decode(t, got, &said)
	if int(said.Count) != len(all) || math.Abs(said.Mean-mean) > 1e-9 || math.Abs(said.Variance-variance) > 1e-6 {
		t.Errorf("%s, want %d, %v, %v", got, len(all), mean, variance)
	}
}

func TestExampleInGo(t *testing.T) {
	module, err := moments()
	if err != nil {
		t.Fatal(err)
	}
	m := compile(t, newRuntime(t), "moments", module)
	if d := m.Describe(); d.Kind != KindGet || d.Rows != 1 || d.Name != "moments" {
		t.Errorf("it says that it is %+v", d)
	}
	testMoments[float64](t, m)
	testMoments[int32](t, m)
	if _, err := m.Merge(t.Context(), nil, [][]byte{make([]byte, 23)}); err == nil ||
		!strings.Contains(err.Error(), "wasm: moments: thole_merge: a part of 23 bytes, want 24") {
		t.Errorf("a part of 23 bytes: %v", err)
	}
}
