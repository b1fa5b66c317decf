package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// State implements Bucket: a digest of the names of the tree with what tells one file from another and from itself before it
// was written to. What is temporary is no part of it, nor what goes while it is looked at.
func (d *Dir) State(_ context.Context, name string) (State, error) {
	if err := checkName(name); err != nil {
		return Nothing, err
	}
	s, err := stateOf(d.file(name))
	if err != nil {
		return Nothing, fmt.Errorf("blob: %w", err)
	}
	return s, nil
}

func stateOf(root string) (State, error) {
	if _, err := os.Lstat(root); missing(err) {
		return Nothing, nil
	}
	sum := sha256.New()
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		switch {
		case missing(err):
			return nil
		case err != nil:
			return err
		case file != root && strings.HasPrefix(e.Name(), tmpMark):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := e.Info()
		if missing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, file)
		fmt.Fprintf(sum, "%q %v %v", below, info.Mode().Type(), inode(info))
		if !e.IsDir() { // the time of a folder changes when it is moved
			fmt.Fprintf(sum, " %d %d", info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	return State(fmt.Sprintf("%x", sum.Sum(nil))), err
}

// Publish implements Bucket. Where the system can exchange two names in one step, and can rename to free names only, it does;
// elsewhere the old tree is renamed away first.
func (d *Dir) Publish(_ context.Context, from, to string, over State) error {
	if err := checkMove(from, to); err != nil {
		return err
	}
	if _, err := os.Lstat(d.file(from)); missing(err) {
		return fmt.Errorf("blob: %w", &fs.PathError{Op: "publish", Path: d.file(from), Err: fs.ErrNotExist})
	}
	if from == to {
		return nil
	}
	if err := d.folders(filepath.Dir(d.file(to))); err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	old, err := system.move(d.file(from), d.file(to), over)
	if errors.Is(err, ErrChanged) {
		return changed(d.file(to), over)
	}
	if err == nil {
		err = d.over(old, filepath.Dir(d.file(from)), filepath.Dir(d.file(to)))
	}
	if err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	return nil
}

// over ends a change of names, in the folders: what was replaced, if anything was, goes when what took its place is on the disk.
func (d *Dir) over(old string, changed ...string) error {
	for _, dir := range slices.Compact(changed) {
		if err := d.syncDir(dir); err != nil {
			return err
		}
	}
	if old == "" {
		return nil
	}
	return os.RemoveAll(old)
}

// operations is what a system does to files; either function that renames may answer errors.ErrUnsupported.
type operations struct {
	exchange func(a, b string) error     // swaps what has the two names
	free     func(from, to string) error // renames to a name that nothing has, else fs.ErrExist
	sync     func(f *os.File) error      // waits until a file, or the entries of a folder, are on the disk
}

// system is what this system offers.
var system = operations{exchange, renameFree, syncFile}

// move gives from the name to, and tells what the old thing of that name is called now, if there was one. It fails with ErrChanged if
// what has that name is not in the state.
func (r operations) move(from, to string, over State) (old string, err error) {
	if over == Anything {
		return r.replace(from, to)
	}
	if over == Nothing {
		err := r.free(from, to)
		if errors.Is(err, errors.ErrUnsupported) {
			err = claimFree(from, to)
		}
		if errors.Is(err, fs.ErrExist) {
			err = ErrChanged
		}
		return "", err
	}
	if now, err := stateOf(to); err != nil || now != over {
		return "", errors.Join(err, ErrChanged)
	}
	// Whoever changes it between this look and the next step gets it back.
	if r.exchange(from, to) == nil {
		if was, err := stateOf(from); err != nil || was != over {
			return "", errors.Join(err, r.exchange(from, to), ErrChanged)
		}
		return from, nil
	}
	away := tmpName(to)
	if err := os.Rename(to, away); err != nil {
		return "", err
	}
	if was, err := stateOf(away); err != nil || was != over {
		return "", errors.Join(err, claimFree(away, to), ErrChanged)
	}
	if err := claimFree(from, to); err != nil {
		return "", errors.Join(err, claimFree(away, to))
	}
	return away, nil
}

// claimFree renames to a free name without the system's help: a link and a new folder fail where something is.
func claimFree(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if err := os.Link(from, to); err != nil {
			return err
		}
		return os.Remove(from)
	}
	if err := os.Mkdir(to, 0o777); err != nil {
		return err
	}
	// Over the empty folder, which os.Rename refuses; it fails if somebody has put something into it.
	if err := syscall.Rename(from, to); err != nil {
		_ = os.Remove(to) // unless there is something in it
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// replace gives from, which may be a file or a tree, the name to, whatever has it, and tells what that is called now, if it is not gone.
func (r operations) replace(from, to string) (old string, err error) {
	info, err := os.Lstat(to)
	mine, ferr := os.Lstat(from)
	if ferr != nil {
		return "", ferr
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() && !mine.IsDir() {
		return "", os.Rename(from, to)
	}
	if err != nil {
		return "", err
	}
	if r.exchange(from, to) == nil {
		return from, nil // which is the old tree now
	}
	away := tmpName(to)
	if err := os.Rename(to, away); err != nil {
		return "", err
	}
	if err := os.Rename(from, to); err != nil {
		return "", errors.Join(err, os.Rename(away, to))
	}
	return away, nil
}
