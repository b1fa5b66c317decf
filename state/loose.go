package state

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"thole.example/blob"
)

// ErrLoose is that of a name which no loose object of a checkpoint can have.
var ErrLoose = errors.New("want a name of its own, without slashes")

// looseLimit is how many bytes the name of a loose object has at most.
const looseLimit = 255

// CheckLoose tells why a loose object of a checkpoint cannot have the name: those of the head and of the servers' files are taken.
func CheckLoose(object string) error {
	taken := object == headName || strings.HasPrefix(object, "server.")
	if taken || object == "" || len(object) > looseLimit || strings.HasPrefix(object, ".") || strings.ContainsAny(object, "/\\\x00") {
		return fmt.Errorf("object %.40q beside the matrices of a checkpoint: %w", object, ErrLoose)
	}
	return nil
}

// Loose writes an object that is kept in the tree of the checkpoint, beside the files of the servers, before the Commit.
func (s *Save) Loose(ctx context.Context, object string, data []byte) error {
	if err := CheckLoose(object); err != nil {
		return s.final("", err)
	}
	return s.final(object, blob.WriteAll(ctx, s.bucket, s.object(object), data))
}
