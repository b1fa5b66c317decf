package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"thole.example/blob"
)

// inBucket is the path as a name in a bucket; "" stays as it is.
func inBucket(path string) string {
	if path == "" {
		return ""
	}
	return filepath.ToSlash(filepath.Clean(path))
}

// target is where a training in this process saves its model: nobody else saves there until release.
type target struct {
	name    string // in the bucket of the file system; "" if nothing is saved
	release func()
}

// target claims the path of the model.
func (j *job) target() (*target, error) {
	t := &target{inBucket(j.model), func() {}}
	if j.model == "" {
		return t, nil
	}
	for flag, other := range map[string]string{"data": j.data, "validate": j.valid} {
		if same(j.model, other) {
			return nil, usageError{fmt.Errorf("--model %s is the file of --%s", j.model, flag)}
		}
	}
	_, err := replaceable(j.model, j.force)
	if err != nil {
		return nil, err
	}
	t.release, err = lock(j.model)
	return t, err
}

// same tells whether both paths are of one file.
func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// replaceable refuses to write over what exists, unless forced; and even then over what is not a model. It answers with what is
// there, which is what may be replaced later.
func replaceable(path string, force bool) (blob.State, error) {
	over, err := seen(path, force)
	if err != nil || over == blob.Nothing {
		return over, err
	}
	return over, codecs().Replaceable(context.Background(), blob.Files{}, inBucket(path), true)
}

// seen is what lies at a path that will be written to: nothing, unless forced.
func seen(path string, force bool) (blob.State, error) {
	if _, err := os.Lstat(path); err != nil {
		return blob.Nothing, nil
	}
	if !force {
		return blob.Nothing, fmt.Errorf("%s exists; --force replaces it", path)
	}
	return blob.Files{}.State(context.Background(), inBucket(path))
}
