package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"thole.example/blob"
)

// together is several files in the making, which appear together or not at all.
type together struct {
	made  []string // folders that are not there yet, the deepest first
	sinks []*sink
	files []*writing
}

// create begins to write one more file.
func (t *together) create(ctx context.Context, s *sink) (*writing, error) {
	if !s.streams() && !blob.IsURL(s.file) {
		t.made = append(t.made, missingFolders(filepath.Dir(s.file))...)
	}
	w, err := s.create(ctx)
	if err == nil {
		t.sinks, t.files = append(t.sinks, s), append(t.files, w)
	}
	return w, err
}

// fill makes one more file with what write writes.
func (t *together) fill(ctx context.Context, s *sink, write func(w io.Writer) error) error {
	w, err := t.create(ctx, s)
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(w, 1<<16)
	if err := write(buf); err != nil {
		return err
	}
	return buf.Flush()
}

// Commit ends the writing. Where one of the files cannot appear, those that had are gone again, and what they replaced is back where the
// file system has second names; where it is not, the error says where it is.
func (t *together) Commit() error {
	var back []func() error // for each file that appeared
	var kept []string       // copies of what was replaced
	defer func() {
		for _, name := range kept {
			os.Remove(name)
		}
	}()
	for i, w := range t.files {
		old := t.sinks[i].keep()
		if old != "" {
			kept = append(kept, old)
		}
		if err := w.Commit(); err != nil {
			for _, undo := range slices.Backward(back) {
				err = errors.Join(err, undo())
			}
			return err
		}
		switch file := t.sinks[i].file; {
		case t.sinks[i].streams():
		case old != "":
			back = append(back, func() error {
				err := os.Rename(old, file)
				if err != nil {
					kept = slices.DeleteFunc(kept, func(name string) bool { return name == old })
					err = fmt.Errorf("%s: what it held is in %s: %w", file, old, err)
				}
				return err
			})
		case t.sinks[i].over == blob.Nothing:
			back = append(back, func() error { return t.sinks[i].remove() })
		}
	}
	return nil
}

// remove removes the file, which was not there before.
func (s *sink) remove() error {
	if blob.IsURL(s.file) {
		return s.paths.Remove(context.Background(), s.file)
	}
	return os.Remove(s.file)
}

// keep is a second name for the file that is going to be replaced; "" if there is none, or the file system has no second names.
func (s *sink) keep() string {
	if s.streams() || s.over == blob.Nothing || blob.IsURL(s.file) {
		return ""
	}
	name := filepath.Join(filepath.Dir(s.file), "_tmp."+filepath.Base(s.file)+"."+rand.Text())
	if os.Link(s.file, name) != nil {
		return ""
	}
	return name
}

// Abort ends the writing and forgets the files, and the folders that were made for them; after Commit it does nothing.
func (t *together) Abort() {
	for _, w := range t.files {
		w.Abort()
	}
	removeEmpty(t.made)
}
