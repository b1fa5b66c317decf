package blob

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// State implements Bucket: a digest of the names of the tree with what tells one file from another and from itself before it
// was written to.
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
		if err != nil {
			return err
		}
		info, err := e.Info()
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
	if err := os.MkdirAll(filepath.Dir(d.file(to)), 0o777); err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	err := system.move(d.file(from), d.file(to), over)
	if errors.Is(err, ErrChanged) {
		return changed(d.file(to), over)
	}
	if err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	return nil
}

// renames is how names are changed in one step; either function may answer errors.ErrUnsupported.
type renames struct {
	exchange func(a, b string) error     // swaps what has the two names
	free     func(from, to string) error // renames to a name that nothing has, else fs.ErrExist
}

// system is what this system offers.
var system = renames{exchange, renameFree}

// move gives from the name to. It fails with ErrChanged if what has that name is not in the state.
func (r renames) move(from, to string, over State) error {
	if over == Anything {
		return r.replace(from, to)
	}
	if over == Nothing {
		err := r.free(from, to)
		if errors.Is(err, errors.ErrUnsupported) {
			err = claimFree(from, to)
		}
		if errors.Is(err, fs.ErrExist) {
			return ErrChanged
		}
		return err
	}
	if now, err := stateOf(to); err != nil || now != over {
		return errors.Join(err, ErrChanged)
	}
	// Whoever changes it between this look and the next step gets it back.
	if r.exchange(from, to) == nil {
		if was, err := stateOf(from); err != nil || was != over {
			return errors.Join(err, r.exchange(from, to), ErrChanged)
		}
		return os.RemoveAll(from)
	}
	away := tmpName(to)
	if err := os.Rename(to, away); err != nil {
		return err
	}
	if was, err := stateOf(away); err != nil || was != over {
		return errors.Join(err, claimFree(away, to), ErrChanged)
	}
	if err := claimFree(from, to); err != nil {
		return errors.Join(err, claimFree(away, to))
	}
	return os.RemoveAll(away)
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

// replace gives from, which may be a file or a tree, the name to, whatever has it.
func (r renames) replace(from, to string) error {
	info, err := os.Lstat(to)
	old, ferr := os.Lstat(from)
	if ferr != nil {
		return ferr
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() && !old.IsDir() {
		return os.Rename(from, to)
	}
	if err != nil {
		return err
	}
	if r.exchange(from, to) == nil {
		return os.RemoveAll(from) // from is the old tree now
	}
	away := tmpName(to)
	if err := os.Rename(to, away); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return errors.Join(err, os.Rename(away, to))
	}
	return os.RemoveAll(away)
}
