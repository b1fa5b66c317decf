package format

import (
	"context"
	"errors"
	"maps"

	"thole.example/blob"
	"thole.example/matrix"
)

// Open opens the path as the codec's, with the files that lie beside it.
func Open(ctx context.Context, c Codec, b blob.Bucket, path string, o Options) (Reader, error) {
	if err := o.CheckSet(c.Info()); err != nil {
		return nil, err
	}
	r, err := c.Open(ctx, b, path, o)
	if err != nil {
		return nil, Wrap(c.Info().Name, path, err)
	}
	files, err := withCompanions(ctx, b, path, r.Files())
	if err != nil {
		r.Close()
		return nil, Wrap(c.Info().Name, path, err)
	}
	if len(files) == len(r.Files()) {
		return r, nil
	}
	return &accompanied{r, files}, nil
}

// withCompanions adds the companions of the file at the path to the files that its reader has.
func withCompanions(ctx context.Context, b blob.Bucket, path string, own map[string][]byte) (map[string][]byte, error) {
	files := maps.Clone(own)
	for _, name := range companions {
		if _, inside := own[name]; inside {
			continue
		}
		data, err := blob.ReadAll(ctx, b, path+"."+name, FileLimit(name))
		if Missing(err) || errors.Is(err, blob.ErrName) {
			continue
		}
		if err != nil {
			return nil, err
		}
		file, err := b.Open(ctx, path)
		if Missing(err) {
			return own, nil // a folder, in which there would be a place for it
		}
		if err != nil {
			return nil, err
		}
		file.Close()
		if files == nil {
			files = map[string][]byte{}
		}
		files[name] = data
	}
	return files, nil
}

// accompanied is a Reader of a file beside which others lie. It can what the Reader can.
type accompanied struct {
	Reader
	files map[string][]byte
}

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

// Extent implements Measurer.
func (r *accompanied) Extent(name string) (Extent, bool) {
	if m, can := r.Reader.(Measurer); can {
		return m.Extent(name)
	}
	return Extent{}, false
}
