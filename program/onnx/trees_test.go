package onnx

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"thole.example/program"
	"thole.example/tree"
)

// grown is an ensemble of nodes of all kinds, with thresholds that values of rows hit.
func grown(r *rand.Rand, link tree.Link) *tree.Ensemble {
	e := &tree.Ensemble{Objective: tree.Objective{Name: "test", Link: link}, Classes: 1, Mean: r.IntN(4) == 0, Single: r.IntN(4) == 0}
	if e.Numbers = tree.Numbers(r.IntN(3)); e.Single { // as only XGBoost's are
		e.Numbers = tree.Float32
	}
	if link == tree.Softmax || link == tree.Each {
		e.Classes = 3
	}
	if link == tree.Each || link == tree.Logistic {
		e.Objective.Sigmoid = []float64{0, 0.5}[r.IntN(2)]
	}
	for range e.Classes {
		e.Start = append(e.Start, r.NormFloat64())
	}
	for range 1 + r.IntN(7) {
		e.Features.Add(tree.Feature{Name: "f"})
	}
	rounds := r.IntN(6)
	e.Group = e.Classes * (1 + r.IntN(2))
	e.Best = r.IntN(rounds + 1)
	for i := range rounds * e.Group {
		e.Trees = append(e.Trees, grow(r, 1+r.IntN(12), e.Features.Width, i%e.Classes))
	}
	return e
}

func grow(r *rand.Rand, leaves, features, class int) tree.Tree {
	n := leaves - 1
	t := tree.Tree{Class: class, Left: make([]int32, n), Right: make([]int32, n), Gain: make([]float64, n), Value: make([]float64, n),
		Weight: make([]float64, n), Count: make([]int64, n), LeafWeight: make([]float64, leaves), LeafCount: make([]int64, leaves)}
	var open []*int32 // where a child is to be named
	for i := range n {
		if i > 0 {
			k := r.IntN(len(open))
			*open[k] = int32(i)
			open = append(open[:k], open[k+1:]...)
		}
		open = append(open, &t.Left[i], &t.Right[i])
		t.Feature = append(t.Feature, int32(r.IntN(features)))
		kinds := []tree.Kind{0, tree.NaNMissing, tree.NaNMissing | tree.DefaultLeft, tree.ZeroMissing, tree.ZeroMissing | tree.DefaultLeft,
			tree.DefaultLeft, tree.Categorical, tree.Categorical | tree.NaNMissing | tree.DefaultLeft}
		k := kinds[r.IntN(len(kinds))]
		t.Kind = append(t.Kind, k)
		if k&tree.Categorical == 0 {
			t.Threshold = append(t.Threshold, threshold(r))
			continue
		}
		if t.Bounds == nil {
			t.Bounds = []int32{0}
		}
		t.Threshold = append(t.Threshold, float64(len(t.Bounds)-1))
		for range r.IntN(4) {
			t.Words = append(t.Words, r.Uint32()&r.Uint32())
		}
		t.Bounds = append(t.Bounds, int32(len(t.Words)))
	}
	for i := range leaves {
		t.LeafValue = append(t.LeafValue, r.NormFloat64())
		if len(open) > 0 {
			*open[i] = ^int32(i)
		}
	}
	return t
}

func threshold(r *rand.Rand) float64 {
	v := cell(r)
	switch {
	case v != v:
		return 0.1
	case r.IntN(2) == 0:
		return math.Nextafter(v, math.Inf(1-2*r.IntN(2))) // between two of float32
	}
	return v
}

// cell is a value of a row: a few of them, which are equal often.
func cell(r *rand.Rand) float64 {
	all := []float64{math.NaN(), 0, math.Copysign(0, -1), tree.ZeroMost, -tree.ZeroMost, 1e-35, 1600000000, 1600000001, 1e39, -1e300, 1.1e-35, 1e-45, 0.1, 0.5, -0.5, -1, -3, 2.5,
		31, 32, 63, 64, 95, 1000, 1e9, 2147483648, 1e30, math.MaxFloat32, -math.MaxFloat32, math.Inf(1), math.Inf(-1)}
	if k := r.IntN(2 * len(all)); k < len(all) {
		return all[k]
	}
	return float64(r.IntN(100))
}

func cells(r *rand.Rand, rows int, e *tree.Ensemble) [][]float64 {
	all := make([][]float64, rows)
	for i := range all {
		for range e.Features.Width {
			v := cell(r)
			if e.Numbers == tree.Float32 { // such are fed
				v = float64(float32(v))
			}
			all[i] = append(all[i], v)
		}
	}
	return all
}

func encodeTrees(t testing.TB, e *tree.Ensemble, meta map[string]string) []byte {
	t.Helper()
	m, err := NewTrees(e, meta)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := m.Write(context.Background(), &buf, nil); err != nil || int64(buf.Len()) != m.Size() {
		t.Fatalf("%d bytes, said %d, %v", buf.Len(), m.Size(), err)
	}
	return buf.Bytes()
}

// expect is what the outputs are to be, in the manner of Score and Predict of the ensemble.
func expect(e *tree.Ensemble, rows [][]float64) map[string][][]float64 {
	want := map[string][][]float64{}
	for _, row := range rows {
		score := make([]float64, e.Classes)
		e.Score(row, score)
		p := append([]float64(nil), score...)
		e.Objective.Predict(p)
		want[scoreOutput], want[predictionOutput] = append(want[scoreOutput], score), append(want[predictionOutput], p)
		switch e.Objective.Link {
		case tree.Logistic:
			want[probabilitiesOutput] = append(want[probabilitiesOutput], []float64{1 - p[0], p[0]})
		case tree.Softmax, tree.Each:
			want[probabilitiesOutput] = append(want[probabilitiesOutput], p)
		}
	}
	return want
}

func compare(t interface{ Errorf(string, ...any) }, who string, e *tree.Ensemble, rows [][]float64, got map[string][][]float64) {
	want := expect(e, rows)
	if len(got) != len(want) {
		t.Errorf("%s: %d outputs, want %d", who, len(got), len(want))
	}
	tol := 1e-12
	if e.Single { // the order of the sum may differ
		tol = 1e-6
	}
	for name, all := range want {
		if len(got[name]) != len(all) {
			t.Errorf("%s: %s has %d rows, want %d", who, name, len(got[name]), len(all))
			continue
		}
		for i, row := range all {
			for c, v := range row {
				if g := got[name][i][c]; !(math.Abs(g-v) <= tol*(1+math.Abs(v))) || len(got[name][i]) != len(row) {
					t.Errorf("%s: %s of %v is %v, want %v (%s)", who, name, rows[i], got[name][i], row, e.Objective.Link)
					return
				}
			}
		}
	}
}

// TestTrees runs the nodes of models by their definitions.
func TestTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		e := grown(r, rapid.SampledFrom(tree.Links()).Draw(t, "link"))
		if err := e.Check(); err != nil {
			t.Fatal(err)
		}
		m, err := NewTrees(e, nil)
		if err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		if err := m.Write(context.Background(), &buf, nil); err != nil {
			t.Fatal(err)
		}
		rows := cells(r, 20, e)
		compare(t, "nodes", e, rows, evaluate(t, buf.Bytes(), rows, e.Numbers == tree.Float32))
	})
}

// TestTreesStructure: the nodes of a model in which every way of seeing a feature occurs.
func TestTreesStructure(t *testing.T) {
	e := &tree.Ensemble{Objective: tree.Objective{Name: "binary", Link: tree.Logistic}, Classes: 1, Group: 1, Start: []float64{0.25}, Numbers: tree.Float32,
		Features: tree.FeaturesOf(tree.Feature{Name: "a"}, tree.Feature{Name: "b"}),
		Trees: []tree.Tree{{Feature: []int32{0, 1, 1, 0}, Threshold: []float64{0.5, 0, 1.5, 2.5}, Kind: []tree.Kind{0, tree.Categorical,
			tree.NaNMissing | tree.DefaultLeft, tree.ZeroMissing}, Left: []int32{1, 2, 3, ^0}, Right: []int32{^4, ^3, ^2, ^1},
			Gain: make([]float64, 4), Value: make([]float64, 4), Weight: make([]float64, 4), Count: make([]int64, 4),
			LeafValue: []float64{1, 2, 3, 4, 5}, LeafWeight: make([]float64, 5), LeafCount: make([]int64, 5),
			Bounds: []int32{0, 2}, Words: []uint32{2, 1}}}}
	g := graphOf(t, encodeTrees(t, e, nil))
	var kinds []string
	for _, n := range g.nodes {
		kinds = append(kinds, n.kind)
	}
	if got, want := strings.Join(kinds, " "), "Gather Gather IsNaN Where Gather Abs LessOrEqual Where Gather GreaterOrEqual Less And IsNaN Where "+
		"Where Cast Gather Cast Concat Cast TreeEnsemble Add Identity Sigmoid Neg Sigmoid Concat"; got != want {
		t.Errorf("nodes %s, want %s", got, want)
	}
	a := g.nodes[20].attrs
	for name, want := range map[string][]float64{"nodes_modes": {0, 0, 0, 0}, "nodes_splits": {0.5, 0, 1.5, 2.5}, "leaf_weights": {1, 2, 3, 4, 5},
		"nodes_featureids": {1, 3, 0, 2}, "nodes_missing_value_tracks_true": {0, 0, 1, 0},
		"nodes_truenodeids": {1, 2, 3, 0}, "nodes_falsenodeids": {4, 3, 2, 1}, "nodes_trueleafs": {0, 0, 0, 1}, "nodes_falseleafs": {1, 1, 1, 1},
		"leaf_targetids": {0, 0, 0, 0, 0}, "tree_roots": {0}, "n_targets": {1}, "aggregate_function": {1}, "post_transform": {0}} {
		if got := a[name]; len(got) != len(want) || !equal(got, want) {
			t.Errorf("%s %v, want %v", name, got, want)
		}
	}
}

func equal(a, b []float64) bool {
	for i, v := range a {
		if v != b[i] && (v == v || b[i] == b[i]) {
			return false
		}
	}
	return true
}

// TestFloor: numbers of float32 are at most the floor if they are at most the number.
func TestFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64().Draw(t, "limit")
		f := floor(limit, program.VarType_FP32)
		near := float32(limit)
		for _, v := range []float32{near, math.Nextafter32(near, -math.MaxFloat32), math.Nextafter32(near, math.MaxFloat32),
			rapid.Float32().Draw(t, "value"), float32(math.Inf(1)), float32(math.Inf(-1))} {
			if got, want := v <= float32(f), float64(v) <= limit; got != want || f != float64(float32(f)) {
				t.Fatalf("%v <= %v is %v, and <= %v is %v", v, f, got, limit, want)
			}
		}
	})
}

// TestTreesRefuse: what no file is made of, and nothing large is made on the way.
func TestTreesRefuse(t *testing.T) {
	leaf := tree.Tree{LeafValue: []float64{1}, LeafWeight: []float64{1}, LeafCount: []int64{1}}
	of := func(trees ...tree.Tree) *tree.Ensemble {
		return &tree.Ensemble{Objective: tree.Objective{Link: tree.Identity}, Classes: 1, Group: 1, Start: []float64{0},
			Features: tree.FeaturesOf(tree.Feature{Name: "a"}), Trees: trees}
	}
	none := of(leaf)
	none.Features = tree.Features{}
	wrong := of(leaf)
	wrong.Start = nil
	for want, c := range map[string]struct {
		e  *tree.Ensemble
		is error
	}{
		"trees of no features":            {none, nil},
		"0 start scores":                  {wrong, tree.ErrTrees},
		"4097 splits deep, want at most ": {of(chain(4097, 0)), nil},
		"trees of at least 2":             {of(chain(150, 1<<24)), ErrSize},
	} {
		_, err := NewTrees(c.e, nil)
		if err == nil || !strings.Contains(err.Error(), want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := NewTrees(of(chain(4096, 0)), nil); err != nil {
		t.Error(err)
	}
}

// chain is a tree as deep as it has splits, each of a threshold or, if there are levels, of a set: the first of all levels, the others of
// few.
func chain(n, levels int) tree.Tree {
	t := tree.Tree{Gain: make([]float64, n), Value: make([]float64, n), Weight: make([]float64, n), Count: make([]int64, n), Kind: make([]tree.Kind, n),
		Feature: make([]int32, n), LeafValue: make([]float64, n+1), LeafWeight: make([]float64, n+1), LeafCount: make([]int64, n+1)}
	for i := range n {
		t.Threshold = append(t.Threshold, float64(i))
		t.Left, t.Right = append(t.Left, ^int32(i)), append(t.Right, int32(i+1))
	}
	t.Right[n-1] = ^int32(n)
	if levels == 0 {
		return t
	}
	t.Bounds, t.Words = []int32{0, int32(levels / 32)}, slices.Repeat([]uint32{math.MaxUint32}, levels/32)
	for i := range n {
		if t.Kind[i] = tree.Categorical; i > 0 {
			t.Words = append(t.Words, uint32(i))
			t.Bounds = append(t.Bounds, int32(len(t.Words)))
		}
	}
	return t
}
