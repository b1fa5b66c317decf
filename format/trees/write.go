package trees

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/internal/number"
	"thole.example/matrix"
	"thole.example/tree"
	"thole.example/wire"
)

// Create implements format.Codec. The values of all writers wait in a file of the stage, which Commit makes an ensemble of.
func (c *codec) Create(ctx context.Context, b blob.Bucket, path string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	if err := o.CheckSet(c.Layout.Info); err != nil {
		return nil, err
	}
	if _, ok := o.Files[tree.FileName]; !ok {
		return nil, fmt.Errorf("%s without a file %s beside them: format %s (%s) holds no others, choose another one: %w",
			number.Of(len(ms), "matrix", "matrices"), tree.FileName, c.Layout.Info.Name, c.Layout.Info.Title, format.ErrMatrix)
	}
	others := o
	others.Files = maps.Clone(o.Files)
	delete(others.Files, tree.FileName)
	if err := format.LoseFiles(&others); err != nil {
		return nil, err
	}
	w := &writer{codec: c, bucket: b, path: path, metas: ms, opts: o, stage: format.NewStage(b, path, o.Stage)}
	f := format.SlabFile{}
	for i := range ms {
		if err := check(&ms[i]); err != nil {
			return nil, err
		}
		slab := format.Slab{DType: ms[i].DType, Order: wire.Little, Off: f.Size}
		end, err := format.PlaceSlab(&ms[i], ms[i].DType, f.Size)
		if err != nil {
			return nil, err
		}
		f.Size, f.Slabs = end, append(f.Slabs, format.NewTarget(&ms[i], slab))
	}
	w.slabs = f.Slabs
	inner, err := format.NewSlabWriter(ctx, b, w.values(), o, f)
	if err != nil {
		return nil, err
	}
	w.Writer = inner
	return w, nil
}

// check refuses a matrix that is none of an ensemble. Whether those that are belong together is seen when there are values.
func check(m *matrix.Meta) error {
	switch {
	case !slices.Contains(tree.MatrixNames(), m.Name):
		return fmt.Errorf("matrix %q: %w in a model of trees, want only %v", m.Name, format.ErrMatrix, tree.MatrixNames())
	case m.Layout != matrix.RowDense || m.Saved != nil:
		return fmt.Errorf("matrix %q: cells may be absent, want a dense matrix of trees: %w", m.Name, format.ErrMatrix)
	}
	return m.Check()
}

// writer is a Writer of the values, and what is made of them.
type writer struct {
	format.Writer
	codec  *codec
	bucket blob.Bucket
	path   string
	metas  []matrix.Meta
	slabs  []format.Target
	opts   format.Options
	stage  *format.Stage
}

// values is the file of the stage in which the matrices lie one after the other.
func (w *writer) values() string { return w.stage.Name("values") }

// Commit implements format.Writer.
func (w *writer) Commit(ctx context.Context, parts []format.Part) error {
	if err := w.Writer.Commit(ctx, parts); err != nil {
		return err
	}
	e, err := w.ensemble(ctx)
	if err != nil {
		return err
	}
	fit, err := w.codec.Fit(e, &w.opts)
	if err != nil {
		return err
	}
	if err := w.respell(e, fit); err != nil {
		return err
	}
	out, err := w.bucket.Create(ctx, w.path)
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := w.codec.Print(out, fit, &w.opts); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	w.Abort(ctx) // the values are in the file now
	return nil
}

// Abort implements format.Writer.
func (w *writer) Abort(ctx context.Context) {
	w.Writer.Abort(ctx)
	w.stage.Abort(ctx)
}

// ensemble is what the values make.
func (w *writer) ensemble(ctx context.Context) (*tree.Ensemble, error) {
	obj, err := w.bucket.Open(ctx, w.values())
	if err != nil {
		return nil, err
	}
	defer obj.Close()
	return tree.Parse(w.opts.Files[tree.FileName], func(name string) (matrix.Block, error) {
		for i := range w.slabs {
			if s := &w.slabs[i]; s.Name == name {
				return whole(&w.metas[i], s.Blocks(ctx, obj, s.At))
			}
		}
		return matrix.Block{}, nil
	})
}

// respell tells of a text trees.json that says the same in other words, because another program wrote it.
func (w *writer) respell(e, fit *tree.Ensemble) error {
	own, err := e.JSON()
	if err != nil || bytes.Equal(own, w.opts.Files[tree.FileName]) {
		return err
	}
	now, err := fit.JSON()
	if err == nil && bytes.Equal(own, now) {
		w.opts.Drop(format.Files, "", "how %s is spelled", tree.FileName)
	}
	return err
}
