package main

import (
	"context"
	"errors"

	"thole.example/format"
	"thole.example/format/trees"
	"thole.example/tree"
)

// errTrees is that of commands that work on networks only.
var errTrees = errors.New("a model of trees, and this wants a network; thole predict, evaluate, inspect and explain take trees")

// treesOf are the trees that a stored model is of; nil if it is none of trees.
func treesOf(ctx context.Context, r format.Reader) (*tree.Ensemble, error) {
	if r.Files()[tree.FileName] == nil {
		return nil, nil
	}
	return trees.Read(ctx, r)
}
