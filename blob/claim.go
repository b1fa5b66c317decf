package blob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sync"

	"thole.example/internal/filelock"
)

// Claimer is a Bucket in which one process at a time can have a tree for itself.
type Claimer interface {
	// Claim makes the tree this process's, which need not exist, until release is called, once or more often, or the process ends, however
	// that is. who says whose it is, to others who claim it: they get a *Claimed. It keeps nobody from writing there who does not claim
	// it. Where files cannot be locked it does nothing.
	Claim(ctx context.Context, tree, who string) (release func(), err error)
}

// Claimed is the error of whoever claims a tree that somebody has.
type Claimed struct{ Tree, Who string }

// Error implements error.
func (c *Claimed) Error() string { return fmt.Sprintf("blob: %s is that of %s", c.Tree, c.Who) }

// whoLimit is how many bytes are read of what a claim says.
const whoLimit = 1 << 10

// Claim implements Claimer. The lock is on a file beside the tree, hidden as what is not finished.
func (d *Dir) Claim(ctx context.Context, tree, who string) (release func(), err error) {
	if err := checkName(tree); err != nil {
		return nil, err
	}
	dir := filepath.Dir(d.file(tree))
	name := filepath.Join(dir, tmpMark+path.Base(tree)+".claim")
	for ctx.Err() == nil {
		if err := d.folders(dir); err != nil {
			return nil, fmt.Errorf("blob: %w", err)
		}
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if missing(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("blob: %w", err)
		}
		switch err := filelock.Alone(f); {
		case errors.Is(err, filelock.ErrHeld):
			text, _ := io.ReadAll(io.LimitReader(f, whoLimit)) // it is a courtesy
			f.Close()
			return nil, &Claimed{tree, cmp.Or(string(text), "somebody who has not said yet who it is")}
		case err != nil:
			f.Close()
			return func() {}, os.Remove(name)
		case !current(f, name): // whoever had it has removed it
			f.Close()
			continue
		}
		err = f.Truncate(0)
		if err == nil {
			_, err = f.WriteAt([]byte(who), 0)
		}
		release = sync.OnceFunc(func() { os.Remove(name); f.Close() }) // later the file is somebody else's
		if err != nil {
			release()
			return nil, fmt.Errorf("blob: %w", err)
		}
		return release, nil
	}
	return nil, context.Cause(ctx)
}
