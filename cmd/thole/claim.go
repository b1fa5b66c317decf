package main

import (
	"context"
	"path/filepath"

	"thole.example/blob"
)

// inBucket is the path or URL as a name in a bucket; "" stays as it is.
func inBucket(path string) string {
	if path == "" {
		return ""
	}
	return blob.Clean(filepath.ToSlash(path))
}

// target is where a training in this process saves its model: nobody else saves there until release, or writes checkpoints where it does.
type target struct {
	name    string // in the bucket of the file system; "" if nothing is saved
	release func()
}

// target claims the path of the model, and the folder of checkpoints.
func (j *job) target(ctx context.Context, e *env) (*target, error) {
	t := &target{inBucket(j.model), func() {}}
	if j.checkpoint != "" {
		var err error
		if t.release, err = e.lock(ctx, j.checkpoint, "writes its checkpoints"); err != nil {
			return nil, err
		}
	}
	if j.model == "" {
		return t, nil
	}
	s, err := e.folder(ctx, j.model, j.force)
	if err != nil {
		t.release()
		return nil, err
	}
	t.name = inBucket(s.file)
	release, err := e.lock(ctx, s.file, "will save its model")
	if err != nil {
		t.release()
		return nil, err
	}
	ofCheckpoints := t.release
	t.release = func() { release(); ofCheckpoints() }
	return t, nil
}
