package main

import (
	"cmp"
	"context"
	"slices"

	"thole.example/algo"
	"thole.example/blob"
	"thole.example/feature"
	"thole.example/format"
	"thole.example/format/trees"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/tree"
)

// treeFiles are the files beside the matrices of trees, but for trees.json.
func (p *plan) treeFiles() (map[string][]byte, error) {
	files := map[string][]byte{}
	if p.settings != nil {
		files[jobFileName] = p.settings
	}
	if t := p.train.Transform; t != nil {
		text, err := t.JSON()
		if err != nil {
			return nil, err
		}
		files[feature.FileName] = text
	}
	return files, nil
}

// treeReader shows trees as the model that they are saved as.
func (p *plan) treeReader(e *tree.Ensemble) (format.Reader, error) {
	files, err := p.treeFiles()
	if err != nil {
		return nil, err
	}
	return trees.NewReader(e, files)
}

// saveTrees saves the trees at a path.
func (p *plan) saveTrees(ctx context.Context, e *tree.Ensemble, path string) error {
	r, codec, o, err := p.treesHere(ctx, e, path)
	if err != nil {
		return err
	}
	return format.Convert(ctx, r, codec, p.bucket(), path, o, nil, nil)
}

// keptTrees keeps trees that could not be saved at the path; client may be nil where there are no servers of other processes.
func (p *plan) keptTrees(ctx context.Context, why error, client *ps.Client, e *tree.Ensemble, path string) error {
	return p.kept(ctx, why, path, func(q *plan, at fallback) error {
		if p.atServers && !at.here {
			return q.saveTreesAgain(ctx, client, e, at.path)
		}
		if err := q.wantFree(ctx, at.path); err != nil {
			return err
		}
		return q.saveTrees(ctx, e, at.path)
	})
}

// tryTrees tries whether trees can be saved at a path, by a model of one.
func (p *plan) tryTrees(ctx context.Context, path string) error {
	r, codec, o, err := p.treesHere(ctx, p.oneTree(), path)
	if err != nil {
		return err
	}
	o.Files = r.Files()
	w, err := format.Create(ctx, codec, p.paths, path, r.Matrices(), o)
	if err == nil {
		w.Abort(ctx)
	}
	return err
}

// treesHere is how trees are saved at a path of this process.
func (p *plan) treesHere(ctx context.Context, e *tree.Ensemble, path string) (format.Reader, format.Codec, format.Options, error) {
	o := format.Options{Set: p.set, Lossy: p.lossy}
	codec, err := codecs().Lookup(p.to)
	if err != nil {
		return nil, nil, o, err
	}
	r, err := p.treeReader(e)
	if err == nil && p.force {
		o.Over, err = p.paths.State(ctx, path)
	}
	return r, codec, o, err
}

// oneTree is a model of one tree, or one for each class, that is a leaf.
func (p *plan) oneTree() *tree.Ensemble {
	classes := p.scores()
	one := &tree.Ensemble{Objective: *algo.TreeObjective(&p.forest.Objective), Classes: classes, Group: classes,
		Start: make([]float64, classes), Features: tree.FeaturesOf(tree.Feature{Name: "x"})}
	for k := range classes {
		one.Trees = append(one.Trees, tree.Tree{Class: k, LeafValue: []float64{0}, LeafWeight: []float64{1}, LeafCount: []int64{1}})
	}
	return one
}

// checkTreeTarget refuses a format that cannot hold trees: it saves a model of one in memory.
func (p *plan) checkTreeTarget(ctx context.Context, codec format.Codec, o format.Options) error {
	name := cmp.Or(p.model, "model")
	r, err := trees.NewReader(p.oneTree(), nil)
	if err != nil {
		return err
	}
	if err := format.Convert(ctx, r, codec, &blob.Mem{}, blob.Base(name), o, nil, nil); err != nil {
		return usageError{format.Wrap(p.to, name, err)}
	}
	return nil
}

// toServers makes matrices of trees on the servers, and says how they are saved with the files beside them.
func (p *plan) toServers(
	ctx context.Context, client *ps.Client, metas []matrix.Meta, files map[string][]byte, path string,
) (ps.SaveOptions, error) {
	o := ps.SaveOptions{Codec: p.to, Path: path, Set: p.set, Lossy: p.lossy, Replace: p.force, Files: files, Same: p.savedBefore()}
	metas = slices.Clone(metas)
	for i := range metas {
		m := &metas[i]
		m.BlockRows, m.BlockCols = m.Rows, m.Cols // as whole as they are saved without servers
		o.Matrices = append(o.Matrices, m.Name)
	}
	return o, client.Create(ctx, "range", metas...)
}

// rehearseTrees tries whether trees can be saved in the servers' bucket, by a model of one, as far as its matrices are those that there
// will be: the start scores.
func (p *plan) rehearseTrees(ctx context.Context, client *ps.Client, path string) error {
	r, err := p.treeReader(p.oneTree())
	if err != nil {
		return err
	}
	o, err := p.toServers(ctx, client, r.Matrices()[:1], r.Files(), path)
	if err == nil {
		_, err = client.Rehearse(ctx, o)
	}
	return err
}

// saveTreesThere saves the trees in the servers' bucket: they become matrices there.
func (p *plan) saveTreesThere(ctx context.Context, client *ps.Client, e *tree.Ensemble, path string) error {
	r, err := p.treeReader(e)
	if err != nil {
		return err
	}
	o, err := p.toServers(ctx, client, r.Matrices(), r.Files(), path)
	if err != nil {
		return err
	}
	for _, meta := range r.Matrices() {
		m, err := client.Matrix(meta.Name)
		if err != nil {
			return err
		}
		for b, err := range r.Blocks(ctx, meta.Name, meta.Rect()) {
			if err == nil {
				err = m.AssignNow(ctx, b).Wait(ctx)
			}
			if err != nil {
				return err
			}
		}
	}
	return client.Save(ctx, o)
}

// saveTreesAgain saves in the servers' bucket trees whose matrices saveTreesThere has made there, where nothing is.
func (p *plan) saveTreesAgain(ctx context.Context, client *ps.Client, e *tree.Ensemble, path string) error {
	r, err := p.treeReader(e)
	if err != nil {
		return err
	}
	o := ps.SaveOptions{Codec: p.to, Path: path, Files: r.Files()}
	for _, m := range r.Matrices() {
		o.Matrices = append(o.Matrices, m.Name)
	}
	if _, err := client.Rehearse(ctx, o); err != nil {
		return err
	}
	return client.Save(ctx, o)
}
