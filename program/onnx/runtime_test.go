package onnx

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"thole.example/tree"
)

// runner has ONNX Runtime run every model of a folder: of N.onnx the rows N.f64 become N.score.f64 and so on.
const runner = `
import glob, sys, numpy, onnx, onnxruntime
for path in sorted(glob.glob(sys.argv[1] + "/*.onnx")):
    name = path[:-5]
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path)
    fed = session.get_inputs()[0]
    rows = numpy.fromfile(name + ".f64", numpy.float64).reshape(-1, fed.shape[1])
    rows = rows.astype({"tensor(float)": numpy.float32, "tensor(double)": numpy.float64}[fed.type])
    outputs = [o.name for o in session.get_outputs()]
    for output, values in zip(outputs, session.run(outputs, {fed.name: rows})):
        assert values.dtype == numpy.float64, values.dtype
        values.tofile(name + "." + output + ".f64")
`

// TestTreesRuntime compares what ONNX Runtime says of models with what their ensembles do. PYTHON names a python that has it.
func TestTreesRuntime(t *testing.T) {
	python := cmp.Or(os.Getenv("PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import onnx, onnxruntime").Run(); err != nil {
		t.Skipf("no onnx and onnxruntime for %s (PYTHON=...): %v", python, err)
	}
	dir := t.TempDir()
	at := func(i int, ending string) string { return filepath.Join(dir, fmt.Sprint(i)+ending) }
	r := rand.New(rand.NewPCG(5, 8))
	var all []*tree.Ensemble
	var fed [][][]float64
	for i := range 160 {
		e := grown(r, tree.Links()[i%len(tree.Links())])
		rows := 50
		if i%20 == 7 { // it adds up in threads
			for i := range 300 * e.Group {
				e.Trees = append(e.Trees, grow(r, 31, e.Features.Width, i%e.Classes))
			}
			e.Best, rows = 0, []int{1, 3, 500}[r.IntN(3)]
		}
		all, fed = append(all, e), append(fed, cells(r, rows, e))
	}
	for i, e := range all {
		raw, err := binary.Append(nil, binary.LittleEndian, flat(fed[i]))
		if err != nil {
			t.Fatal(err)
		}
		for ending, data := range map[string][]byte{".onnx": encodeTrees(t, e, map[string]string{"a": "b"}), ".f64": raw} {
			if err := os.WriteFile(at(i, ending), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	if out, err := exec.Command(python, "-c", runner, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, e := range all {
		got := map[string][][]float64{}
		for name := range expect(e, fed[i][:1]) {
			raw, err := os.ReadFile(at(i, "."+name+".f64"))
			if err != nil {
				t.Fatal(err)
			}
			cols := len(raw) / 8 / len(fed[i])
			for row := range len(fed[i]) {
				var values []float64
				for c := range cols {
					values = append(values, math.Float64frombits(le(raw[(row*cols+c)*8:])))
				}
				got[name] = append(got[name], values)
			}
		}
		compare(t, fmt.Sprintf("model %d (mean %v, single %v)", i, e.Mean, e.Single), e, fed[i], got)
	}
}

func flat(rows [][]float64) (all []float64) {
	for _, row := range rows {
		all = append(all, row...)
	}
	return all
}
