package format

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/matrix"
)

// Open opens the path as the codec's, with the files that lie beside it. All that the Reader reads at the path is of one model, also while
// it is replaced: what is not there any more fails with blob.ErrChanged.
func Open(ctx context.Context, c Codec, b blob.Bucket, path string, o Options) (r Reader, err error) {
	err = pinned(ctx, b, path, func(v *blob.View) (err error) {
		r, err = openIn(ctx, c, v, path, o)
		return err
	})
	return r, err
}

// pinned calls open with a view in which what lies at the path does not change, nor the files that belong to it, and again if it changed
// before it was open. The view is closed if open fails.
func pinned(ctx context.Context, b blob.Bucket, path string, open func(v *blob.View) error) error {
	return blob.Again(ctx, func() error {
		v, err := Pin(ctx, b, path)
		if err != nil {
			return err
		}
		if err = open(v); err != nil {
			v.Close()
		}
		return err
	})
}

// Pin is a view of the bucket in which the model at the path does not change, nor the files that belong to it. It has to be closed.
func Pin(ctx context.Context, b blob.Bucket, path string) (*blob.View, error) {
	root, others := setOf(path)
	return blob.PinSet(ctx, b, root, others)
}

// setOf is the name under which a model is replaced whose path is given, and the files next to it that are replaced with it.
func setOf(path string) (root string, others []string) {
	last := blob.Base(path)
	if last == "__model__" || last == "__params__" { // of Paddle, whose programs are folders
		return blob.Parent(path), nil
	}
	paddle := []string{".pdmodel", ".json", ".pdiparams"} // topologies and parameters
	if ext := blob.Ext(last); slices.Contains(paddle, ext) {
		for _, e := range paddle {
			if e != ext {
				others = append(others, strings.TrimSuffix(last, ext)+e)
			}
		}
	}
	for _, ending := range companionEndings() {
		others = append(others, last+ending)
	}
	return path, others
}

// openIn opens the path within a view, which the Reader closes.
func openIn(ctx context.Context, c Codec, v *blob.View, path string, o Options) (Reader, error) {
	if err := o.CheckSet(c.Info()); err != nil {
		return nil, err
	}
	var b blob.Bucket = v
	r, err := c.Open(ctx, b, path, o)
	if err != nil {
		return nil, Wrap(c.Info().Name, path, err)
	}
	files, err := withCompanions(ctx, v, path, r.Files())
	if err != nil {
		r.Close()
		return nil, Wrap(c.Info().Name, path, err)
	}
	return &accompanied{r, v, files}, nil
}

// withCompanions adds the companions of the file at the path to the files that its reader has. A folder has a place for them.
func withCompanions(ctx context.Context, v *blob.View, path string, own map[string][]byte) (map[string][]byte, error) {
	if infos, err := v.List(ctx, path); err != nil || len(infos) != 1 || infos[0].Name != path {
		return own, err
	}
	files := maps.Clone(own)
	for _, name := range companions {
		if _, inside := own[name]; inside {
			continue
		}
		data, err := blob.ReadAll(ctx, v, path+"."+name, FileLimit(name))
		if Missing(err) || errors.Is(err, blob.ErrName) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if files == nil {
			files = map[string][]byte{}
		}
		files[name] = data
	}
	return files, nil
}

// accompanied is a Reader with the files that lie beside what it reads, and the view that it reads in. It can what the Reader can.
type accompanied struct {
	Reader
	view  *blob.View
	files map[string][]byte
}

// Close implements Reader.
func (r *accompanied) Close() error { return errors.Join(r.Reader.Close(), r.view.Close()) }

// Files implements Reader.
func (r *accompanied) Files() map[string][]byte { return r.files }

// View implements Viewer.
func (r *accompanied) View(ctx context.Context, name string, look func(matrix.Block) error) (ok bool, err error) {
	if v, can := r.Reader.(Viewer); can {
		return v.View(ctx, name, look)
	}
	return false, nil
}

// Verify implements Verifier.
func (r *accompanied) Verify(ctx context.Context) (problems []string, err error) {
	if v, can := r.Reader.(Verifier); can {
		return v.Verify(ctx)
	}
	return nil, nil
}

// Foreign implements Enclosing.
func (r *accompanied) Foreign() []string {
	if e, can := r.Reader.(Enclosing); can {
		return e.Foreign()
	}
	return nil
}

// Extent implements Measurer.
func (r *accompanied) Extent(name string) (Extent, bool) {
	if m, can := r.Reader.(Measurer); can {
		return m.Extent(name)
	}
	return Extent{}, false
}
