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
	"time"

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
type Claimed struct {
	Tree, Who string
	// Lapses is how long it takes at most until the tree can be claimed, if whoever has it does not live any more; 0: it is known to live.
	Lapses time.Duration
	// Beat changes as often as the claim is renewed, within a few seconds.
	Beat string
}

// Error implements error.
func (c *Claimed) Error() string { return fmt.Sprintf("blob: %s is that of %s", c.Tree, c.Who) }

// How often a claim is looked at that may lapse, and for how much longer than was said.
const (
	lookMost   = time.Second
	lookLeast  = 10 * time.Millisecond
	lapseGrace = 5 * time.Second
)

// Await is Claim for a process that may have been started again: the claim of one that died it waits for until that lapses. A claim
// that is renewed meanwhile, or taken by another, is somebody's, and an error as of Claim. waits is called before it waits, at most once.
func Await(ctx context.Context, c Claimer, tree, who string, waits func(*Claimed)) (release func(), err error) {
	var first *Claimed
	var late <-chan time.Time
	for {
		release, err := c.Claim(ctx, tree, who)
		now, is := errors.AsType[*Claimed](err)
		if !is || now.Lapses <= 0 {
			return release, err
		}
		if first == nil {
			first, late = now, time.After(now.Lapses+lapseGrace)
			waits(now)
		}
		if now.Beat != first.Beat {
			return nil, err
		}
		select {
		case <-late: // the store's time does not go on
			return nil, err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(min(max(now.Lapses/10, lookLeast), lookMost)):
		}
	}
}

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
			return nil, &Claimed{Tree: tree, Who: cmp.Or(string(text), "somebody who has not said yet who it is")}
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
