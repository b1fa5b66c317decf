package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"thole.example/format"
	"thole.example/tree"
)

// growTrees DIR [LINK] makes a model of two trees, with a split of each kind.
func growTrees(ts *testscript.TestScript, _ bool, args []string) {
	link := tree.Logistic
	if len(args) > 1 {
		link = tree.Link(args[1])
	}
	e := &tree.Ensemble{
		Objective: tree.Objective{Name: "some", Link: link}, Classes: 1, Group: 1, Start: []float64{0.25},
		Features: []tree.Feature{{Name: "age"}, {Name: "town", Categorical: true, Levels: []string{"", "Bath", "Wells"}}},
		Trees: []tree.Tree{{
			Feature: []int32{0, 1}, Threshold: []float64{30.5, 0}, Kind: []tree.Kind{tree.NaNMissing | tree.DefaultLeft, tree.Categorical},
			Left: []int32{1, ^0}, Right: []int32{^2, ^1}, Gain: make([]float64, 2), Value: make([]float64, 2), Weight: make([]float64, 2),
			Count: make([]int64, 2), LeafValue: []float64{-1, 0.5, 2}, LeafWeight: make([]float64, 3), LeafCount: make([]int64, 3),
			Bounds: []int32{0, 1}, Words: []uint32{4},
		}, {LeafValue: []float64{0.125}, LeafWeight: make([]float64, 1), LeafCount: make([]int64, 1)}},
	}
	text, err := e.JSON()
	ts.Check(err)
	metas, blocks := e.Matrices()
	ctx, dir := context.Background(), ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(dir), 0o777))
	b, name, err := bucketAt(dir)
	ts.Check(err)
	codec, err := codecs().Lookup("npz")
	ts.Check(err)
	w, err := format.Create(ctx, codec, b, name, metas, format.Options{Files: map[string][]byte{tree.FileName: text}})
	ts.Check(err)
	var parts []format.Part
	for i := range blocks {
		part, err := w.Put(ctx, metas[i].Name, blocks[i])
		ts.Check(err)
		parts = append(parts, part)
	}
	ts.Check(w.Commit(ctx, parts))
}
