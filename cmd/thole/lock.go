package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"thole.example/blob"
	"thole.example/internal/filelock"
)

// lock makes this process the only one that does something at the path, until it ends or calls release. The lock is on a file beside
// the path, hidden as what is not finished; one that a killed process left holds nobody up.
//
// Folders on the way to the path that were not there are made, and removed by release if nothing was put into them.
// In a store it is a claim of that (blob.Claimer).
func (e *env) lock(ctx context.Context, path, does string) (release func(), err error) {
	if blob.IsURL(path) {
		return e.claim(ctx, path, does)
	}
	name := filepath.Join(filepath.Dir(path), "_tmp."+filepath.Base(path)+".lock")
	made := missingFolders(filepath.Dir(path))
	for tries := lockTries; ; tries-- {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			removeEmpty(made)
			return nil, err
		}
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if errors.Is(err, fs.ErrNotExist) && tries > 0 {
			continue // another process has removed the folder that it had made
		}
		if err != nil {
			removeEmpty(made)
			return nil, fmt.Errorf("%s: cannot write to its folder: %w", path, err)
		}
		switch err := filelock.Alone(f); {
		case errors.Is(err, filelock.ErrHeld):
			f.Close()
			return nil, fmt.Errorf("%s: another process %s there", path, does)
		case err != nil: // the system, or its file system, has no locks
			f.Close()
			return func() { removeEmpty(made) }, os.Remove(name)
		}
		if hasPath(f, name) {
			return func() { os.Remove(name); f.Close(); removeEmpty(made) }, nil
		}
		f.Close() // whoever had it has removed it
	}
}

// claim is lock in a store, where that of a process which was killed elsewhere has to lapse first. Servers claim the folder itself where
// they write checkpoints.
func (e *env) claim(ctx context.Context, path, does string) (release func(), err error) {
	release, err = e.claimTree(ctx, e.paths, path, inBucket(path)+".lock")
	if held := (*blob.Claimed)(nil); errors.As(err, &held) {
		err = fmt.Errorf("%s: another process %s there (%s)", path, does, held.Who)
	}
	return release, err
}

// claimTree claims a tree of a bucket for this command. It says on stderr if it waits for a claim that nobody renews.
func (e *env) claimTree(ctx context.Context, b blob.Claimer, path, tree string) (release func(), err error) {
	host, err := os.Hostname()
	if err != nil {
		host = "a machine without a name"
	}
	who := fmt.Sprintf("process %d of %s, thole %s, since %s", os.Getpid(), host, firstWord(e.args), e.now().UTC().Format(time.RFC3339))
	return blob.Await(ctx, b, tree, who, func(by *blob.Claimed) {
		fmt.Fprintf(legible{e.err}, "%s is claimed by %s: waits until it is seen whether that lives, for at most %v\n", path, by.Who,
			by.Lapses.Round(time.Second))
	})
}

// firstWord is the command of a command line.
func firstWord(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// lockTries is how often the folder of a lock is made again that somebody else has removed.
const lockTries = 100

// hasPath reports whether the open file, or folder, still has the path: nobody has removed it, or put another one there.
func hasPath(f *os.File, path string) bool {
	mine, err := f.Stat()
	now, nerr := os.Stat(path)
	return err == nil && nerr == nil && os.SameFile(mine, now)
}
