package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/format"
)

// Link names the checkpoint that another is based on. As it is written its path is relative to the folder which the other lies in,
// so that a folder of checkpoints can be moved; in memory it is one within the bucket.
type Link struct {
	Path string `json:"path"`
	ID   string `json:"id"`
	// Sum is the Checkpoint.Sum of it, which Commit fills in.
	Sum string `json:"sum,omitempty"`
}

// BaseLimit is how many checkpoints have to be read before another at most.
const BaseLimit = 100

// checkBase says what cannot be of the checkpoint that this one is based on.
func (c *Checkpoint) checkBase() error {
	if !c.Whole() && (c.Base.ID == "" || c.Base.Path == "" || c.ID == "" || c.ID == c.Base.ID) {
		return fmt.Errorf("identity %q, based on checkpoint %q with the identity %q: want two identities and a path",
			c.ID, c.Base.Path, c.Base.ID)
	}
	return nil
}

// relative is the path as it is seen from a folder.
func relative(folder, to string) (string, error) {
	from, into := strings.Split(blob.Clean(folder), "/"), strings.Split(blob.Clean(to), "/")
	if from[0] == "." {
		from = from[1:]
	}
	for len(from) > 0 && len(into) > 1 && from[0] == into[0] {
		from, into = from[1:], into[1:]
	}
	if slices.Contains(from, "..") || strings.HasPrefix(folder, "/") != strings.HasPrefix(to, "/") || blob.Root(folder) != blob.Root(to) {
		return "", fmt.Errorf("checkpoint in %s based on %s, want paths of which one can be seen from the other", folder, to)
	}
	return strings.Repeat("../", len(from)) + strings.Join(into, "/"), nil
}

// link makes the checkpoint name what it is based on, as that is now.
func (s *Save) link(ctx context.Context, c *Checkpoint) error {
	if c.Whole() {
		return nil
	}
	base, err := Open(ctx, s.bucket, c.Base.Path)
	if err == nil {
		err = c.follows(base)
	}
	if err == nil {
		c.Base.Sum, err = base.Sum()
	}
	if err == nil {
		c.Base.Path, err = relative(blob.Parent(s.path), c.Base.Path)
	}
	return err
}

// ErrBase is that of an increment which is based on something else than it says.
var ErrBase = errors.New("it is of no use without the checkpoint that it was written on: restore another checkpoint")

// follows wants the base to be what the increment says that it is.
func (c *Checkpoint) follows(base *Checkpoint) error {
	link := c.Base
	if base.ID != link.ID {
		return fmt.Errorf("based on %s with the identity %q, found %q: %w", link.Path, link.ID, base.ID, ErrBase)
	}
	if base.Moment.Run != c.Moment.Run {
		return fmt.Errorf("increment of run %q based on %s of run %q, want both of one run: %w",
			c.Moment.Run, link.Path, base.Moment.Run, ErrBase)
	}
	if link.Sum == "" {
		return nil
	}
	sum, err := base.Sum()
	if err == nil && sum != link.Sum {
		err = fmt.Errorf("based on %s with the digest %.12s, found %.12s: %w", link.Path, link.Sum, sum, ErrBase)
	}
	return err
}

// OpenChain opens a checkpoint and before it those that it is based on, the oldest first. All of them have to be closed.
func OpenChain(ctx context.Context, b blob.Bucket, at string) ([]*Input, error) {
	last, err := NewInput(ctx, b, at)
	if err != nil {
		return nil, err
	}
	all, seen := []*Input{last}, map[string]bool{last.path: true}
	for !last.Whole() {
		base := last.Base.Path
		if len(all) > BaseLimit || seen[base] {
			return nil, format.Wrap(codec, at, fmt.Errorf("%d checkpoints to be read before it and then %s, want at most %d, and each once",
				len(all)-1, base, BaseLimit))
		}
		in, err := NewInput(ctx, b, base)
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s is based on %s, which cannot be read: %w", last.path, base, err)
		}
		if err := last.follows(in.Checkpoint); err != nil {
			return nil, format.Wrap(codec, last.path, err)
		}
		all, seen[base], last = append(all, in), true, in
	}
	slices.Reverse(all)
	return all, nil
}
