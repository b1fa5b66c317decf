package hdfs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"thole.example/blob"
)

// State implements blob.Bucket.
func (b *Bucket) State(ctx context.Context, name string) (blob.State, error) {
	if err := checkName(name); err != nil {
		return blob.Nothing, err
	}
	for {
		s, err := b.state(ctx, name)
		if err != nil && !missing(err) {
			return blob.Nothing, b.explain("look at", name, err)
		}
		if err == nil && s != blob.Nothing {
			return s, nil
		}
		if _, err := b.settled(ctx, name); missing(err) { // else it is there again, or changed while it was looked at
			return blob.Nothing, nil
		} else if err != nil {
			return blob.Nothing, b.explain("look at", name, err)
		}
	}
}

// state is what lies at a name, looked at once.
func (b *Bucket) state(ctx context.Context, name string) (blob.State, error) {
	info, err := b.stat(ctx, name)
	if missing(err) {
		return blob.Nothing, nil
	}
	if err != nil {
		return blob.Nothing, err
	}
	sum := sha256.New()
	err = b.digest(ctx, sum, name, "", info)
	return blob.State(fmt.Sprintf("%x", sum.Sum(nil))), err
}

// digest says of everything at a name which it is, but for what is temporary below; a folder has no time of its own, as that changes when
// it is moved.
func (b *Bucket) digest(ctx context.Context, sum hash.Hash, name, below string, info os.FileInfo) error {
	if !info.IsDir() {
		fmt.Fprintf(sum, "%q %d %d %d\n", below, inode(info), info.Size(), info.ModTime().UnixMilli())
		return nil
	}
	fmt.Fprintf(sum, "%q %d\n", below, inode(info))
	entries, err := b.entries(ctx, name)
	if err != nil {
		return err // of one that has gone, too
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tmpMark) {
			continue
		}
		if err := b.digest(ctx, sum, path.Join(name, e.Name()), path.Join(below, e.Name()), e); err != nil {
			return err
		}
	}
	return nil
}

// Publish implements blob.Bucket.
func (b *Bucket) Publish(ctx context.Context, from, to string, over blob.State) error {
	if err := errors.Join(checkName(from), checkName(to)); err != nil {
		return err
	}
	if from != to && (strings.HasPrefix(from, to+"/") || strings.HasPrefix(to, from+"/")) {
		return fmt.Errorf("blob: publish %s as %s: one lies within the other", b.url(from), b.url(to))
	}
	info, err := b.stat(ctx, from)
	if missing(err) {
		return b.notThere("publish", from)
	}
	if err != nil {
		return b.explain("publish", from, err)
	}
	if from == to {
		return nil
	}
	if err = b.folders(ctx, path.Dir(to)); err == nil {
		if over == blob.Anything && !info.IsDir() {
			err = b.rename(ctx, from, to, inode(info))
		}
		if over != blob.Anything || info.IsDir() || isTree(err) {
			err = b.publish(ctx, from, to, over)
		}
	}
	switch {
	case errors.Is(err, blob.ErrChanged):
		return changed(b.url(to), over)
	case missing(err):
		return b.notThere("publish", from) // removed meanwhile
	case err != nil:
		return b.explain("publish", to, b.inTheWay(ctx, to, err))
	}
	return nil
}

// changed is the error of publishing to a name at which something else lies than over said.
func changed(to string, over blob.State) error {
	if over == blob.Nothing {
		return fmt.Errorf("blob: %s is there now, and was not before: %w", to, blob.ErrChanged)
	}
	return fmt.Errorf("blob: %s is not what it was when it was to be replaced: %w", to, blob.ErrChanged)
}

// publish moves from to a name, behind its lock.
func (b *Bucket) publish(ctx context.Context, from, to string, over blob.State) error {
	l, err := b.lock(ctx, to)
	if err != nil {
		return err
	}
	defer l.release(ctx)
	if over != blob.Anything {
		if now, err := b.state(ctx, to); err != nil && !missing(err) {
			return err
		} else if err != nil || now != over {
			return blob.ErrChanged
		}
	}
	info, err := b.stat(ctx, from)
	if err != nil {
		return err
	}
	there, err := b.stat(ctx, to)
	switch {
	case err != nil && !missing(err):
		return err
	case missing(err) || !info.IsDir() && !there.IsDir():
		return b.rename(ctx, from, to, inode(info)) // which fails if a tree has appeared
	}
	m := move{from: from, to: to, away: tmpName(to)}
	if err := l.say(ctx, attrMove, m.String()); err != nil {
		return err
	}
	return b.replace(context.WithoutCancel(ctx), m, inode(info), inode(there), over)
}

// replace renames the old thing of a number away, and the new one into its place.
func (b *Bucket) replace(ctx context.Context, m move, id, old uint64, over blob.State) error {
	if err := b.rename(ctx, m.to, m.away, old); err != nil {
		return err
	}
	if over != blob.Anything { // whoever changed it after it was looked at gets it back
		if was, err := b.state(ctx, m.away); err != nil || was != over {
			return errors.Join(err, b.rename(ctx, m.away, m.to, old), blob.ErrChanged)
		}
	}
	if err := b.rename(ctx, m.from, m.to, id); err != nil {
		return errors.Join(err, b.rename(ctx, m.away, m.to, old))
	}
	return b.remove(ctx, m.away)
}

// move is what a lock is for when something is replaced in two steps.
type move struct{ from, to, away string }

// String is the move as an attribute of the lock, parseMove its inverse.
func (m move) String() string { return fmt.Sprintf("%q %q %q", m.from, m.to, m.away) }

// moveLimit is how long the text of a move may be.
const moveLimit = 64 << 10

func parseMove(text string) (m move, ok bool) {
	if len(text) > moveLimit {
		return m, false
	}
	if n, err := fmt.Sscanf(text, "%q %q %q", &m.from, &m.to, &m.away); n != 3 || err != nil {
		return m, false
	}
	// Only what publish writes: the lock may be anybody's.
	dir, base := path.Split(m.to)
	ok = checkName(m.from) == nil && checkName(m.to) == nil && checkName(m.away) == nil &&
		strings.HasPrefix(m.away, dir+tmpMark+strings.TrimPrefix(base, tmpMark)+".")
	return m, ok
}

// moveOn ends what the dead client of a lock was at: what was renamed away is replaced if the new thing is still there, else given back.
func (b *Bucket) moveOn(ctx context.Context) func(lock string) error {
	return func(lock string) error {
		m, ok := parseMove(b.said(b.path(lock), attrMove))
		if !ok || besides(m.to, lockEnding) != lock {
			return nil
		}
		if _, err := b.stat(ctx, m.away); missing(err) {
			return nil // it had not begun, or had done all
		}
		_, err := b.stat(ctx, m.to)
		if missing(err) {
			if info, ferr := b.stat(ctx, m.from); ferr == nil {
				err = b.rename(ctx, m.from, m.to, inode(info))
			} else {
				return b.giveBack(ctx, m)
			}
		}
		if err != nil {
			return err
		}
		return b.remove(ctx, m.away)
	}
}

func (b *Bucket) giveBack(ctx context.Context, m move) error {
	info, err := b.stat(ctx, m.away)
	if err != nil {
		return err
	}
	return b.rename(ctx, m.away, m.to, inode(info))
}

// settled is what lies at a name. If there is nothing, but something at the name or above it is being replaced, it waits for the end of
// that.
func (b *Bucket) settled(ctx context.Context, name string) (os.FileInfo, error) {
	end := time.Now().Add(b.opts.Patience + leaseEnds)
	for {
		info, err := b.stat(ctx, name)
		if err == nil || !missing(err) {
			return info, err
		}
		lock, lerr := b.locked(ctx, name)
		if lerr != nil {
			return nil, lerr
		}
		if lock == "" {
			return b.stat(ctx, name) // the lock may have gone between the two looks
		}
		if l, lerr := b.acquire(ctx, lock, "", b.moveOn(ctx)); lerr == nil {
			l.release(ctx)
			continue
		} else if !errors.Is(lerr, errHeld) || time.Now().After(end) {
			return nil, fmt.Errorf("%w: something above is being replaced (%s)", fs.ErrNotExist, b.url(lock))
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// locked is the lock of the nearest of a name and those above it that is being published to, "" if there is none.
func (b *Bucket) locked(ctx context.Context, name string) (lock string, err error) {
	for at := name; at != "." && at != ""; at = path.Dir(at) {
		if strings.HasPrefix(path.Base(at), tmpMark) {
			continue
		}
		lock := besides(at, lockEnding)
		if _, err := b.stat(ctx, lock); err == nil {
			return lock, nil
		} else if !missing(err) && !errors.Is(err, fs.ErrPermission) {
			return "", err
		}
	}
	return "", nil
}

// beingReplaced is a name that a listing lacks and has a lock for, "" if there is none.
func beingReplaced(entries []os.FileInfo) string {
	there := map[string]bool{}
	for _, e := range entries {
		there[e.Name()] = true
	}
	for name := range there {
		base, is := strings.CutPrefix(name, tmpMark)
		if base, lock := strings.CutSuffix(base, lockEnding); is && lock && !there[base] {
			return base
		}
	}
	return ""
}
