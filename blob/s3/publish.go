package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"thole.example/blob"
)

// Publish implements blob.Bucket: an object by a copy inside the store, a tree by a note that is followed by copies. See the package.
func (b *Bucket) Publish(ctx context.Context, from, to string, over blob.State) error {
	if err := checkMove(from, to); err != nil {
		return err
	}
	err := b.publish(ctx, from, to, over)
	if errors.Is(err, errAbsent) {
		return b.absent("publish", from)
	}
	return b.fails("publish", to, err)
}

var errAbsent = errors.New("nothing there")

func (b *Bucket) publish(ctx context.Context, from, to string, over blob.State) error {
	if err := errors.Join(b.settle(ctx, from), b.settle(ctx, to)); err != nil {
		return err
	}
	source, is, err := b.head(ctx, b.key(from))
	if err != nil {
		return err
	}
	if from == to {
		if !is {
			if is, err = b.occupied(ctx, b.key(from)); err == nil && !is {
				err = errAbsent
			}
		}
		return err
	}
	if err := b.room(ctx, to); err != nil {
		return err
	}
	if is {
		replaced, err := b.occupied(ctx, b.key(to))
		if err != nil {
			return err
		}
		if !replaced {
			return b.publishObject(ctx, from, to, source, over)
		}
	}
	return b.publishTree(ctx, from, to, over)
}

// on is the condition under which an object takes a name over what lies there, after it was compared: what may happen until the put is
// left to the store.
func (at there) on(over blob.State) condition {
	switch {
	case over == blob.Anything:
		return condition{}
	case at.object != nil:
		return condition{etag: at.object.ETag}
	}
	return condition{none: true}
}

// publishObject moves an object to a name at which there is no tree.
func (b *Bucket) publishObject(ctx context.Context, from, to string, source entry, over blob.State) error {
	var at there
	if over != blob.Anything {
		var err error
		if at, err = b.look(ctx, b.key(to)); err != nil {
			return err
		}
		if at.state() != over {
			return b.changed(to, over)
		}
	}
	err := b.copy(ctx, b.key(from), b.key(to), source, at.on(over), true)
	if refused(err) {
		return b.changed(to, over)
	}
	if missing(err) {
		return errAbsent
	}
	if err != nil {
		return err
	}
	return b.delete(ctx, b.key(from), source.ETag)
}

const (
	smallCopy = 1 << 20 // copied by way of this process when a condition has to hold
	wholeCopy = 5 << 30 // the most that one request copies
	copyPart  = 1 << 30
)

// copy copies an object inside the store, on a condition. If that must hold, the object is put: all stores that know conditions know
// them there, and only some where they copy.
func (b *Bucket) copy(ctx context.Context, from, to string, source entry, on condition, strict bool) error {
	free := on == condition{}
	switch {
	case strict && !free && source.Size <= smallCopy:
		o, err := b.openAt(ctx, place{name: b.name(from), key: from, home: from, etag: source.ETag, size: source.Size})
		if err != nil {
			return err
		}
		defer o.Close()
		_, err = b.put(ctx, to, bytes.NewReader(o.head), o.size, on)
		return err
	case strict && !free || source.Size > wholeCopy:
		return b.copyParts(ctx, from, to, source, on)
	}
	in := &s3.CopyObjectInput{Bucket: &b.opts.Bucket, Key: &to, CopySource: b.source(from), CopySourceIfMatch: &source.ETag}
	in.IfMatch, in.IfNoneMatch = on.headers()
	_, err := b.client.CopyObject(ctx, in)
	return err
}

// source is a key as copies name it.
func (b *Bucket) source(key string) *string {
	parts := strings.Split(b.opts.Bucket+"/"+key, "/")
	for i := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(parts[i]), "+", "%2B") // a "+" would be a blank
	}
	return aws.String(strings.Join(parts, "/"))
}

// copyParts copies a large object, in parts at once.
func (b *Bucket) copyParts(ctx context.Context, from, to string, source entry, on condition) error {
	u, err := b.begin(ctx, to, "") // not all stores tell the checksums of parts that they copy
	if err != nil {
		return err
	}
	parts := make([]types.CompletedPart, max((source.Size+copyPart-1)/copyPart, 1))
	err = each(ctx, b.opts.Concurrency, len(parts), func(ctx context.Context, i int) error {
		first, last := int64(i)*copyPart, min(int64(i+1)*copyPart, source.Size)-1
		out, err := b.client.UploadPartCopy(ctx, &s3.UploadPartCopyInput{
			Bucket: &b.opts.Bucket, Key: &to, UploadId: &u.id, PartNumber: aws.Int32(int32(i + 1)), CopySource: b.source(from),
			CopySourceIfMatch: &source.ETag, CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-%d", first, last)),
		})
		if err == nil && out.CopyPartResult == nil {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			parts[i] = types.CompletedPart{PartNumber: aws.Int32(int32(i + 1)), ETag: out.CopyPartResult.ETag}
		}
		return err
	})
	if err == nil {
		err = b.complete(ctx, u, parts, on)
	}
	if err != nil {
		b.abandon(u)
	}
	return err
}

// publishTree moves a tree, or an object to the name of a tree, in the steps that the package describes.
func (b *Bucket) publishTree(ctx context.Context, from, to string, over blob.State) error {
	for {
		n := &note{Kind: noteKind, ID: rand.Text(), From: b.key(from), tree: b.key(to)}
		lock := &note{Kind: noteKind, ID: n.ID, To: n.tree, tree: n.From}
		err := b.acquire(ctx, n)
		if err != nil {
			return err
		}
		err = b.acquire(ctx, lock)
		if err == nil {
			err = b.move(ctx, n, over)
			var unsure *unsureError
			switch {
			case err == nil:
				if err = b.finish(ctx, n); err != nil {
					err = fmt.Errorf("it is published, but not all of it is in its place yet, which the next writer puts right: %w", err)
				}
				return err
			case errors.As(err, &unsure):
				return err
			}
			b.release(ctx, lock)
		}
		b.release(ctx, n)
		var busy *occupiedError
		if !errors.As(err, &busy) {
			return err
		}
		if err := b.clear(ctx, busy.key); err != nil {
			return err
		}
	}
}

// occupiedError says that a tree around or within is being published or removed by somebody: that comes first.
type occupiedError struct{ key string }

// unsureError says that the request which makes a note come to pass may have been done: nothing may be taken back.
type unsureError struct{ err error }

func (e *unsureError) Error() string {
	return fmt.Sprintf("whether it is published is not known: look at it again in a minute (%v)", e.err)
}

func (e *unsureError) Unwrap() error { return e.err }

func (e *occupiedError) Error() string { return e.key + " is being published or removed" }

// move makes the note, which is held as is the one beside From, come to pass, if what lies at the tree is still what over says.
func (b *Bucket) move(ctx context.Context, n *note, over blob.State) error {
	if err := b.alone(ctx, n.From, n.tree); err != nil {
		return err
	}
	source, err := b.look(ctx, n.From)
	if err != nil {
		return err
	}
	target, err := b.look(ctx, n.tree)
	if err != nil {
		return err
	}
	for _, t := range append(source.notes, target.notes...) {
		return &occupiedError{t}
	}
	n.New, n.Old = slices.DeleteFunc(source.all(), func(e entry) bool { return held(e.Name) }), target.all()
	switch {
	case len(n.New) == 0:
		return errAbsent
	case over != blob.Anything && target.state() != over:
		return b.changed(b.name(n.tree), over)
	}
	n.Moved = true
	err = b.putNote(ctx, n, condition{etag: n.etag})
	if refused(err) { // somebody took this process for dead
		return &occupiedError{n.tree}
	}
	if err != nil {
		return &unsureError{err}
	}
	return nil
}

// alone refuses to go on if a tree around these keys is being published or removed.
func (b *Bucket) alone(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		around := above(key)
		around = around[:len(around)-1]
		err := each(ctx, max(len(around), 1), len(around), func(ctx context.Context, i int) error {
			n, err := b.note(ctx, around[i])
			if err == nil && n != nil {
				err = &occupiedError{around[i]}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// acquire puts a note where there is none, or in the place of one whose process ended before it came to pass.
func (b *Bucket) acquire(ctx context.Context, n *note) error {
	for {
		err := b.putNote(ctx, n, condition{none: true})
		if !refused(err) {
			return err
		}
		if err := b.clear(ctx, n.tree); err != nil {
			return err
		}
	}
}

// release takes a note away that has not come to pass. If that fails it will be found to be old.
func (b *Bucket) release(ctx context.Context, n *note) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.opts.Timeout)
	defer cancel()
	_ = b.delete(ctx, noteKey(n.tree), n.etag)
}

// settle waits until nothing that has come to pass is unfinished at the name or around it, and finishes what is old.
func (b *Bucket) settle(ctx context.Context, name string) error {
	for {
		notes, err := b.notes(ctx, b.key(name))
		if err != nil {
			return err
		}
		n, _ := governing(notes, "")
		if n == nil {
			return nil
		}
		if err := b.clear(ctx, n.tree); err != nil {
			return err
		}
	}
}

// clear waits until the note beside a tree is gone, or is another one. One whose process has ended is finished, or removed if it has not
// come to pass.
func (b *Bucket) clear(ctx context.Context, tree string) error {
	id := ""
	for attempt := 0; ; attempt++ {
		n, err := b.note(ctx, tree)
		if err != nil || n == nil || id != "" && n.ID != id {
			return err
		}
		id = n.ID
		if n.abandoned(b.opts.Stale) {
			return b.resolve(ctx, n)
		}
		if err := b.pause(ctx, min(attempt, 4)); err != nil {
			return err
		}
	}
}

// resolve ends what a note says whose process has ended.
func (b *Bucket) resolve(ctx context.Context, n *note) error {
	switch {
	case n.Moved:
		return b.finish(ctx, n)
	case n.To != "":
		to, err := b.note(ctx, n.To)
		if err != nil {
			return err
		}
		if to != nil && to.ID == n.ID && to.Moved {
			return b.finish(ctx, to)
		}
	}
	return b.delete(ctx, noteKey(n.tree), n.etag)
}

// finish does what a note that has come to pass says. Several may do it at once, and each step may have been done before: objects that
// are not what the note knows are left as they are.
func (b *Bucket) finish(ctx context.Context, n *note) error {
	if n.From != "" {
		lock, err := b.note(ctx, n.From)
		if err != nil {
			return err
		}
		if lock != nil && lock.ID != n.ID {
			lock = nil
		}
		err = b.removeEach(ctx, n.tree, n.gone())
		if err == nil {
			err = b.copyAll(ctx, n, lock != nil)
		}
		if err == nil && lock != nil {
			err = b.removeSource(ctx, n, lock)
		}
		if err != nil {
			return err
		}
	} else if err := b.removeEach(ctx, n.tree, n.Old); err != nil {
		return err
	}
	return b.delete(ctx, noteKey(n.tree), n.etag)
}

// copyAll puts all new objects in their places. Without the note beside From nobody may take anything from there any more: then all must
// have been done.
func (b *Bucket) copyAll(ctx context.Context, n *note, may bool) error {
	return each(ctx, b.opts.Concurrency, len(n.New), func(ctx context.Context, i int) error {
		e := n.New[i]
		on := condition{none: true}
		if old, is := lookup(n.Old, e.Name); is {
			on = condition{etag: old.ETag}
		}
		if may {
			err := b.copy(ctx, e.at(n.From), e.at(n.tree), e, on, false)
			if !missing(err) && !refused(err) {
				return err
			}
		}
		_, is, err := b.head(ctx, e.at(n.tree))
		if err == nil && !is {
			now, nerr := b.note(ctx, n.tree)
			if err = nerr; err == nil && now != nil && now.ID == n.ID {
				err = fmt.Errorf("%w: s3://%s/%s is neither there nor at %s", ErrMarker, b.opts.Bucket, e.at(n.From), e.at(n.tree))
			}
		}
		return err
	})
}

// removeEach removes the objects of a tree that are still what they were.
func (b *Bucket) removeEach(ctx context.Context, tree string, all []entry) error {
	return each(ctx, b.opts.Concurrency, len(all), func(ctx context.Context, i int) error {
		return b.delete(ctx, all[i].at(tree), all[i].ETag)
	})
}

// removeSource removes what was published from where it was, and the note beside it.
func (b *Bucket) removeSource(ctx context.Context, n, lock *note) error {
	if err := b.removeEach(ctx, n.From, n.New); err != nil {
		return err
	}
	rest, _, err := b.tree(ctx, n.From)
	if err != nil {
		return err
	}
	for _, e := range rest {
		if held(e.Name) {
			err = errors.Join(err, b.delete(ctx, e.at(n.From), e.ETag))
		}
	}
	if err != nil {
		return err
	}
	return b.delete(ctx, noteKey(n.From), lock.etag)
}

// Remove implements blob.Bucket. A tree is gone for readers at one moment.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return b.fails("remove", name, b.remove(ctx, name))
}

func (b *Bucket) remove(ctx context.Context, name string) error {
	if err := b.settle(ctx, name); err != nil {
		return err
	}
	key := b.key(name)
	is, err := b.occupied(ctx, key)
	if err != nil {
		return err
	}
	if !is {
		return b.delete(ctx, key, "")
	}
	n := &note{Kind: noteKind, ID: rand.Text(), tree: key}
	if err := b.acquire(ctx, n); err != nil {
		return err
	}
	var at there
	for {
		if at, err = b.look(ctx, key); err != nil || len(at.notes) == 0 {
			break
		}
		if err = b.clear(ctx, at.notes[0]); err != nil {
			break
		}
	}
	if err == nil && !temporary(name) {
		n.Moved, n.Old = true, at.all()
		err = b.putNote(ctx, n, condition{etag: n.etag})
	}
	if err != nil {
		b.release(ctx, n)
		return err
	}
	var keys []string
	for _, e := range at.all() {
		keys = append(keys, e.at(key))
	}
	if err := b.deleteAll(ctx, keys); err != nil {
		return err
	}
	return b.delete(ctx, noteKey(key), n.etag)
}
