package hdfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	lib "github.com/colinmarc/hdfs/v2"

	"thole.example/blob"
	"thole.example/internal/proc"
)

// lease is a file that this client has open, and never writes: while it lives, and for a minute, nobody else can open it. Its
// attributes say what others have to know.
type lease struct {
	bucket *Bucket
	name   string
	id     uint64
}

// Attributes of such files.
const (
	attrWho  = "user.thole.who"  // who has it, and in a second line the name of its process
	attrBeat = "user.thole.beat" // of a claim: a number that changes every beat
	attrMove = "user.thole.move" // what a lock is for: move.String
)

// acquire makes the file of a lease. If somebody has it, the error is errHeld. A file whose client is dead is removed, after takeover was
// called with it.
func (b *Bucket) acquire(ctx context.Context, name, who string, takeover func(name string) error) (*lease, error) {
	if !b.enter(name) {
		return nil, errHeld
	}
	for {
		err := b.attempt(ctx, func() error {
			_, err := b.client.CreateFile(b.path(name), 1, b.opts.BlockSize, 0o666&^b.opts.Umask)
			return err
		})
		if err == nil {
			return b.taken(ctx, name, who)
		}
		if errors.Is(err, fs.ErrExist) {
			err = b.clear(ctx, name, takeover)
		}
		if err != nil {
			b.leave(name)
			return nil, err
		}
	}
}

// enter reports whether nobody else in this process is at a lease.
func (b *Bucket) enter(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.mine[name]
	b.mine[name] = true
	return !was
}

func (b *Bucket) leave(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.mine, name)
}

// clear removes the file of a lease, if its client is dead.
func (b *Bucket) clear(ctx context.Context, name string, takeover func(name string) error) error {
	err := b.attempt(ctx, func() error {
		_, err := b.client.Append(b.path(name)) // whoever opens it has its lease
		return err
	})
	switch {
	case missing(err):
		return nil
	case held(err) && !b.own(err):
		return b.clearGone(ctx, name)
	case err != nil && !held(err):
		return err
	}
	if takeover != nil {
		if err := takeover(name); err != nil {
			return err
		}
	}
	return b.remove(ctx, name)
}

// clearGone removes the file of a lease that the namenode has not taken away yet, if it is seen that its process was one of this machine,
// and is gone. It is removed by its number: what somebody else puts in its place meanwhile stays.
func (b *Bucket) clearGone(ctx context.Context, name string) error {
	info, err := b.stat(ctx, name)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	file := inodePath(info)
	if _, of := owner(b.said(file, attrWho)); proc.Of(of) != proc.Gone {
		return errHeld
	}
	if err = b.attempt(ctx, func() error { return b.client.RemoveAll(file) }); missing(err) {
		return nil
	}
	return err
}

// owner is who has a claim, and the name of its process, by what the file says.
func owner(text string) (who, process string) {
	who, process, _ = strings.Cut(text, "\n")
	return cmp.Or(who, "somebody who has not said yet who it is"), process
}

// own reports whether it is this client that has the lease: it made the file, and the answer did not arrive.
func (b *Bucket) own(err error) bool {
	var r lib.Error
	return errors.As(err, &r) && strings.Contains(r.Message(), b.client.Name()+" is already the current lease holder")
}

func (b *Bucket) taken(ctx context.Context, name, who string) (*lease, error) {
	info, err := b.stat(ctx, name)
	if err != nil {
		b.leave(name)
		return nil, err
	}
	l := &lease{b, name, inode(info)}
	if who != "" {
		if err := l.say(ctx, attrWho, who); err != nil {
			l.release(ctx)
			return nil, err
		}
	}
	return l, nil
}

// say sets an attribute.
func (l *lease) say(ctx context.Context, attr, text string) error {
	return l.bucket.attempt(ctx, func() error { return l.bucket.client.SetXAttr(l.bucket.path(l.name), attr, text) })
}

// said is an attribute of a file, "" if it has none.
func (b *Bucket) said(file, attr string) string {
	attrs, err := b.client.GetXAttrs(file, attr)
	if err != nil {
		return ""
	}
	return attrs[attr]
}

// release removes the file, unless somebody else has taken it over.
func (l *lease) release(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if info, err := l.bucket.stat(ctx, l.name); err == nil && inode(info) == l.id {
		_ = l.bucket.remove(ctx, l.name) // else it is free a minute after the end of this process
	}
	l.bucket.leave(l.name)
}

// live reports whether somebody has a file open. What is closed stays as it is.
func (b *Bucket) live(ctx context.Context, name string, size int64) (bool, error) {
	err := b.attempt(ctx, func() error {
		_, err := b.client.Truncate(b.path(name), size) // which has nothing to do, once it has the lease
		return err
	})
	switch {
	case held(err) || errors.Is(err, fs.ErrPermission):
		return true, nil // or not ours to touch
	case missing(err):
		return false, nil
	}
	return false, err
}

// besides is a name of a lease for a name.
func besides(name, what string) string {
	dir, base := path.Split(name)
	return dir + tmpMark + strings.TrimPrefix(base, tmpMark) + what
}

// Claim implements blob.Claimer. A claim of a process that was killed is free 60 seconds later, or at once if it was one of this machine.
func (b *Bucket) Claim(ctx context.Context, tree, who string) (release func(), err error) {
	if err := checkName(tree); err != nil {
		return nil, err
	}
	if err := b.folders(ctx, path.Dir(tree)); err != nil {
		return nil, b.explain("claim", tree, b.inTheWay(ctx, tree, err))
	}
	name := besides(tree, ".claim")
	me := proc.Name(os.Getpid())
	who, _, _ = strings.Cut(who, "\n")
	l, err := b.acquire(ctx, name, who+"\n"+me, nil)
	if errors.Is(err, errHeld) {
		return nil, b.claimed(tree, name, me)
	}
	if err != nil {
		return nil, b.explain("claim", tree, err)
	}
	return l.beat(), nil
}

// claimed is the error of who claims a tree whose claim somebody has.
func (b *Bucket) claimed(tree, name, me string) *blob.Claimed {
	who, of := owner(b.said(b.path(name), attrWho))
	c := &blob.Claimed{Tree: tree, Who: who, Beat: b.said(b.path(name), attrBeat)}
	if of == me || proc.Of(of) != proc.Lives { // of this process, some may be left that it could not release
		c.Lapses = leaseEnds + leaseRecovers
	}
	return c
}

// beat renews a claim, for those who wait to see whether it is, until release or Close is called. The lease itself the library renews.
func (l *lease) beat() (release func()) {
	ctx, end := context.WithCancel(l.bucket.life)
	var all sync.WaitGroup
	all.Go(func() {
		for n := 1; sleep(ctx, beatEvery) == nil; n++ {
			_ = l.say(ctx, attrBeat, strconv.Itoa(n)) // or the next time
		}
	})
	return sync.OnceFunc(func() {
		end()
		all.Wait()
		l.release(context.Background())
	})
}

// lock makes this client the only one that publishes to a name.
func (b *Bucket) lock(ctx context.Context, name string) (*lease, error) {
	end := time.Now().Add(b.opts.Patience + leaseEnds)
	for {
		l, err := b.acquire(ctx, besides(name, lockEnding), "", b.moveOn(ctx))
		if !errors.Is(err, errHeld) {
			return l, err
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("somebody else has been publishing to it for %v: %w", b.opts.Patience+leaseEnds, err)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

const (
	lockEnding = ".lock"
	leaseEnds  = time.Minute // after it was renewed last

	leaseRecovers = 15 * time.Second // in which the namenode gives it to another, with all that is retried
	beatEvery     = 5 * time.Second
)
