package format

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"thole.example/blob"
)

// Stage is where the pieces of a save wait until Commit: a tree beside the path that readers do not see. Writers of
// one save in several processes share it by having the same name.
type Stage struct {
	Bucket blob.Bucket
	Path   string // what will be published
	Tree   string // where the pieces are
	done   bool
}

// NewStage is the stage of a save to the path. name makes it the same for several writers; "" makes it unique.
func NewStage(b blob.Bucket, to, name string) *Stage {
	if name == "" {
		name = rand.Text()
	}
	dir, base := path.Split(to)
	return &Stage{Bucket: b, Path: to, Tree: dir + "_tmp." + base + "." + name}
}

// Name is the name of a piece within the bucket.
func (s *Stage) Name(piece string) string { return s.Tree + "/" + piece }

// Final makes an error speak of the path that will be published where it names the stage. It changes the errors that
// err is made of. nil stays nil.
func (s *Stage) Final(err error) error {
	var at *Error
	if errors.As(err, &at) {
		at.Path = strings.Replace(at.Path, s.Tree, s.Path, 1)
	}
	var file *fs.PathError
	if errors.As(err, &file) {
		file.Path = strings.Replace(file.Path, filepath.FromSlash(s.Tree), filepath.FromSlash(s.Path), 1)
	}
	return err
}

// Publish makes the piece (a file, or "" for the whole tree) what lies at the path, and removes the stage.
func (s *Stage) Publish(ctx context.Context, piece string) error {
	from := s.Tree
	if piece != "" {
		from = s.Name(piece)
	}
	if err := s.Bucket.Publish(ctx, from, s.Path); err != nil {
		return err
	}
	s.done = true
	if piece != "" {
		return s.Bucket.Remove(ctx, s.Tree)
	}
	return nil
}

// Abort removes the stage if it was not published.
func (s *Stage) Abort(ctx context.Context) {
	if !s.done {
		s.done = true
		_ = s.Bucket.Remove(ctx, s.Tree) // nothing to be told: the pieces are invisible and harmless
	}
}
