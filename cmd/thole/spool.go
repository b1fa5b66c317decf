package main

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"thole.example/blob"
)

// input is the bucket and the name of a path that is read. Standard input, "-", and pipes are copied to a temporary file
// first: formats are read at many places, and more than once.
func (e *env) input(ctx context.Context, path string) (blob.Bucket, string, error) {
	if b := e.spooled[path]; b != nil {
		return b, filepath.Base(path), nil
	}
	if info, err := os.Stat(path); path != "-" && (err != nil || info.Mode()&os.ModeNamedPipe == 0) {
		return bucketAt(path)
	}
	b, err := e.scratch()
	if err != nil {
		return nil, "", err
	}
	if err := interruptible(ctx, func() error { return e.copyTo(ctx, b, path) }); err != nil {
		return nil, "", err
	}
	if e.spooled == nil {
		e.spooled = map[string]*blob.Dir{}
	}
	e.spooled[path] = b
	return b, filepath.Base(path), nil
}

// copyTo copies standard input or a pipe to a file of the folder, under its own name.
func (e *env) copyTo(ctx context.Context, b *blob.Dir, path string) error {
	from := e.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		from = f
	}
	w, err := b.Create(ctx, filepath.Base(path))
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := io.Copy(w, from); err != nil {
		return err
	}
	return w.Commit()
}

// scratch is a new temporary folder, which goes with the process.
func (e *env) scratch() (*blob.Dir, error) {
	dir, err := os.MkdirTemp("", "thole-")
	if err != nil {
		return nil, err
	}
	e.folders = append(e.folders, dir)
	return blob.NewDir(dir), nil
}

// clean removes the temporary folders.
func (e *env) clean() {
	for _, dir := range e.folders {
		_ = os.RemoveAll(dir) // in the folder for what may be thrown away
	}
}

// local is input with a name that is one word: for readers that look beside a file.
func (e *env) local(ctx context.Context, path string) (blob.Bucket, string, error) {
	b, name, err := e.input(ctx, path)
	if _, files := b.(blob.Files); files && err == nil {
		return blob.Local(path)
	}
	return b, name, err
}
