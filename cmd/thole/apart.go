package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"thole.example/blob"
	"thole.example/data"
)

// apart refuses to write to the path that a flag names where that would destroy what the job reads: one of its files, or a folder of some.
func (j *job) apart(ctx context.Context, flag, path string) error {
	if path == "" || path == data.Stdin {
		return nil
	}
	for _, read := range []struct {
		flag  string
		paths []string
	}{{"data", j.data}, {"validate", j.valid}, {"weights", j.weights}, {"validate-weights", j.validWeights},
		{"start-scores", j.starts}, {"validate-start-scores", j.validStarts}} {
		files, err := data.Files(ctx, j.paths, read.paths)
		if err != nil {
			continue // which reading them tells
		}
		for _, file := range files {
			switch {
			case same(path, file):
				return usageError{fmt.Errorf("--%s %s is the file of --%s", flag, path, read.flag)}
			case around(path, file):
				return usageError{fmt.Errorf("--%s %s holds %s of --%s, want another path", flag, path, file, read.flag)}
			}
		}
	}
	return nil
}

// apartOf refuses a target that is a file of examples, or holds one.
func (s *sink) apartOf(ctx context.Context, paths []string) error {
	files, err := data.Files(ctx, s.paths, paths)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := s.apart(file); err != nil {
			return err
		}
	}
	return nil
}

// same reports whether both paths are of one regular file or object: nothing that is written destroys a stream.
func same(a, b string) bool {
	if blob.IsURL(a) || blob.IsURL(b) {
		return inBucket(a) == inBucket(b)
	}
	one, err := os.Stat(a)
	if err != nil || !one.Mode().IsRegular() {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// around reports whether the folder has the file in it, or in a folder of it.
func around(folder, file string) bool {
	if blob.IsURL(folder) || blob.IsURL(file) {
		return strings.HasPrefix(inBucket(file), inBucket(folder)+"/")
	}
	outer, err := resolved(folder)
	if err != nil {
		return false
	}
	inner, err := resolved(file)
	return err == nil && strings.HasPrefix(inner, outer+string(filepath.Separator))
}
