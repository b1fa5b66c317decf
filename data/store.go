package data

import (
	"context"
	"fmt"
	"io"
	"os"

	"thole.example/blob"
)

// A path is that of a file of the operating system or, where there is a store, a URL that the store knows (blob.Paths).

// file is an open file or object of examples.
type file interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// object is an open object of a store, read from its beginning on.
type object struct {
	*io.SectionReader
	io.Closer
}

// openFile opens a path for reading.
func openFile(ctx context.Context, store blob.Bucket, path string) (file, error) {
	if !blob.IsURL(path) {
		return os.Open(path)
	}
	if store == nil {
		return nil, errNoStore(path)
	}
	o, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return object{io.NewSectionReader(o, 0, o.Size()), o}, nil
}

func errNoStore(path string) error {
	return fmt.Errorf("%s: a URL, want a path: no store is known here: %w", path, ErrOption)
}

// Size is how many bytes what is at a path has; below 0 if it is no regular file, such as a pipe.
func Size(ctx context.Context, store blob.Bucket, path string) (int64, error) {
	if !blob.IsURL(path) {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return 0, err
		case info.IsDir():
			return 0, errFolder(path)
		case info.Mode().IsRegular():
			return info.Size(), nil
		}
		return -1, nil
	}
	if store == nil {
		return 0, errNoStore(path)
	}
	found, err := store.List(ctx, path)
	switch {
	case err != nil:
		return 0, err
	case len(found) == 0:
		return 0, &os.PathError{Op: "open", Path: path, Err: os.ErrNotExist}
	case len(found) > 1 || found[0].Name != path:
		return 0, errFolder(path)
	}
	return found[0].Size, nil
}

func errFolder(path string) error { return &Error{path, 0, fmt.Errorf("a folder, want a file")} }
