package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"thole.example/blob"
)

// input is the bucket and the name of a path that is read.
func (e *env) input(ctx context.Context, path string) (blob.Bucket, string, error) {
	file, err := e.readable(ctx, path)
	switch {
	case err != nil:
		return nil, "", err
	case file != path:
		return blob.NewDir(filepath.Dir(file)), filepath.Base(file), nil
	}
	return bucketAt(e.paths, path)
}

// readable is the path of a file that holds what can be read at a path: the path itself, or of standard input, "-", and of
// pipes a temporary copy. Formats are read at many places, and more than once.
func (e *env) readable(ctx context.Context, path string) (string, error) {
	if file := e.spooled[path]; file != "" {
		return file, nil
	}
	if blob.IsURL(path) {
		return path, nil
	}
	if info, err := os.Stat(path); path != "-" && (err != nil || info.Mode()&os.ModeNamedPipe == 0) {
		return path, nil
	}
	dir, err := e.scratch()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, filepath.Base(path))
	if err := interruptible(ctx, func() error { return e.copyTo(file, path) }); err != nil {
		return "", err
	}
	if e.spooled == nil {
		e.spooled = map[string]string{}
	}
	e.spooled[path] = file
	return file, nil
}

// copyTo copies standard input or a pipe to a file.
func (e *env) copyTo(file, path string) error {
	from := e.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		from = f
	}
	to, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// scratch is a new temporary folder, which goes with the process.
func (e *env) scratch() (string, error) {
	dir, err := os.MkdirTemp("", "thole-")
	if err != nil {
		return "", err
	}
	e.folders = append(e.folders, dir)
	return dir, nil
}

// clean removes the temporary folders.
func (e *env) clean() {
	for _, dir := range e.folders {
		_ = os.RemoveAll(dir) // in the folder for what may be thrown away
	}
}
