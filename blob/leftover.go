package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"thole.example/internal/filelock"
)

// Sweeper is a Bucket that outlives its processes, and can tell what one that ended in the middle left behind.
type Sweeper interface {
	// Hold makes the tree, of a temporary name, this process's until release is called or the process ends. Several may hold
	// one tree.
	Hold(ctx context.Context, tree string) (release func(), err error)
	// Leftovers are the temporary objects and trees that were to become the name, and that no process holds or writes.
	Leftovers(ctx context.Context, name string) ([]string, error)
	// Sweep removes the Leftovers of the name, and tells which.
	Sweep(ctx context.Context, name string) ([]string, error)
	// Unfinished are the temporary names in a tree, which is the whole bucket if it is "" or ".", each as the last part of the name that it
	// was to become, a "." and what makes it unlike others. Some may be held or written.
	Unfinished(ctx context.Context, tree string) ([]string, error)
}

// Hold implements Sweeper. Where files cannot be locked it does nothing, and nothing is swept.
func (d *Dir) Hold(ctx context.Context, tree string) (release func(), err error) {
	if err := checkName(tree); err != nil {
		return nil, err
	}
	dir := d.file(tree)
	for ctx.Err() == nil {
		err := d.folders(dir)
		if sweptMeanwhile(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("blob: %w", err)
		}
		f, err := os.Open(dir)
		if missing(err) {
			continue // swept before it was held
		}
		if err != nil {
			return nil, fmt.Errorf("blob: %w", err)
		}
		if err := filelock.Shared(f); err != nil || current(f, dir) {
			return func() { f.Close() }, nil
		}
		f.Close()
	}
	return nil, context.Cause(ctx)
}

// sweptMeanwhile reports whether making folders failed because somebody else made one, and a third swept it before it was looked at.
// If not, something that is no folder is in the way.
func sweptMeanwhile(err error) bool {
	var at *fs.PathError
	if !errors.As(err, &at) || !errors.Is(err, fs.ErrExist) {
		return false
	}
	info, err := os.Lstat(at.Path)
	return missing(err) || err == nil && info.IsDir()
}

// current reports whether the open file still has the name.
func current(f *os.File, name string) bool {
	mine, err := f.Stat()
	now, nerr := os.Stat(name)
	return err == nil && nerr == nil && os.SameFile(mine, now)
}

// Leftovers implements Sweeper.
func (d *Dir) Leftovers(_ context.Context, name string) (names []string, err error) {
	err = d.eachLeftover(name, func(left, _ string) error {
		names = append(names, left)
		return nil
	})
	return names, err
}

// Sweep implements Sweeper.
func (d *Dir) Sweep(_ context.Context, name string) (names []string, err error) {
	err = d.eachLeftover(name, func(left, file string) error {
		names = append(names, left)
		return os.RemoveAll(file)
	})
	return names, err
}

// eachLeftover visits what was to become the name and is held by nobody; until visit returns nobody can take hold of it.
func (d *Dir) eachLeftover(name string, visit func(left, file string) error) error {
	if err := checkName(name); err != nil {
		return err
	}
	dir, base := filepath.Split(d.file(name))
	files, err := os.ReadDir(dir)
	if missing(err) {
		return nil
	}
	for _, e := range files {
		if err != nil {
			break
		}
		if !strings.HasPrefix(e.Name(), tmpMark+base+".") || !e.IsDir() && !e.Type().IsRegular() {
			continue
		}
		file := filepath.Join(dir, e.Name())
		f, ferr := os.Open(file)
		if ferr != nil {
			continue // it is gone, or not ours to look at
		}
		if filelock.Alone(f) == nil && current(f, file) {
			err = visit(strings.TrimSuffix(name, base)+e.Name(), file)
		}
		f.Close()
	}
	if err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	return nil
}

// Unfinished implements Sweeper.
func (d *Dir) Unfinished(_ context.Context, tree string) (names []string, err error) {
	if tree != "" && tree != "." {
		if err := checkName(tree); err != nil {
			return nil, err
		}
	}
	entries, err := os.ReadDir(d.file(tree))
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("blob: %w", err)
	}
	for _, e := range entries {
		if name, is := strings.CutPrefix(e.Name(), tmpMark); is {
			names = append(names, name)
		}
	}
	return names, nil
}
