package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/graph"
	"thole.example/matrix"
	"thole.example/ps"
	"thole.example/rpc"
)

// defaultFormat is the format of models whose name has no ending. It holds everything that a training makes.
const defaultFormat = "angel"

// checkHolds refuses a format that cannot hold the matrices and the files next to them, before the first epoch, and names those that can.
func (p *plan) checkHolds(ctx context.Context, ms []matrix.Meta, files map[string][]byte) error {
	codec, err := codecs().Lookup(p.to)
	if err != nil {
		return err
	}
	o, name := format.Options{Files: files, Set: p.set, Lossy: p.lossy}, blob.Base(cmp.Or(p.model, "model"))
	if err = canHold(ctx, codec, name, ms, o); err == nil {
		return nil
	}
	err = usageError{format.Wrap(p.to, name, err)}
	if !errors.Is(err, format.ErrLossy) && !errors.Is(err, format.ErrLimit) {
		return err
	}
	var names []string
	for _, c := range codecs() {
		if i := c.Info(); i.Writes != "" && i.Needs == "" && canHold(ctx, c, "model"+i.Ext, ms, format.Options{Files: files}) == nil {
			names = append(names, i.Name)
		}
	}
	return usageError{fmt.Errorf("%w; formats that hold this model: %s (--to)", err, strings.Join(names, ", "))}
}

// canHold tells why a codec cannot hold the matrices; nil if it can.
func canHold(ctx context.Context, c format.Codec, name string, ms []matrix.Meta, o format.Options) error {
	o.Relay = codecs().Relay() // partitions may be those of hashes
	w, err := format.Create(ctx, c, &blob.Mem{}, name, ms, o)
	if err == nil {
		w.Abort(ctx)
	}
	return err
}

// keptLimit is how many names are tried for a model that is kept.
const keptLimit = 100

// fallback is where a model is kept that could not be saved at its path.
type fallback struct {
	path string // without the ending of its name
	here bool   // it is of this process, and the model on servers of others
}

// fallbacks are where a model is kept, the best place first: next to its path, unless the store is unavailable; in the working folder;
// among temporary files. Servers of other processes save in their stores alone, and this one in its working folder.
func (p *plan) fallbacks(why error, path string) (all []fallback) {
	next := strings.TrimRight(path, "/")
	base := blob.Base(next)
	if p.atServers {
		all = append(all, fallback{path: next})
		if dir, err := os.Getwd(); err == nil {
			all = append(all, fallback{blob.Join(inBucket(dir), base), true})
		}
		return all
	}
	if !again(why) {
		all = append(all, fallback{path: next})
	}
	all = append(all, fallback{path: base}, fallback{path: blob.Join(inBucket(os.TempDir()), base)})
	return slices.Compact(all)
}

// kept keeps a trained model that could not be saved at the path: in the default format, at a free name next to it or where else that
// succeeds. save saves with the settings of the plan and fails with fs.ErrExist or rpc.ErrExists where something is. The error is why, and
// says where the model is.
func (p *plan) kept(ctx context.Context, why error, path string, save func(q *plan, at fallback) error) error {
	if ctx.Err() != nil || p.attempt > 0 && again(why) { // another attempt saves it
		return why
	}
	own := *p.job
	own.to, own.set, own.lossy, own.force, own.saveState = defaultFormat, nil, false, false, false
	q := *p
	q.job = &own
	failed := []error{why}
	for _, at := range p.fallbacks(why, path) {
		name, err := saveFree(at, func(at fallback) error { return save(&q, at) })
		if err == nil {
			if ending, is := strings.CutPrefix(name, strings.TrimRight(path, "/")); is && !at.here { // servers have other names for it
				name = strings.TrimRight(p.model, "/") + ending
			}
			return fmt.Errorf("%w; the trained model was saved as %s (format %s): thole convert %s TARGET writes it in another format",
				why, name, defaultFormat, name)
		}
		failed = append(failed, fmt.Errorf("the model could not be kept in format %s either: %w", defaultFormat, err))
	}
	return errors.Join(failed...)
}

// saveFree saves at a name that is free, which begins with the path, and gives the name.
func saveFree(at fallback, save func(at fallback) error) (name string, err error) {
	for n := 1; n <= keptLimit; n++ {
		if name = at.path + "-kept"; n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		if err = save(fallback{name, at.here}); !errors.Is(err, fs.ErrExist) && !errors.Is(err, rpc.ErrExists) {
			break
		}
	}
	return name, err
}

// wantFree fails with fs.ErrExist if this process finds something at a path.
func (p *plan) wantFree(ctx context.Context, path string) error {
	now, err := p.paths.State(ctx, path)
	if err == nil && now != blob.Nothing {
		err = fs.ErrExist
	}
	return err
}

// saveHere saves in this process a model that is on servers of others.
func (p *plan) saveHere(ctx context.Context, client *ps.Client, model *graph.Model, path string) error {
	if err := p.wantFree(ctx, path); err != nil {
		return err
	}
	codec, err := codecs().Lookup(p.to)
	if err != nil {
		return err
	}
	return format.Convert(ctx, &serverReader{client, model.Metas(), p.files(model)}, codec, p.bucket(), path, format.Options{}, nil, nil)
}

// serverReader reads the matrices of a job from its servers as those of a stored model.
type serverReader struct {
	client *ps.Client
	ms     []matrix.Meta
	files  map[string][]byte
}

// Matrices implements format.Reader.
func (r *serverReader) Matrices() []matrix.Meta { return r.ms }

// Blocks implements format.Reader.
func (r *serverReader) Blocks(ctx context.Context, name string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		m, err := r.client.Matrix(name)
		if err != nil {
			yield(matrix.Block{}, err)
			return
		}
		var rows []int64
		for row := want.Rows.Lo; row < want.Rows.Hi; row++ {
			rows = append(rows, row)
		}
		for b, err := range m.GetRowsFlow(ctx, rows, -1) {
			if err == nil {
				b = b.Cut(want)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// Notes implements format.Reader.
func (*serverReader) Notes() []string { return nil }

// Files implements format.Reader.
func (r *serverReader) Files() map[string][]byte { return r.files }

// Close implements format.Reader.
func (*serverReader) Close() error { return nil }
