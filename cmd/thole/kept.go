package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
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

// refuges are the paths where a model is kept that could not be saved at the path, the best one first: next to it, unless its store is
// unavailable; in the working folder; among temporary files. Servers of other processes save in their stores alone.
func (p *plan) refuges(why error, path string) (all []string) {
	next := strings.TrimRight(path, "/")
	if p.atServers {
		return []string{next}
	}
	if !again(why) {
		all = append(all, next)
	}
	base := blob.Base(next)
	all = append(all, base, blob.Join(inBucket(os.TempDir()), base))
	return slices.Compact(all)
}

// kept keeps a trained model that could not be saved at the path: in the default format, at a free name next to it or where else that
// succeeds. save saves with the settings of the plan and fails with fs.ErrExist or rpc.ErrExists where something is. The error is why, and
// says where the model is.
func (p *plan) kept(ctx context.Context, why error, path string, save func(q *plan, path string) error) error {
	if ctx.Err() != nil || p.attempt > 0 && again(why) { // another attempt saves it
		return why
	}
	own := *p.job
	own.to, own.set, own.lossy, own.force, own.saveState = defaultFormat, nil, false, false, false
	q := *p
	q.job = &own
	failed := []error{why}
	for _, refuge := range p.refuges(why, path) {
		name, err := saveFree(refuge, func(path string) error { return save(&q, path) })
		if err == nil {
			if ending, is := strings.CutPrefix(name, strings.TrimRight(path, "/")); is { // servers have other names for it
				name = strings.TrimRight(p.model, "/") + ending
			}
			return fmt.Errorf("%w; the trained model was saved as %s (format %s): thole convert %s TARGET writes it in another format",
				why, name, defaultFormat, name)
		}
		failed = append(failed, fmt.Errorf("the model could not be kept in format %s either: %w", defaultFormat, err))
	}
	return errors.Join(failed...)
}

// saveFree saves at a name that is free, which begins with path, and gives the name.
func saveFree(path string, save func(path string) error) (name string, err error) {
	for n := 1; n <= keptLimit; n++ {
		if name = path + "-kept"; n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		if err = save(name); !errors.Is(err, fs.ErrExist) && !errors.Is(err, rpc.ErrExists) {
			break
		}
	}
	return name, err
}
