package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"thole.example/blob"
	"thole.example/format"
)

// looseLimit is how large a loose object is at most, and looseCount how many there are.
const (
	looseLimit = 1 << 28
	looseCount = 100
)

// CheckLoose says why an object of a checkpoint cannot have the name: it is one within a tree, and those of the servers' files and of
// the head are taken.
func CheckLoose(name string) error {
	odd := name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") || strings.HasPrefix(name, "_tmp.")
	if odd || name == headName || strings.HasPrefix(name, "server.") || len(name) > 255 {
		return fmt.Errorf("%q as a name beside the files of a checkpoint, want one of a file that is not %s, server.* or _tmp.*", name, headName)
	}
	return nil
}

// checkLoose says what cannot be of the loose objects.
func (c *Checkpoint) checkLoose() error {
	if len(c.Loose) > looseCount {
		return fmt.Errorf("%d objects beside the files of servers, want at most %d", len(c.Loose), looseCount)
	}
	seen := map[string]bool{}
	for _, name := range c.Loose {
		if err := CheckLoose(name); err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("object %q is named twice", name)
		}
		seen[name] = true
	}
	for name := range c.Sums {
		if !seen[name] {
			return fmt.Errorf("digest of %q, which is not named", name)
		}
	}
	return nil
}

// Loose writes an object that is neither a server's file nor the head. Checkpoint.Loose has to name it when it is committed.
func (s *Save) Loose(ctx context.Context, name string, data []byte) error {
	err := CheckLoose(name)
	if err == nil {
		err = blob.WriteAll(ctx, s.bucket, s.object(name), data)
	}
	return s.final(name, err)
}

// sumLoose wants the loose objects to be there, and takes their digests.
func (s *Save) sumLoose(ctx context.Context, c *Checkpoint) error {
	c.Sums = nil
	for _, name := range c.Loose {
		data, err := blob.ReadAll(ctx, s.bucket, s.object(name), looseLimit)
		if err != nil {
			return err
		}
		if c.Sums == nil {
			c.Sums = map[string]string{}
		}
		c.Sums[name] = digest(data)
	}
	return nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Loose reads one of the objects that Checkpoint.Loose names, and wants it to be what it was.
func (in *Input) Loose(ctx context.Context, name string) ([]byte, error) {
	data, err := blob.ReadAll(ctx, in.bucket, path.Join(in.path, name), looseLimit)
	if want := in.Sums[name]; err == nil && want != "" && digest(data) != want {
		err = fmt.Errorf("%d bytes with the SHA-256 %.12s, want %.12s: %w", len(data), digest(data), want, format.ErrCorrupt)
	}
	return data, format.Wrap(codec, path.Join(in.path, name), err)
}
