package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"thole.example/blob"
	"thole.example/format"
)

// Limits of loose objects: bytes of one, bytes of its name, and their number.
const (
	looseLimit     = format.CompanionLimit // a training saves columns.json as one
	looseNameLimit = 255
	looseCount     = 100
)

// ErrLoose is that of a name which no loose object of a checkpoint can have.
var ErrLoose = errors.New("want a name of its own, without slashes")

// CheckLoose tells why a loose object of a checkpoint cannot have the name: those of the head and of the servers' files are taken.
func CheckLoose(object string) error {
	taken := object == HeadName || strings.HasPrefix(object, "server.") || strings.HasPrefix(object, ".") || strings.HasPrefix(object, "_tmp.")
	if taken || object == "" || len(object) > looseNameLimit || strings.ContainsAny(object, "/\\\x00") {
		return fmt.Errorf("object %.40q beside the matrices of a checkpoint: %w", object, ErrLoose)
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

// Loose writes an object that is kept in the tree of the checkpoint, beside the files of the servers. Checkpoint.Loose has to name it
// when it is committed.
func (s *Save) Loose(ctx context.Context, object string, data []byte) error {
	if err := CheckLoose(object); err != nil {
		return s.final("", err)
	}
	return s.final(object, blob.WriteAll(ctx, s.bucket, s.object(object), data))
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

// Get reads one of the objects that Loose names, and wants it to be what it was.
func (in *Input) Get(ctx context.Context, name string) ([]byte, error) {
	data, err := blob.ReadAll(ctx, in.bucket, blob.Join(in.path, name), looseLimit)
	if want := in.Sums[name]; err == nil && want != "" && digest(data) != want {
		err = fmt.Errorf("%d bytes with the SHA-256 %.12s, want %.12s: %w", len(data), digest(data), want, format.ErrCorrupt)
	}
	return data, format.Wrap(codec, blob.Join(in.path, name), err)
}
