package hdfs

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// holdMark stands in the names of the files that hold a tree.
const holdMark = ".hold."

// releaseOnce is what ends a lease when it is called first.
func releaseOnce(l *lease) func() {
	return sync.OnceFunc(func() { l.release(context.Background()) })
}

// Hold implements blob.Sweeper.
func (b *Bucket) Hold(ctx context.Context, tree string) (release func(), err error) {
	if err := checkName(tree); err != nil {
		return nil, err
	}
	if err := b.folders(ctx, tree); err != nil {
		return nil, b.explain("hold", tree, b.inTheWay(ctx, tree+"/x", err))
	}
	l, err := b.acquire(ctx, besides(tree, holdMark+rand.Text()), "", nil)
	if err != nil {
		return nil, b.explain("hold", tree, err)
	}
	return releaseOnce(l), nil
}

// Leftovers implements blob.Sweeper: what is older than Options.Age, too. The lease of a process that was killed ends after a minute, but
// not all that is being written has one at every moment.
func (b *Bucket) Leftovers(ctx context.Context, name string) (names []string, err error) {
	err = b.eachLeftover(ctx, name, func(left string) error {
		names = append(names, left)
		return nil
	})
	return names, err
}

// Sweep implements blob.Sweeper.
func (b *Bucket) Sweep(ctx context.Context, name string) (names []string, err error) {
	err = b.eachLeftover(ctx, name, func(left string) error {
		names = append(names, left)
		if !strings.HasSuffix(left, lockEnding) {
			return b.remove(ctx, left)
		}
		l, err := b.acquire(ctx, left, "", b.moveOn(ctx)) // what it was for has to be ended first
		if err == nil {
			l.release(ctx)
		}
		if errors.Is(err, errHeld) {
			return nil
		}
		return err
	})
	return names, err
}

// eachLeftover visits what was to become the name and is old, and open nowhere.
func (b *Bucket) eachLeftover(ctx context.Context, name string, visit func(left string) error) error {
	if err := checkName(name); err != nil {
		return err
	}
	dir, base := path.Split(name)
	entries, err := b.entries(ctx, path.Dir(name))
	if missing(err) {
		return nil
	}
	for _, e := range entries {
		if err != nil {
			break
		}
		if !strings.HasPrefix(e.Name(), tmpMark+base+".") {
			continue
		}
		var used bool
		if used, err = b.used(ctx, dir+e.Name(), e, entries); err == nil && !used {
			err = visit(dir + e.Name())
		}
	}
	if err != nil {
		return b.explain("sweep", name, err)
	}
	return nil
}

// used reports whether a temporary name is young, or somebody has it or holds it; entries are all beside it.
func (b *Bucket) used(ctx context.Context, name string, info os.FileInfo, entries []os.FileInfo) (bool, error) {
	if young, err := b.young(ctx, name, info); young || err != nil {
		return young, err
	}
	if !info.IsDir() {
		return b.live(ctx, name, info.Size())
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), info.Name()+holdMark) && !e.IsDir() {
			if live, err := b.live(ctx, path.Join(path.Dir(name), e.Name()), e.Size()); live || err != nil {
				return live, err
			}
		}
	}
	return false, nil
}

// young reports whether something at a name changed not long ago.
func (b *Bucket) young(ctx context.Context, name string, info os.FileInfo) (bool, error) {
	if time.Since(info.ModTime()) < b.opts.Age {
		return true, nil
	}
	if !info.IsDir() {
		return false, nil
	}
	entries, err := b.entries(ctx, name)
	if missing(err) {
		return true, nil // somebody is at it
	}
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if young, err := b.young(ctx, path.Join(name, e.Name()), e); young || err != nil {
			return young, err
		}
	}
	return false, nil
}

// Unfinished implements blob.Sweeper.
func (b *Bucket) Unfinished(ctx context.Context, tree string) (names []string, err error) {
	if tree == "." {
		tree = ""
	}
	if tree != "" {
		if err := checkName(tree); err != nil {
			return nil, err
		}
	}
	entries, err := b.entries(ctx, tree)
	if err != nil && !missing(err) {
		return nil, b.explain("list", tree, err)
	}
	for _, e := range entries {
		if name, is := strings.CutPrefix(e.Name(), tmpMark); is {
			names = append(names, name)
		}
	}
	return names, nil
}
