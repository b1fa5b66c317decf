package format

import (
	"context"
	"errors"
	"io"
	"sync"

	"thole.example/blob"
)

// Sniff asks the codec what the path holds, as [Codec] says. A codec takes what it cannot read for a file of another format; that
// is for damage, not for a disk that fails: its error is given here, whatever the codec makes of it.
func Sniff(ctx context.Context, c Codec, b blob.Bucket, path string) (dialect string, err error) {
	w := &witness{Bucket: b}
	dialect, err = c.Sniff(ctx, w, path)
	if w.fault != nil {
		return "", w.fault
	}
	return dialect, err
}

// witness is a bucket that remembers the first operation of it that failed.
type witness struct {
	blob.Bucket
	once  sync.Once
	fault error
}

func (w *witness) note(err error) {
	if err != nil && !Missing(err) && !errors.Is(err, blob.ErrName) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		w.once.Do(func() { w.fault = err })
	}
}

func (w *witness) Open(ctx context.Context, name string) (blob.Object, error) {
	o, err := w.Bucket.Open(ctx, name)
	if err != nil {
		w.note(err)
		return nil, err
	}
	return &witnessed{o, w}, nil
}

func (w *witness) List(ctx context.Context, tree string) ([]blob.Info, error) {
	infos, err := w.Bucket.List(ctx, tree)
	w.note(err)
	return infos, err
}

type witnessed struct {
	blob.Object
	by *witness
}

func (o *witnessed) ReadAt(p []byte, off int64) (int, error) {
	n, err := o.Object.ReadAt(p, off)
	o.by.note(err)
	return n, err
}
