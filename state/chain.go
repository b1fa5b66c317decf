package state

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"thole.example/blob"
	"thole.example/format"
)

// Link names a checkpoint that others are based on.
type Link struct {
	Path string `json:"path"` // within the bucket
	ID   string `json:"id"`
}

// BaseLimit is how many checkpoints have to be read before another at most.
const BaseLimit = 1000

// last is the checkpoint that this one is based on, empty if it is a whole one.
func (c *Checkpoint) last() (base Link) {
	if n := len(c.Base); n > 0 {
		base = c.Base[n-1]
	}
	return base
}

// checkBase says what cannot be of the checkpoints that have to be read before.
func (c *Checkpoint) checkBase() error {
	if len(c.Base) > BaseLimit || len(c.Base) > 0 && c.ID == "" {
		return fmt.Errorf("based on %d checkpoints with the identity %q, want at most %d and one", len(c.Base), c.ID, BaseLimit)
	}
	paths, ids := map[string]bool{}, map[string]bool{c.ID: true}
	for _, l := range c.Base {
		if l.ID == "" || ids[l.ID] || paths[l.Path] {
			return fmt.Errorf("based on checkpoint %q with the identity %q, want each path and identity once", l.Path, l.ID)
		}
		paths[l.Path], ids[l.ID] = true, true
	}
	return nil
}

// ErrBase is that of an increment whose base is not what it was when the increment was written.
var ErrBase = errors.New("what it is based on was replaced after it was written: restore another checkpoint")

// OpenChain opens a checkpoint and before it those that it is based on, the oldest first. All of them have to be closed.
func OpenChain(ctx context.Context, b blob.Bucket, at string) ([]*Input, error) {
	last, err := NewInput(ctx, b, at)
	if err != nil {
		return nil, err
	}
	var all []*Input
	for i, link := range last.Base {
		in, err := NewInput(ctx, b, link.Path)
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s is based on %s, which cannot be read: %w", at, link.Path, err)
		}
		if in.ID != link.ID || !slices.Equal(in.Base, last.Base[:i]) {
			return nil, format.Wrap(codec, at, fmt.Errorf("based on %s with the identity %q and %d before it, found %q and %d: %w",
				link.Path, link.ID, i, in.ID, len(in.Base), ErrBase))
		}
		in.Base = last.Base[:i] // so that each link is in memory once
		all = append(all, in)
	}
	return append(all, last), nil
}
