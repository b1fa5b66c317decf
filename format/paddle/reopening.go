package paddle

import (
	"context"
	"errors"

	"thole.example/blob"
)

// reopening is an object that is opened again for every look at it once it was released: a model may have more files than
// a process may hold open.
type reopening struct {
	b    blob.Bucket
	file string
	size int64
	obj  blob.Object // nil: released
}

func newReopening(ctx context.Context, b blob.Bucket, file string) (*reopening, error) {
	obj, err := b.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	return &reopening{b, file, obj.Size(), obj}, nil
}

// release closes the object. It must not be called while others look at it.
func (r *reopening) release() {
	if r.obj != nil {
		r.obj.Close()
		r.obj = nil
	}
}

// Size implements blob.Object.
func (r *reopening) Size() int64 { return r.size }

// Close implements io.Closer.
func (r *reopening) Close() error { return nil }

// ReadAt implements io.ReaderAt.
func (r *reopening) ReadAt(p []byte, off int64) (int, error) {
	if r.obj != nil {
		return r.obj.ReadAt(p, off)
	}
	obj, err := r.b.Open(context.Background(), r.file)
	if err != nil {
		return 0, err
	}
	defer obj.Close()
	return obj.ReadAt(p, off)
}

// Map implements blob.Mapped.
func (r *reopening) Map(look func(data []byte) error) error {
	obj, err := r.b.Open(context.Background(), r.file)
	if err != nil {
		return err
	}
	defer obj.Close()
	mapped, ok := obj.(blob.Mapped)
	if !ok || obj.Size() != r.size {
		return errors.ErrUnsupported
	}
	return mapped.Map(look)
}
