package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"path"
	"strings"
)

// Replacer is a Bucket that can hold an object to what it replaces without another name for it meanwhile.
type Replacer interface {
	// CreateOver is as the function of this name.
	CreateOver(ctx context.Context, name string, over State) (Writer, error)
}

// CreateOver begins a new object that takes the name only if what lies there then is what over says; else Commit fails with
// ErrChanged.
func CreateOver(ctx context.Context, b Bucket, name string, over State) (Writer, error) {
	if r, can := b.(Replacer); can {
		return r.CreateOver(ctx, name, over)
	}
	dir, base := path.Split(name)
	tmp := dir + tmpMark + base + "." + rand.Text()
	w := &overWriter{ctx: context.WithoutCancel(ctx), bucket: b, tmp: tmp, name: name, over: over}
	var err error
	if w.Writer, err = b.Create(ctx, tmp); err != nil {
		return nil, w.named(err)
	}
	return w, nil
}

type overWriter struct {
	Writer
	ctx       context.Context
	bucket    Bucket
	tmp, name string
	over      State
}

// named makes an error of the temporary object speak of the one that it will be.
func (w *overWriter) named(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return &fs.PathError{Op: at.Op, Path: strings.Replace(at.Path, path.Base(w.tmp), path.Base(w.name), 1), Err: at.Err}
	}
	return err
}

func (w *overWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	return n, w.named(err)
}

func (w *overWriter) WriteAt(p []byte, off int64) (int, error) {
	n, err := w.Writer.WriteAt(p, off)
	return n, w.named(err)
}

func (w *overWriter) ReadAt(p []byte, off int64) (int, error) {
	n, err := w.Writer.ReadAt(p, off)
	return n, w.named(err)
}

// Commit implements Writer.
func (w *overWriter) Commit() error {
	if err := w.Writer.Commit(); err != nil {
		return w.named(err)
	}
	err := w.bucket.Publish(w.ctx, w.tmp, w.name, w.over)
	if err != nil {
		_ = w.bucket.Remove(w.ctx, w.tmp) // err says more
	}
	return err
}

// WriteOver makes data the whole content of the object, as CreateOver.
func WriteOver(ctx context.Context, b Bucket, name string, data []byte, over State) error {
	w, err := CreateOver(ctx, b, name, over)
	return fill(w, err, data)
}
