package blob

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// Files is the bucket of the whole file system, whose names are paths as people write them: relative to the working
// directory, also with "..", or absolute. Errors and listings show the names as they were given. It may be used by many
// goroutines.
type Files struct {
	// Sync says that what Commit or Publish has made visible is on the disk when they return, as Dir.Synced.
	Sync bool
}

var _ Bucket = Files{}

// at is the bucket of the root of the file system that the name is in, and its name there.
func (f Files) at(name string) (*Dir, string, error) {
	if name == "" {
		return nil, "", fmt.Errorf("blob: %q: %w", name, ErrName)
	}
	abs, err := filepath.Abs(filepath.FromSlash(name))
	if err != nil {
		return nil, "", fmt.Errorf("blob: %w", err)
	}
	volume := filepath.VolumeName(abs)
	rest := strings.TrimLeft(filepath.ToSlash(abs[len(volume):]), "/")
	if rest == "" {
		return nil, "", fmt.Errorf("blob: %q: %w", name, ErrName)
	}
	return &Dir{volume + string(filepath.Separator), f.Sync}, rest, nil
}

// Open implements Bucket.
func (f Files) Open(ctx context.Context, name string) (Object, error) {
	d, rest, err := f.at(name)
	if err != nil {
		return nil, err
	}
	return d.Open(ctx, rest)
}

// Create implements Bucket.
func (f Files) Create(ctx context.Context, name string) (Writer, error) {
	d, rest, err := f.at(name)
	if err != nil {
		return nil, err
	}
	return d.Create(ctx, rest)
}

// List implements Bucket.
func (f Files) List(ctx context.Context, tree string) ([]Info, error) {
	d, rest, err := f.at(tree)
	if err != nil {
		return nil, err
	}
	infos, err := d.List(ctx, rest)
	for i := range infos {
		infos[i].Name = strings.TrimSuffix(tree, "/") + strings.TrimPrefix(infos[i].Name, rest)
	}
	return infos, err
}

// Remove implements Bucket.
func (f Files) Remove(ctx context.Context, name string) error {
	d, rest, err := f.at(name)
	if err != nil {
		return err
	}
	return d.Remove(ctx, rest)
}

// State implements Bucket.
func (f Files) State(ctx context.Context, name string) (State, error) {
	d, rest, err := f.at(name)
	if err != nil {
		return Nothing, err
	}
	return d.State(ctx, rest)
}

// Publish implements Bucket.
func (f Files) Publish(ctx context.Context, from, to string, over State) error {
	d, rest, err := f.at(from)
	if err != nil {
		return err
	}
	other, into, err := f.at(to)
	if err != nil {
		return err
	}
	if d.root != other.root {
		return fmt.Errorf("blob: %q to %q: %w", from, to, ErrName)
	}
	return d.Publish(ctx, rest, into, over)
}

var _ Sweeper = Files{}

// Hold implements Sweeper.
func (f Files) Hold(ctx context.Context, tree string) (release func(), err error) {
	d, rest, err := f.at(tree)
	if err != nil {
		return nil, err
	}
	return d.Hold(ctx, rest)
}

// Leftovers implements Sweeper.
func (f Files) Leftovers(ctx context.Context, name string) ([]string, error) {
	return f.named(name, func(d *Dir, rest string) ([]string, error) { return d.Leftovers(ctx, rest) })
}

// Sweep implements Sweeper.
func (f Files) Sweep(ctx context.Context, name string) ([]string, error) {
	return f.named(name, func(d *Dir, rest string) ([]string, error) { return d.Sweep(ctx, rest) })
}

// Unfinished implements Sweeper.
func (f Files) Unfinished(ctx context.Context, tree string) ([]string, error) {
	d, rest, err := f.at(tree)
	if err != nil {
		return nil, err
	}
	return d.Unfinished(ctx, rest)
}

var _ Claimer = Files{}

// Claim implements Claimer.
func (f Files) Claim(ctx context.Context, tree, who string) (release func(), err error) {
	d, rest, err := f.at(tree)
	if err != nil {
		return nil, err
	}
	return d.Claim(ctx, rest, who)
}

// named gives the names that list finds beside the name as they were given.
func (f Files) named(name string, list func(d *Dir, rest string) ([]string, error)) ([]string, error) {
	d, rest, err := f.at(name)
	if err != nil {
		return nil, err
	}
	names, err := list(d, rest)
	for i := range names {
		names[i] = path.Join(path.Dir(name), path.Base(names[i]))
	}
	return names, err
}

// Room implements Roomer.
func (f Files) Room(ctx context.Context, name string) (int64, error) {
	d, rest, err := f.at(name)
	if err != nil {
		return 0, err
	}
	return d.Room(ctx, rest)
}
