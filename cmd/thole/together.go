package main

import (
	"context"
	"crypto/rand"
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
	if !s.streams() {
		t.made = append(t.made, missingFolders(filepath.Dir(s.file))...)
	}
	w, err := s.create(ctx)
	if err == nil {
		t.sinks, t.files = append(t.sinks, s), append(t.files, w)
	}
	return w, err
}

// Commit ends the writing. Where one of the files cannot appear, those that had are gone again, and what they replaced is back.
func (t *together) Commit() error {
	var back []func() // for each file that appeared
	var kept []string // copies of what was replaced
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
				undo()
			}
			return err
		}
		switch file := t.sinks[i].file; {
		case t.sinks[i].streams():
		case old != "":
			back = append(back, func() { os.Rename(old, file) })
		case t.sinks[i].over == blob.Nothing:
			back = append(back, func() { os.Remove(file) })
		}
	}
	return nil
}

// keep is a second name for the file that is going to be replaced; "" if there is none, or the file system has no second names.
func (s *sink) keep() string {
	if s.streams() || s.over == blob.Nothing {
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
