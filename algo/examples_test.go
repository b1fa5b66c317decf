package algo

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"thole.example/graph"
)

// TestExampleGraphs wants the networks of examples/graphs to be all of the grammar, to build, and what is written of them to build
// the same.
func TestExampleGraphs(t *testing.T) {
	names, err := filepath.Glob("../examples/graphs/*.json")
	if err != nil || len(names) < 7 {
		t.Fatalf("%d examples (%v)", len(names), err)
	}
	want := map[string]string{"fm.json": "fm", "wide-and-deep.json": "wdl", "deepfm.json": "deepfm", "nfm.json": "nfm", "pnn.json": "pnn", "lr-ftrl.json": "lr"}
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := graph.ParseJSON(src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(f.Unknown)+len(f.Respelt) > 0 {
			t.Errorf("%s: keys %v %v", name, f.Unknown, f.Respelt)
		}
		recipe, err := Own(f, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m, err := recipe.Build(Conf{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if algorithm := want[filepath.Base(name)]; algorithm != "" && recipe.Name != algorithm {
			t.Errorf("%s is taken for %s, want %s", name, recipe.Name, algorithm)
		}
		back, err := graph.ParseJSON(m.JSON())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := Compose(back, Conf{Rate: back.Train.LR})
		if err != nil || !bytes.Equal(again.JSON(), m.JSON()) {
			t.Errorf("%s: %v; back:\n%s", name, err, m.JSON())
		}
	}
}
