package blob

import (
	"context"
	"crypto/rand"
	"path"
)

// CreateOver begins a new object that takes the name only if what lies there then is what over says; else Commit fails with
// ErrChanged.
func CreateOver(ctx context.Context, b Bucket, name string, over State) (Writer, error) {
	dir, base := path.Split(name)
	tmp := dir + tmpMark + base + "." + rand.Text()
	w, err := b.Create(ctx, tmp)
	if err != nil {
		return nil, err
	}
	return &overWriter{Writer: w, ctx: context.WithoutCancel(ctx), bucket: b, tmp: tmp, name: name, over: over}, nil
}

type overWriter struct {
	Writer
	ctx       context.Context
	bucket    Bucket
	tmp, name string
	over      State
}

// Commit implements Writer.
func (w *overWriter) Commit() error {
	if err := w.Writer.Commit(); err != nil {
		return err
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
