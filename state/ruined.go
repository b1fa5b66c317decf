package state

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
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
	head, err := blob.ReadAll(ctx, b, path.Join(at, HeadName), math.MaxInt64)
	if errors.Is(err, fs.ErrNotExist) {
		return there(ctx, b, path.Join(at, name(0)))
	}
	if err != nil {
		return false, err
	}
	r, err := NewReader(bytes.NewReader(head), int64(len(head))) // of memory: what it finds wrong is not the disk's
	if err == nil {
		_, err = readCheckpoint(r)
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
