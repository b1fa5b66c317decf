package main

import (
	"encoding/json"
	"strings"
	"testing"

	"thole.example/gbdt"
	"thole.example/tree"
)

// grownSome is a checkpoint of two iterations of a tree of one leaf each, after a tree of another training, and its files.
func grownSome(t testing.TB) (*growth, *tree.Ensemble, map[string][]byte) {
	t.Helper()
	leaf := func(v float64) tree.Tree {
		return tree.Tree{LeafValue: []float64{v}, LeafWeight: []float64{1}, LeafCount: []int64{1}}
	}
	e := &tree.Ensemble{Objective: tree.Objective{Name: "l2"}, Classes: 1, Group: 1, Start: []float64{0.5},
		Features: tree.FeaturesOf(tree.Feature{Name: "x"}), Trees: []tree.Tree{leaf(1), leaf(0.1), leaf(0.3)}}
	g := newGrowth(&gbdt.Grown{Model: e, Trees: []tree.Tree{leaf(0.2), leaf(0.3)}, Values: []float64{2, 1}}, []float64{4, 3},
		[]fact{{"--depth", "6"}}, true)
	text, err := e.JSON()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{tree.FileName: text, jobFileName: []byte("algo: gbdt\n")}
	if files[growthFile], err = g.text(e, files); err != nil {
		t.Fatal(err)
	}
	return g, e, files
}

// TestGrowth: what is written is read, with the values that trees were grown with; what was changed in any part is refused.
func TestGrowth(t *testing.T) {
	_, e, files := grownSome(t)
	g, err := parseGrowth(e, files)
	if err != nil {
		t.Fatal(err)
	}
	grown, err := g.restore(e)
	if err != nil || len(grown.Trees) != 2 || grown.Trees[0].LeafValue[0] != 0.2 || grown.Trees[1].LeafValue[0] != 0.3 ||
		len(grown.Values) != 2 || grown.Values[1] != 1 {
		t.Errorf("read %+v, %v", grown, err)
	}
	for what, change := range map[string]func(e *tree.Ensemble, files map[string][]byte){
		"a leaf":   func(e *tree.Ensemble, _ map[string][]byte) { e.Trees[0].LeafValue[0]++ },
		"a count":  func(e *tree.Ensemble, _ map[string][]byte) { e.Trees[2].LeafCount[0]++ },
		"the job":  func(_ *tree.Ensemble, files map[string][]byte) { files[jobFileName][0]++ },
		"a file":   func(_ *tree.Ensemble, files map[string][]byte) { files["more"] = nil },
		"a value":  func(_ *tree.Ensemble, files map[string][]byte) { replace(files, `"values":[2`, `"values":[3`) },
		"a fact":   func(_ *tree.Ensemble, files map[string][]byte) { replace(files, `"value":"6"`, `"value":"7"`) },
		"the sum":  func(_ *tree.Ensemble, files map[string][]byte) { replace(files, `"sum":"`, `"sum":"f`) },
		"a name":   func(_ *tree.Ensemble, files map[string][]byte) { replace(files, `"losses"`, `"loss"`) },
		"no text":  func(_ *tree.Ensemble, files map[string][]byte) { delete(files, growthFile) },
		"half":     func(_ *tree.Ensemble, files map[string][]byte) { files[growthFile] = files[growthFile][:40] },
		"a number": func(_ *tree.Ensemble, files map[string][]byte) { replace(files, `"iterations":2`, `"iterations":1e99`) },
	} {
		_, e, files := grownSome(t)
		change(e, files)
		if _, err := parseGrowth(e, files); err == nil {
			t.Errorf("with another %s it was read", what)
		}
	}
}

func replace(files map[string][]byte, old, by string) {
	files[growthFile] = []byte(strings.Replace(string(files[growthFile]), old, by, 1))
}

// TestGrowthRefused: numbers that do not fit the trees, with a sum that is right.
func TestGrowthRefused(t *testing.T) {
	for want, change := range map[string]func(g *growth){
		"4 iterations after 1 trees with 2 values":  func(g *growth) { g.Iterations = 4 },
		"2 iterations after 0 trees with 2 values":  func(g *growth) { g.Before = 0 },
		"2 iterations after 1 trees with 1 values":  func(g *growth) { g.Values = g.Values[:1] },
		"-2 iterations after 1 trees":               func(g *growth) { g.Iterations = -2 },
		"values of fewer leaves or nodes":           func(g *growth) { g.Leaves = g.Leaves[:8] },
		"values of more leaves or nodes than there": func(g *growth) { g.Nodes = make([]byte, 8) },
	} {
		g, e, _ := grownSome(t)
		change(g)
		if _, err := g.restore(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// FuzzGrowth: a text beside trees is refused, or says of them what they are.
func FuzzGrowth(f *testing.F) {
	_, e, files := grownSome(f)
	f.Add(files[growthFile])
	f.Add([]byte(`{"iterations":3,"values":[1,2,null],"leaves":"AAAA"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := parseGrowth(e, map[string][]byte{growthFile: text, tree.FileName: files[tree.FileName]}); err == nil {
			t.Log("the sum is right")
		}
		g := &growth{}
		if json.Unmarshal(text, g) != nil {
			return
		}
		if grown, err := g.restore(e); err == nil && (len(grown.Trees) != g.Iterations || len(grown.Values) != g.Iterations) {
			t.Errorf("%d trees and %d values of %d iterations", len(grown.Trees), len(grown.Values), g.Iterations)
		}
	})
}
