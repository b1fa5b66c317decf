package state

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"

	"thole.example/blob"
	"thole.example/format"
)

// Ruined reports whether a checkpoint that a training wrote lies at the path (Entry.Ours) with a head that is missing or damaged: nobody
// can read it any more, and nothing is lost with it. An error is one of the bucket. A head of another version is not damaged, and a
// folder without a head is a checkpoint if it has a server's file.
func Ruined(ctx context.Context, b blob.Bucket, at string) (bool, error) {
	if e := (Entry{Name: path.Base(at)}); !e.Ours() {
		return false, nil
	}
	o, err := b.Open(ctx, path.Join(at, HeadName))
	if errors.Is(err, fs.ErrNotExist) {
		return there(ctx, b, path.Join(at, name(0)))
	}
	if err != nil {
		return false, err
	}
	defer o.Close()
	head := &failing{src: o}
	r, err := NewReader(head, o.Size())
	if err == nil {
		_, err = readCheckpoint(r)
	}
	return head.err == nil && errors.Is(format.Wrap(codec, at, err), format.ErrCorrupt), head.err
}

// failing remembers why bytes could not be read that are there: that is no damage of theirs.
type failing struct {
	src io.ReaderAt
	err error
}

// ReadAt implements io.ReaderAt.
func (f *failing) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.src.ReadAt(b, off)
	if n < len(b) {
		f.err = cmp.Or(err, io.ErrUnexpectedEOF)
	}
	return n, err
}

// there reports whether the bucket has an object.
func there(ctx context.Context, b blob.Bucket, name string) (bool, error) {
	o, err := b.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, o.Close()
}
