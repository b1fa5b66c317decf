package main

import (
	"context"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"thole.example/blob"
	"thole.example/feature"
	"thole.example/format"
	"thole.example/format/all"
	"thole.example/format/trees"
	"thole.example/tree"
)

// stump is a tree that asks one thing: at or below the threshold it says low, else high.
func stump(class int, f int32, threshold, low, high float64) tree.Tree {
	return tree.Tree{Class: class, Feature: []int32{f}, Threshold: []float64{threshold}, Kind: []tree.Kind{tree.NaNMissing}, Left: []int32{^0},
		Right: []int32{^1}, Gain: []float64{4}, Value: []float64{(low + high) / 2}, Weight: []float64{8}, Count: []int64{20},
		LeafValue: []float64{low, high}, LeafWeight: []float64{4, 4}, LeafCount: []int64{10, 10}}
}

// binaryTrees ask for the number age and the level town; the second one of both.
func binaryTrees() *tree.Ensemble {
	second := tree.Tree{
		Feature: []int32{1, 0}, Threshold: []float64{0, 60.5}, Kind: []tree.Kind{tree.Categorical | tree.NaNMissing, tree.NaNMissing | tree.DefaultLeft},
		Left: []int32{1, ^0}, Right: []int32{^2, ^1}, Gain: []float64{8, 2}, Value: []float64{0.125, 0.25}, Weight: []float64{8, 6}, Count: []int64{20, 15},
		LeafValue: []float64{-0.25, 0.5, 0.75}, LeafWeight: []float64{4, 2, 2}, LeafCount: []int64{10, 5, 5},
		Bounds: []int32{0, 1}, Words: []uint32{1<<1 | 1<<2}, // Bath and Wells go left
	}
	return &tree.Ensemble{
		Objective: tree.Objective{Name: "binary", Link: tree.Logistic}, Classes: 1, Group: 1, Start: []float64{0.5},
		Features: tree.FeaturesOf(tree.Feature{Name: "age", Least: 1, Most: 90},
			tree.Feature{Name: "town", Categorical: true, Levels: []string{"(other)", "Bath", "Wells"}}, tree.Feature{Name: "spare"}),
		Trees: []tree.Tree{stump(0, 0, 30.5, -1, 1), second},
	}
}

// treeModels are models for scripts, by name.
func treeModels() map[string]func() (*tree.Ensemble, []feature.Column) {
	return map[string]func() (*tree.Ensemble, []feature.Column){
		// of a table, with its columns
		"table": func() (*tree.Ensemble, []feature.Column) {
			return binaryTrees(), []feature.Column{{Name: "age", Kind: feature.Numeric, Scale: feature.None}, {Name: "buys", Kind: feature.Label,
				Texts: true, Levels: feature.Texts{"no", "yes"}}, {Name: "town", Kind: feature.Categorical, Levels: feature.Texts{"Bath", "Wells"}},
				{Name: "spare", Kind: feature.Numeric, Scale: feature.None}}
		},
		// as another program has it: with the names of the features only
		"foreign": func() (*tree.Ensemble, []feature.Column) {
			e := binaryTrees()
			e.Origin = "LightGBM 4"
			e.Features.Set(1, tree.Feature{Name: "town", Categorical: true, Levels: []string{"Ely", "Bath", "Wells"}})
			return e, nil
		},
		// the first one with another threshold
		"changed": func() (*tree.Ensemble, []feature.Column) {
			e := binaryTrees()
			e.Trees[1].Threshold[1] = 61
			return e, nil
		},
		// of columns, of which XGBoost takes absent ones for missing
		"xgboost": func() (*tree.Ensemble, []feature.Column) {
			e := &tree.Ensemble{Objective: tree.Objective{Name: "reg:squarederror", Link: tree.Identity}, Classes: 1, Group: 1, Start: []float64{0},
				Features: tree.Features{Width: 40}, Trees: []tree.Tree{stump(0, 3, 0.5, -1, 1), stump(0, 5, 0.5, -2, 2)}, Origin: "XGBoost 3.2"}
			return e, nil
		},
		"ranking": func() (*tree.Ensemble, []feature.Column) {
			return &tree.Ensemble{Objective: tree.Objective{Name: "lambdarank", Link: tree.Identity}, Classes: 1, Group: 1, Start: []float64{0},
				Features: tree.Features{Width: 1}, Trees: []tree.Tree{stump(0, 0, 0.5, -1, 1)}}, nil
		},
		// the same, whose classes were called 3, 5 and 9
		"labelled": func() (*tree.Ensemble, []feature.Column) {
			e, _ := treeModels()["classes"]()
			e.Labels = []float32{3, 5, 9}
			return e, nil
		},
		// of an objective that is not known, with a leaf that is a tree
		"export": func() (*tree.Ensemble, []feature.Column) {
			e := &tree.Ensemble{
				Objective: tree.Objective{Name: "some", Link: tree.Logistic}, Classes: 1, Group: 1, Start: []float64{0.25},
				Features: tree.FeaturesOf(tree.Feature{Name: "age"}, tree.Feature{Name: "town", Categorical: true, Levels: []string{"", "Bath", "Wells"}}),
				Trees: []tree.Tree{{
					Feature: []int32{0, 1}, Threshold: []float64{30.5, 0}, Kind: []tree.Kind{tree.NaNMissing | tree.DefaultLeft, tree.Categorical},
					Left: []int32{1, ^0}, Right: []int32{^2, ^1}, Gain: make([]float64, 2), Value: make([]float64, 2), Weight: make([]float64, 2),
					Count: make([]int64, 2), LeafValue: []float64{-1, 0.5, 2}, LeafWeight: make([]float64, 3), LeafCount: make([]int64, 3),
					Bounds: []int32{0, 1}, Words: []uint32{4},
				}, {LeafValue: []float64{0.125}, LeafWeight: make([]float64, 1), LeafCount: make([]int64, 1)}},
			}
			return e, nil
		},
		"exponential": func() (*tree.Ensemble, []feature.Column) {
			e, _ := treeModels()["export"]()
			e.Objective.Link = tree.Exp
			return e, nil
		},
		// two iterations of three classes
		"classes": func() (*tree.Ensemble, []feature.Column) {
			e := &tree.Ensemble{Objective: tree.Objective{Name: "softmax", Link: tree.Softmax}, Classes: 3, Group: 3, Start: []float64{0, 0.5, 0},
				Features: tree.Features{Width: 4}}
			for i := range 6 {
				e.Trees = append(e.Trees, stump(i%3, int32(i%3), float64(i), 1, -1))
			}
			return e, nil
		},
	}
}

// makeTrees NAME PATH writes a model of trees, in the format of the ending or as a folder.
func makeTrees(ts *testscript.TestScript, _ bool, args []string) {
	e, columns := treeModels()[args[0]]()
	ts.Check(writeTrees(e, columns, ts.MkAbs(args[1])))
}

// writeTrees writes a model of trees to a path.
func writeTrees(e *tree.Ensemble, columns []feature.Column, path string) error {
	ctx := context.Background()
	files := map[string][]byte{}
	if columns != nil {
		t, err := feature.New(feature.MissingTexts(), columns)
		if err != nil {
			return err
		}
		if files[feature.FileName], err = t.JSON(); err != nil {
			return err
		}
	}
	r, err := trees.NewReader(e, files)
	if err != nil {
		return err
	}
	b, name, err := blob.Local(path)
	if err != nil {
		return err
	}
	codec, _, err := all.Codecs().ByExt(name)
	if err != nil {
		if codec, err = all.Codecs().Lookup("angel"); err != nil {
			return err
		}
	}
	return format.Convert(ctx, r, codec, b, name, format.Options{}, nil, nil)
}

func TestTreeModels(t *testing.T) {
	for name, of := range treeModels() {
		if e, _ := of(); e.Check() != nil {
			t.Errorf("%s: %v", name, e.Check())
		}
	}
}
