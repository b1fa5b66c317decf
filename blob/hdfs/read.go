package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	lib "github.com/colinmarc/hdfs/v2"

	"thole.example/blob"
)

const (
	headBytes = 64 << 10 // of an object are read when it is opened
	nearBytes = 64 << 10 // are skipped rather than asking the datanode anew; as many as the library skips
	readers   = 8        // of an object at most
)

// errGone says that a file is not there any more under its number.
var errGone = fmt.Errorf("it was replaced or removed while it was open: open it again: %w", blob.ErrChanged)

// Open implements blob.Bucket.
func (b *Bucket) Open(ctx context.Context, name string) (blob.Object, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	for ctx.Err() == nil {
		info, err := b.settled(ctx, name)
		if err == nil && info.IsDir() {
			err = fmt.Errorf("is a directory: %w", fs.ErrNotExist)
		}
		if err == nil {
			err = plain(info)
		}
		if missing(err) && !errors.Is(err, fs.ErrNotExist) {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, b.explain("open", name, err)
		}
		o, err := b.open(ctx, name, info)
		if !errors.Is(err, errGone) { // else another has taken its name since
			return o, err
		}
	}
	return nil, b.explain("open", name, context.Cause(ctx))
}

// open opens the file that was found at a name.
func (b *Bucket) open(ctx context.Context, name string, info os.FileInfo) (blob.Object, error) {
	o := &object{
		bucket: b, ctx: context.WithoutCancel(ctx), name: name, size: info.Size(), slots: make(chan struct{}, readers),
		file: inodePath(info),
	}
	head := make([]byte, min(o.size, headBytes))
	if _, err := o.ReadAt(head, 0); err != nil && err != io.EOF {
		o.Close()
		return nil, err
	}
	if o.head = head; o.size == int64(len(head)) {
		o.drop()
	}
	return o, nil
}

// object is an open file.
type object struct {
	bucket *Bucket
	ctx    context.Context // without an end: what is open can be read for as long as it is
	name   string
	file   string // the path of its inode
	size   int64
	head   []byte
	slots  chan struct{} // one is taken by who reads

	mu     sync.Mutex
	idle   []*reader
	closed bool
}

// reader is an open file of the library at a place, which one goroutine at a time may use.
type reader struct {
	*lib.FileReader
	at int64
}

// Size implements blob.Object.
func (o *object) Size() int64 { return o.size }

// Close implements blob.Object. Who reads meanwhile comes to an end of it.
func (o *object) Close() error {
	o.mu.Lock()
	was := o.closed
	o.closed = true
	o.mu.Unlock()
	o.drop()
	if was {
		return o.bucket.explain("close", o.name, fs.ErrClosed)
	}
	return nil
}

// drop closes what nobody reads with.
func (o *object) drop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.idle {
		r.Close()
	}
	o.idle = nil
}

// ReadAt implements io.ReaderAt.
func (o *object) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, o.bucket.explain("read", o.name, fmt.Errorf("at %d: %w", off, fs.ErrInvalid))
	}
	o.mu.Lock()
	closed := o.closed
	o.mu.Unlock()
	if closed {
		return 0, o.bucket.explain("read", o.name, fs.ErrClosed)
	}
	short := int64(len(p)) > o.size-off
	if short {
		p = p[:max(o.size-off, 0)]
	}
	if off < int64(len(o.head)) {
		n = copy(p, o.head[off:])
	}
	if n < len(p) {
		more, err := o.read(p[n:], off+int64(n))
		if n += more; err != nil {
			return n, o.bucket.explain("read", o.name, err)
		}
	}
	if short {
		return n, io.EOF
	}
	return n, nil
}

// read fills p, again from where it came to if something fails on the way.
func (o *object) read(p []byte, off int64) (n int, err error) {
	o.slots <- struct{}{}
	defer func() { <-o.slots }()
	err = o.bucket.attempt(o.ctx, func() error {
		r, err := o.take(off + int64(n))
		if err != nil {
			return err
		}
		more, err := r.ReadAt(p[n:], off+int64(n))
		n += more
		if r.at = off + int64(n); n == len(p) {
			o.give(r)
			return nil
		}
		r.Close()
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if missing(err) {
			err = errGone
		}
		return o.still(err)
	})
	return n, err
}

// still is the error of reading, or that the object is gone, which datanodes tell in many words.
func (o *object) still(err error) error {
	if _, now := o.bucket.client.Stat(o.file); missing(now) {
		return errGone
	}
	return err
}

// take gives the reader that stands nearest before a place, or a new one.
func (o *object) take(off int64) (*reader, error) {
	o.mu.Lock()
	best := -1
	for i, r := range o.idle {
		if near := off-r.at >= 0 && off-r.at <= nearBytes; near && (best < 0 || r.at > o.idle[best].at) {
			best = i
		}
	}
	if full := len(o.idle) + len(o.slots) - 1; best < 0 && full >= readers && len(o.idle) > 0 {
		best = 0 // the one that waits longest, with the places of the blocks that it knows
	}
	if best >= 0 {
		r := o.idle[best]
		o.idle = append(o.idle[:best], o.idle[best+1:]...)
		o.mu.Unlock()
		return r, nil
	}
	o.mu.Unlock()
	f, err := o.bucket.client.Open(o.file)
	if missing(err) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	return &reader{f, 0}, nil
}

// give keeps a reader for others.
func (o *object) give(r *reader) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		r.Close()
		return
	}
	o.idle = append(o.idle, r)
}
