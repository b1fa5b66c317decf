package interp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"thole.example/blob"
	"thole.example/format/paddle"
	"thole.example/program"
)

// Files that another writer computed, and files that Paddle wrote.
const (
	goldenDir = "../../shared/golden/paddle"
	realDir   = "../../shared/paddle-real"
)

// load makes a machine of a stored model; the test skips where the folder is not there.
func load(t testing.TB, dir, path string) *Machine {
	t.Helper()
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no shared files: ", err)
	}
	ctx, b := context.Background(), blob.NewDir(dir)
	m, err := program.Load(ctx, b, path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := paddle.OpenParams(ctx, b, m)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	params, err := Params(ctx, r, m.Program)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := New(m.Program, params)
	if err != nil {
		t.Fatal(err)
	}
	return machine
}

// run feeds one input and gives the values of the only output.
func run(t testing.TB, m *Machine, x *Tensor) []float32 {
	t.Helper()
	got, err := m.Run(context.Background(), map[string]*Tensor{m.Inputs()[0].Name: x})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 {
		t.Fatalf("%d outputs, want one", len(got))
	}
	return got[0].Tensor.F
}

// TestHousing runs the model of Paddle's quick start on the input that its document shows.
func TestHousing(t *testing.T) {
	m := load(t, realDir, "uci_housing_model")
	ones := make([]float32, 13)
	for i := range ones {
		ones[i] = 1
	}
	shown := []float32{0.0137, -0.1136, 0.2553, -0.0692, 0.0582, -0.0727, -0.1583, -0.0584, 0.6283, 0.4919, 0.1856, 0.0795, -0.0332}
	for _, c := range []struct {
		x    []float32
		want float64
	}{{shown, 18.901151657104492}, {make([]float32, 13), 22.738298416137695}, {ones, float64(float32(9.47616481781))}} {
		if got := run(t, m, Floats(c.x, 1, 13)); len(got) != 1 || float64(got[0]) != c.want {
			t.Errorf("%v gives %v, want %v", c.x, float64(got[0]), c.want)
		}
	}
}

// TestGolden runs the golden models on the inputs that lie beside them.
func TestGolden(t *testing.T) {
	for _, path := range []string{"model_linear", "model_linear/__model__.noversion", "model_linear/__model__.compatmap",
		"model_linear/__model__.callstack", "model_mlp"} {
		m := load(t, goldenDir, path)
		dir := filepath.Join(goldenDir, path)
		if i, err := os.Stat(dir); err == nil && !i.IsDir() {
			dir = filepath.Dir(dir)
		}
		data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Feed      map[string][][]float32
			Fetch     [][]float32
			Tolerance float64
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		x := want.Feed["x"]
		var flat []float32
		for _, row := range x {
			flat = append(flat, row...)
		}
		got := run(t, m, Floats(flat, len(x), len(x[0])))
		k := 0
		for _, row := range want.Fetch {
			for _, v := range row {
				if math.Abs(float64(got[k]-v)) > want.Tolerance {
					t.Errorf("%s: output %d is %v, want %v", path, k, got[k], v)
				}
				k++
			}
		}
		if k != len(got) {
			t.Errorf("%s: %d values, want %d", path, len(got), k)
		}
	}
}

// TestCustomOperator names operators that no release of Paddle has either: of made programs, also within a loop, and of a model
// that Paddle saved where it is there.
func TestCustomOperator(t *testing.T) {
	within := program.Block{Parent: 0, Ops: []program.Op{op1("relu X=x > Out=x", 0), op1("our_blend X=x > Out=x", 0)}}
	programs := map[*program.Program][]Position{
		flowProgram([]program.Op{op1("relu X=x > Out=h", 0), op1("gap X=h > Out=y", 0)}): {{0, 2, "gap"}},
		flowProgram([]program.Op{op1("our_sort X=x > Out=x", 0), op1("equal X=x Y=x > Out=c", 0),
			op1("while Condition=c X=x > Out=x", 1)}, within): {{0, 1, "our_sort"}, {1, 1, "our_blend"}},
	}
	if _, err := os.Stat(realDir); err != nil {
		t.Logf("no shared files: %v", err)
	} else {
		m, err := program.Load(context.Background(), blob.NewDir(realDir), "custom_gap")
		if err != nil {
			t.Fatal(err)
		}
		programs[m.Program] = []Position{{0, 7, "gap"}}
	}
	for p, want := range programs {
		_, err := New(p, nil)
		var unknown *UnknownOpsError
		if !errors.As(err, &unknown) || !slices.Equal(unknown.Ops, want) {
			t.Errorf("%v, want %v to be named", err, want)
		}
	}
}
