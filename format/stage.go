package format

import (
	"context"
	"crypto/rand"
	"regexp"

	"thole.example/blob"
)

// Stage is where the pieces of a save wait until Commit: a tree beside the path that readers do not see. Writers of
// one save in several processes share it by having the same name.
type Stage struct {
	Bucket blob.Bucket
	Path   string // what will be published
	Tree   string // where the pieces are
	Over   blob.State
	done   bool
}

// NewStage is the stage of a save to the path. name makes it the same for several writers; "" makes it unique.
func NewStage(b blob.Bucket, to, name string) *Stage {
	if name == "" {
		name = rand.Text()
	}
	dir, base := blob.Split(to)
	return &Stage{Bucket: b, Path: to, Tree: dir + "_tmp." + base + "." + name}
}

// Name is the name of a piece within the bucket.
func (s *Stage) Name(piece string) string { return s.Tree + "/" + piece }

// Final makes an error speak of the path where it names what is in the stage, of which the piece (or "": all) will be published there. nil
// stays nil.
func (s *Stage) Final(piece string, err error) error {
	inside := ""
	if piece != "" {
		inside = "(?:/" + regexp.QuoteMeta(piece) + ")?"
	}
	return restage(err, blob.Base(s.Path), inside)
}

// restage makes an error speak of the name where it names a stage of it, or what follows that in the stage.
func restage(err error, base, inside string) error {
	if err == nil {
		return nil
	}
	tree := `_tmp\.` + regexp.QuoteMeta(base) + `\.[A-Za-z0-9.]+` // which may be in another
	return &restaged{err, regexp.MustCompile(`(?:` + tree + `/)*` + tree + inside), base}
}

// restaged is an error with other paths in its text.
type restaged struct {
	error
	staged *regexp.Regexp // a path in the stage
	base   string         // what it will be called
}

func (e *restaged) Error() string { return e.staged.ReplaceAllLiteralString(e.error.Error(), e.base) }

// Unwrap gives the error with the paths of the stage.
func (e *restaged) Unwrap() error { return e.error }

// Publish makes the piece (a file, or "" for the whole tree) what lies at the path, where Over may be replaced, and removes the
// stage.
func (s *Stage) Publish(ctx context.Context, piece string) error {
	from := s.Tree
	if piece != "" {
		from = s.Name(piece)
	}
	if err := s.Bucket.Publish(ctx, from, s.Path, s.Over); err != nil {
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
