package state

import (
	"context"
	"errors"
	"io/fs"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/wire"
)

// Ruined reports whether a checkpoint that a training wrote lies at the path (Entry.Ours) with a head that is missing or damaged: nobody
// can read it any more, and nothing is lost with it. An error is one of the bucket. A head of another version is not damaged, and a
// folder without a head is a checkpoint if it has a server's file.
func Ruined(ctx context.Context, b blob.Bucket, at string) (bool, error) {
	if e := (Entry{Name: blob.Base(at)}); !e.Ours() {
		return false, nil
	}
	o, err := b.Open(ctx, blob.Join(at, HeadName))
	if errors.Is(err, fs.ErrNotExist) {
		return there(ctx, b, blob.Join(at, name(0)))
	}
	if err != nil {
		return false, err
	}
	defer o.Close()
	r, err := NewReader(o, o.Size())
	if err == nil {
		_, err = readCheckpoint(r)
	}
	if errors.Is(err, wire.ErrUnread) {
		return false, err
	}
	return errors.Is(format.Wrap(codec, at, err), format.ErrCorrupt), nil
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
