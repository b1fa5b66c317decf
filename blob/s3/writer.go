package s3

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"thole.example/blob"
)

// Create implements blob.Bucket. ctx bounds the beginning, not the writer, which Commit or Abort ends.
func (b *Bucket) Create(ctx context.Context, name string) (blob.Writer, error) {
	return b.CreateOver(ctx, name, blob.Anything)
}

// CreateOver implements blob.Replacer: the store itself compares what is replaced.
func (b *Bucket) CreateOver(ctx context.Context, name string, over blob.State) (blob.Writer, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := b.room(ctx, name); err != nil {
		return nil, b.fails("create", name, err)
	}
	is, err := b.occupied(ctx, b.key(name))
	if err != nil {
		return nil, b.fails("create", name, err)
	}
	w := &writer{spool: blob.NewSpool(b.url(name)), bucket: b, name: name, into: name, over: over}
	if is { // it replaces a tree
		w.into = beside(name, rand.Text())
	}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	w.turn = make(chan struct{}, b.opts.Concurrency)
	return w, nil
}

// writer keeps the object in a spool, and uploads the parts of it that Write has gone past while others are still written.
type writer struct {
	spool      *blob.Spool
	bucket     *Bucket
	name, into string // into is another name while there is a tree at name
	over       blob.State
	ctx        context.Context
	cancel     func()
	turn       chan struct{} // as many parts as may be under way

	mu     sync.Mutex
	ended  bool
	begun  bool // of the upload
	upload upload
	parts  []*part
	all    sync.WaitGroup
	err    error
}

// part is a part that was uploaded, or is being.
type part struct {
	changes int // how often it was written to since its upload was begun
	done    types.CompletedPart
	sent    int // changes that are in what was uploaded; below 0 before that
}

// partRange is where a part lies: they grow, so that 10,000 of them hold 5 TiB.
func partRange(first int64, i int) (from, to int64) {
	const each = 900 // parts of one size
	size := first
	for ; i >= each && size < maxPart; i -= each {
		from += each * size
		size = min(2*size, maxPart)
	}
	from += int64(i) * size
	return from, from + size
}

// closed is the error of what is done after the end.
func (w *writer) closed(op string) error {
	return fmt.Errorf("blob: %w", &fs.PathError{Op: op, Path: w.bucket.url(w.name), Err: fs.ErrClosed})
}

// live fails after the end, or when an upload has failed.
func (w *writer) live(op string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return w.closed(op)
	}
	return w.bucket.fails("write", w.name, w.err)
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if err := w.live("write"); err != nil {
		return 0, err
	}
	n, err := w.spool.Write(p)
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.ended {
		_, end := partRange(w.bucket.opts.PartSize, len(w.parts))
		if end > w.spool.Written() {
			break
		}
		w.send(len(w.parts))
	}
	return n, err
}

// WriteAt implements io.WriterAt.
func (w *writer) WriteAt(p []byte, off int64) (int, error) {
	if err := w.live("write"); err != nil {
		return 0, err
	}
	w.changed(off, off+int64(len(p))) // what is being uploaded may be torn,
	n, err := w.spool.WriteAt(p, off)
	w.changed(off, off+int64(n)) // and what was begun in between may be old
	return n, err
}

// ReadAt implements io.ReaderAt.
func (w *writer) ReadAt(p []byte, off int64) (int, error) {
	if err := w.live("read"); err != nil {
		return 0, err
	}
	return w.spool.ReadAt(p, off)
}

// changed notes that bytes are written, which parts that were uploaded may not have. What Write writes is behind all of these.
func (w *writer) changed(from, to int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, p := range w.parts {
		if first, last := partRange(w.bucket.opts.PartSize, i); from < last && to > first {
			p.changes++
		}
	}
}

// send uploads a part, in the background.
func (w *writer) send(i int) {
	if i == len(w.parts) {
		w.parts = append(w.parts, &part{sent: -1})
	}
	p := w.parts[i]
	w.all.Go(func() {
		select {
		case w.turn <- struct{}{}:
			defer func() { <-w.turn }()
		case <-w.ctx.Done():
			return
		}
		if err := w.sendNow(i, p); err != nil {
			w.mu.Lock()
			if w.err == nil {
				w.err = err
			}
			w.mu.Unlock()
		}
	})
}

func (w *writer) sendNow(i int, p *part) error {
	u, err := w.started()
	if err != nil {
		return err
	}
	from, to := partRange(w.bucket.opts.PartSize, i)
	to = min(to, w.spool.Size())
	w.mu.Lock()
	has := p.changes
	w.mu.Unlock()
	done, err := w.bucket.part(w.ctx, u, i, io.NewSectionReader(w.spool, from, to-from), to-from)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		p.done, p.sent = done, has
	case p.changes != has: // its checksum was of other bytes, perhaps; it has to be sent again anyway
		return nil
	}
	return err
}

// started is the upload, which the first part begins.
func (w *writer) started() (upload, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun {
		return w.upload, nil
	}
	u, err := w.bucket.begin(w.ctx, w.bucket.key(w.into), types.ChecksumAlgorithmCrc32c)
	if err == nil {
		w.upload, w.begun = u, true
	}
	return u, err
}

// end reports whether it is the first to end the writer.
func (w *writer) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := !w.ended
	w.ended = true
	return first
}

// Commit implements blob.Writer.
func (w *writer) Commit() error {
	if !w.end() {
		return w.closed("commit")
	}
	err := w.commit()
	w.forget(err != nil)
	return w.bucket.fails("commit", w.name, err)
}

// Abort implements blob.Writer.
func (w *writer) Abort() {
	if w.end() {
		w.forget(true)
	}
}

// forget gives back what the writer has; unfinished also the parts that the store has.
func (w *writer) forget(unfinished bool) {
	w.cancel()
	w.all.Wait()
	w.spool.Close()
	if unfinished && w.begun {
		w.bucket.abandon(w.upload)
	}
}

func (w *writer) commit() error {
	b := w.bucket
	if err := b.settle(w.ctx, w.name); err != nil {
		return err
	}
	on, err := w.condition()
	if err != nil {
		return err
	}
	if size := w.spool.Size(); len(w.parts) == 0 && size <= b.opts.PartSize {
		_, err = b.put(w.ctx, b.key(w.into), io.NewSectionReader(w.spool, 0, size), size, on)
	} else {
		err = w.join(on)
	}
	if refused(err) && on != (condition{}) {
		return b.changed(w.name, w.over)
	}
	if err != nil || w.into == w.name {
		return err
	}
	if err = b.publish(w.ctx, w.into, w.name, w.over); err != nil {
		err = errors.Join(err, b.delete(context.WithoutCancel(w.ctx), b.key(w.into), ""))
	}
	return err
}

// condition compares what is to be replaced.
func (w *writer) condition() (condition, error) {
	if w.over == blob.Anything || w.into != w.name {
		return condition{}, nil
	}
	at, err := w.bucket.look(w.ctx, w.bucket.key(w.name))
	if err == nil && at.state() != w.over {
		err = w.bucket.changed(w.name, w.over)
	}
	return at.on(w.over), err
}

// join uploads the parts that the store does not have as they are now, and makes the object of all.
func (w *writer) join(on condition) error {
	w.all.Wait()
	size := w.spool.Size()
	for i := 0; ; i++ {
		if from, _ := partRange(w.bucket.opts.PartSize, i); from >= size {
			break
		}
		w.mu.Lock()
		if i >= len(w.parts) || w.parts[i].sent != w.parts[i].changes {
			w.send(i)
		}
		w.mu.Unlock()
	}
	w.all.Wait()
	if w.err != nil {
		return w.err
	}
	var done []types.CompletedPart
	for _, p := range w.parts {
		done = append(done, p.done)
	}
	return w.bucket.complete(w.ctx, w.upload, done, on)
}
