package main

import (
	"context"
	"path/filepath"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/feature"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/tree"
)

// treeFiles are the files beside the matrices of trees.
func (p *plan) treeFiles(e *tree.Ensemble) (map[string][]byte, error) {
	text, err := e.JSON()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{tree.FileName: text}
	if p.settings != nil {
		files[jobFileName] = p.settings
	}
	if t := p.train.Transform; t != nil {
		if files[feature.FileName], err = t.JSON(); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// saveTrees saves them.
func (p *plan) saveTrees(ctx context.Context, e *tree.Ensemble, path string) error {
	codec, err := codecs().Lookup(p.to)
	if err != nil {
		return err
	}
	o := format.Options{Set: p.set, Lossy: p.lossy}
	if o.Files, err = p.treeFiles(e); err != nil {
		return err
	}
	b := blob.Files{}
	if p.force {
		if o.Over, err = b.State(ctx, path); err != nil {
			return err
		}
	}
	metas, blocks := e.Matrices()
	w, err := format.Create(ctx, codec, b, path, metas, o)
	if err != nil {
		return format.Wrap(p.to, path, err)
	}
	defer w.Abort(context.WithoutCancel(ctx))
	var parts []format.Part
	for i, m := range metas {
		part, err := w.Put(ctx, m.Name, blocks[i])
		if err != nil {
			return format.Wrap(p.to, path, err)
		}
		parts = append(parts, part)
	}
	return w.Commit(ctx, parts)
}

// oneTree is a model of one tree, or one for each class, that is a leaf.
func (p *plan) oneTree() *tree.Ensemble {
	classes := 1
	if p.recipe.Task == algo.Multiclass {
		classes = max(2, p.forest.Classes)
	}
	one := &tree.Ensemble{Objective: *algo.TreeObjective(&p.forest.Objective), Classes: classes, Group: classes,
		Start: make([]float64, classes), Features: []tree.Feature{{Name: "x"}}}
	for k := range classes {
		one.Trees = append(one.Trees, tree.Tree{Class: k, LeafValue: []float64{0}, LeafWeight: []float64{1}, LeafCount: []int64{1}})
	}
	return one
}

// checkTreeTarget refuses a format that cannot hold trees: it begins to save a model of one.
func (p *plan) checkTreeTarget(ctx context.Context, codec format.Codec, o format.Options) error {
	one, name := p.oneTree(), p.model
	if name == "" {
		name = "model"
	}
	text, err := one.JSON()
	if err != nil {
		return err
	}
	o.Files = map[string][]byte{tree.FileName: text}
	metas, _ := one.Matrices()
	w, err := format.Create(ctx, codec, &blob.Mem{}, filepath.Base(name), metas, o)
	if err != nil {
		return usageError{format.Wrap(p.to, name, err)}
	}
	w.Abort(ctx)
	return nil
}

// treeMatrices makes the matrices of trees on the servers, and says how they are saved.
func (p *plan) treeMatrices(
	ctx context.Context, client *ps.Client, e *tree.Ensemble, metas []matrix.Meta, path string,
) (ps.SaveOptions, error) {
	o := ps.SaveOptions{Codec: p.to, Path: path, Set: p.set, Lossy: p.lossy, Replace: p.force}
	for i := range metas {
		m := &metas[i]
		m.BlockRows, m.BlockCols = m.Rows, m.Cols // as whole as they are saved without servers
		o.Matrices = append(o.Matrices, m.Name)
	}
	var err error
	if o.Files, err = p.treeFiles(e); err != nil {
		return o, err
	}
	return o, client.Create(ctx, "range", metas...)
}

// rehearseTrees tries whether trees can be saved in the servers' bucket, by a model of one, as far as its matrices are those that there
// will be: the start scores.
func (p *plan) rehearseTrees(ctx context.Context, client *ps.Client, path string) error {
	e := p.oneTree()
	metas, _ := e.Matrices()
	o, err := p.treeMatrices(ctx, client, e, metas[:1], path)
	if err == nil {
		_, err = client.Rehearse(ctx, o)
	}
	return err
}

// saveTreesThere saves the trees in the servers' bucket: they become matrices there.
func (p *plan) saveTreesThere(ctx context.Context, client *ps.Client, e *tree.Ensemble, path string) error {
	metas, blocks := e.Matrices()
	o, err := p.treeMatrices(ctx, client, e, metas, path)
	if err != nil {
		return err
	}
	for i, name := range o.Matrices {
		m, err := client.Matrix(name)
		if err == nil {
			err = m.AssignNow(ctx, blocks[i]).Wait(ctx)
		}
		if err != nil {
			return err
		}
	}
	return client.Save(ctx, o)
}
