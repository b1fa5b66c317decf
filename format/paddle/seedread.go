package paddle

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
)

// Open implements profile.
func (seed) Open(ctx context.Context, b blob.Bucket, path string, o format.Options) (format.Reader, error) {
	verify := o.Get(Codec.Info(), "verify")
	obj, err := b.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	reading := ""
	f, err := walk(obj, nil)
	if err == nil && verify == "file" && f.checksum != 0 {
		reading, err = f.verify()
	}
	if err != nil {
		obj.Close()
		return nil, err
	}
	r := &seedReader{f: f, path: path, verify: verify}
	r.notes = append(r.notes, f.dialect())
	if reading != "" {
		r.notes = append(r.notes, reading)
	}
	r.choose(verify)
	return r, nil
}

// choose says which records are verified when they are read, and notes what is not.
func (r *seedReader) choose(verify string) {
	f := r.f
	r.ms = make([]matrix.Meta, len(f.records))
	r.sound = make([]func() error, len(f.records))
	without := 0
	for i := range f.records {
		rec := &f.records[i]
		r.ms[i] = rec.meta()
		r.sound[i] = func() error { return nil }
		if verify == "record" || verify == "file" && f.checksum == 0 {
			if rec.flags&flagDigest != 0 {
				r.sound[i] = sync.OnceValue(func() error { return f.verifyRecord(rec) })
			} else {
				without++
			}
		}
	}
	switch {
	case verify == "off":
		r.notes = append(r.notes, "checksums not verified, as asked")
	case verify == "file" && f.checksum == 0 && without > 0:
		r.notes = append(r.notes, format.Warning("the checksum was not computed when the file was written: values are not verified"))
	case without > 0:
		r.notes = append(r.notes, fmt.Sprintf("%d of %d records have no digest: their values are not verified", without, len(r.ms)))
	}
}

type seedReader struct {
	f      *seedFile
	path   string
	ms     []matrix.Meta
	sound  []func() error // of each record: verify it once
	notes  []string
	verify string // the option
}

// Matrices implements format.Reader.
func (r *seedReader) Matrices() []matrix.Meta { return r.ms }

// Notes implements format.Reader.
func (r *seedReader) Notes() []string {
	return append(slices.Clip(r.notes), format.OriginNotes(r.ms)...)
}

// Files implements format.Reader.
func (r *seedReader) Files() map[string][]byte { return nil }

// Close implements format.Reader.
func (r *seedReader) Close() error { return r.f.obj.Close() }

// Blocks implements format.Reader.
func (r *seedReader) Blocks(ctx context.Context, matrixName string, want matrix.Rect) iter.Seq2[matrix.Block, error] {
	return func(yield func(matrix.Block, error) bool) {
		i, ok := r.f.names[matrixName]
		if !ok {
			yield(matrix.Block{}, format.Wrap(name, r.path, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix)))
			return
		}
		if err := r.sound[i](); err != nil {
			yield(matrix.Block{}, format.Wrap(name, r.path, err))
			return
		}
		slab := r.f.records[i].slab(r.f.scan)
		for b, err := range slab.Blocks(ctx, r.f.obj, want) {
			if !yield(b, format.Wrap(name, r.path, err)) {
				return
			}
		}
	}
}

// View implements format.Viewer.
func (r *seedReader) View(ctx context.Context, matrixName string, look func(matrix.Block) error) (ok bool, err error) {
	i, ok := r.f.names[matrixName]
	if !ok {
		return false, format.Wrap(name, r.path, fmt.Errorf("matrix %q: %w", matrixName, format.ErrMatrix))
	}
	slab := r.f.records[i].slab(r.f.scan)
	if !slab.Viewable() {
		return false, nil
	}
	if err := r.sound[i](); err != nil {
		return false, format.Wrap(name, r.path, err)
	}
	ok, err = slab.View(ctx, r.f.obj, look)
	return ok, format.Wrap(name, r.path, err)
}

// Verify implements format.Verifier: all digests, several at a time. With verify=off it looks at nothing; the checksum of
// the file was compared when the file was opened, unless verify=record.
func (r *seedReader) Verify(ctx context.Context) (problems []string, err error) {
	if r.verify == "off" {
		return nil, nil
	}
	with := slices.DeleteFunc(slices.Clone(r.f.records), func(rec record) bool { return rec.flags&flagDigest == 0 })
	i := 0
	for sum, err := range digests(r.f.obj, with) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return problems, format.Wrap(name, r.path, err)
		}
		if err := r.f.compare(&with[i], sum); errors.Is(err, format.ErrCorrupt) {
			problems = append(problems, format.Wrap(name, r.path, err).Error())
		} else if err != nil {
			return problems, format.Wrap(name, r.path, err)
		}
		i++
	}
	return problems, nil
}
