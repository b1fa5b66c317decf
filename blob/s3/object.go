package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"thole.example/blob"
)

const (
	headSize  = 1 << 20 // what the first request of an object brings
	blockSize = 8 << 20 // of one range, when a large object is read
)

// place is where an object lies now, and how it is to look.
type place struct {
	name string // as it was asked for
	key  string
	home string // the key that it gets when a publish under way ends; else key
	etag string // "" if not known yet
	size int64  // below 0 if not known yet
}

// Open implements blob.Bucket. The object is that of this moment: if it is replaced, reading what was not read yet fails with
// blob.ErrChanged. ctx bounds the opening, not what is read later.
func (b *Bucket) Open(ctx context.Context, name string) (blob.Object, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	var last error
	for range lookups { // what was found may have been moved or replaced before it was read
		at, err := b.find(ctx, name)
		if err != nil {
			return nil, err
		}
		o, err := b.openAt(ctx, at)
		if missing(err) && at.key != at.home { // sources go when all copies are there
			o, err = b.openAt(ctx, place{name: name, key: at.home, home: at.home, size: -1})
		}
		if err == nil {
			return o, nil
		}
		last = err
		moved := missing(err) && at.key != at.home
		if !moved && !refused(err) && !errors.Is(err, blob.ErrChanged) {
			break
		}
	}
	if missing(last) {
		return nil, b.absent("open", name)
	}
	return nil, b.fails("open", name, last)
}

// lookups is how often a name is looked up that is being moved all the time.
const lookups = 8

// openAt reads the beginning of the object; the error is as the store gave it.
func (b *Bucket) openAt(ctx context.Context, at place) (*object, error) {
	o := &object{bucket: b, place: at, blocks: map[int64]*block{}}
	o.ctx, o.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if at.size == 0 {
		return o, nil
	}
	err := o.begin(ctx)
	if status := answered(err); err != nil && status == 416 { // an empty object has no range
		head, herr := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.opts.Bucket, Key: &at.key})
		if err = herr; err == nil {
			o.size, o.etag = aws.ToInt64(head.ContentLength), aws.ToString(head.ETag)
		}
		if err == nil && o.size > 0 { // replaced in between
			err = o.begin(ctx)
		}
	}
	if err != nil {
		o.cancel()
		return nil, err
	}
	o.ends = []int64{int64(len(o.head))}
	return o, nil
}

// begin reads the first bytes, and with them size and ETag.
func (o *object) begin(ctx context.Context) error {
	in := &s3.GetObjectInput{Bucket: &o.bucket.opts.Bucket, Key: &o.key, Range: aws.String(fmt.Sprintf("bytes=0-%d", headSize-1))}
	if o.etag != "" {
		in.IfMatch = &o.etag
	}
	out, err := o.bucket.client.GetObject(ctx, in)
	if err != nil {
		return err
	}
	defer out.Body.Close()
	o.etag, o.size = aws.ToString(out.ETag), aws.ToInt64(out.ContentLength)
	if _, total, ok := strings.Cut(aws.ToString(out.ContentRange), "/"); ok {
		if o.size, err = strconv.ParseInt(total, 10, 64); err != nil {
			return fmt.Errorf("a range of %q, want its size behind a slash", aws.ToString(out.ContentRange))
		}
	}
	if o.size < 0 {
		return fmt.Errorf("%d bytes", o.size)
	}
	o.head = make([]byte, min(o.size, headSize))
	n, err := io.ReadFull(out.Body, o.head)
	if err != nil { // the rest is asked for again, of the same object
		_, err = o.fetch(ctx, o.head[n:], int64(n))
	}
	return err
}

// object is an open object.
type object struct {
	bucket *Bucket
	place
	head   []byte
	ctx    context.Context // ends when the object is closed
	cancel func()

	mu     sync.Mutex
	blocks map[int64]*block // read ahead, by number
	ends   []int64          // where the last reads ended
	moved  bool             // it lies at home by now
}

// Size implements blob.Object.
func (o *object) Size() int64 { return o.size }

// Close implements blob.Object.
func (o *object) Close() error {
	o.cancel()
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.blocks {
		o.drop(i)
	}
	return nil
}

// ReadAt implements io.ReaderAt. What is read in order is read ahead, what is read in large pieces in several ranges at once.
func (o *object) ReadAt(p []byte, off int64) (n int, err error) {
	switch {
	case o.ctx.Err() != nil:
		return 0, fmt.Errorf("blob: %w", &fs.PathError{Op: "read", Path: o.bucket.url(o.name), Err: fs.ErrClosed})
	case off < 0:
		return 0, fmt.Errorf("blob: %w", &fs.PathError{Op: "read", Path: o.bucket.url(o.name), Err: fs.ErrInvalid})
	case off >= o.size:
		return 0, io.EOF
	}
	if rest := o.size - off; int64(len(p)) > rest {
		p, err = p[:rest], io.EOF
	}
	if off < int64(len(o.head)) {
		n = copy(p, o.head[off:])
	}
	if n < len(p) {
		more, rerr := o.read(p[n:], off+int64(n))
		if n += more; rerr != nil {
			return n, o.bucket.fails("read", o.name, rerr)
		}
	} else {
		o.sequential(off, off+int64(n))
	}
	return n, err
}

// read fills p from beyond the head.
func (o *object) read(p []byte, off int64) (int, error) {
	inOrder := o.sequential(off, off+int64(len(p)))
	switch {
	case len(p) >= 2*blockSize:
		return o.split(p, off)
	case !inOrder:
		return o.fetch(o.ctx, p, off)
	}
	for n := 0; n < len(p); {
		i := (off + int64(n)) / blockSize
		blk := o.block(i)
		if blk == nil { // others have the memory
			more, err := o.fetch(o.ctx, p[n:], off+int64(n))
			return n + more, err
		}
		<-blk.done
		if blk.err != nil {
			o.mu.Lock()
			o.drop(i)
			o.mu.Unlock()
			return n, blk.err
		}
		n += copy(p[n:], blk.data[off+int64(n)-i*blockSize:])
	}
	return len(p), nil
}

// split reads several ranges at once.
func (o *object) split(p []byte, off int64) (int, error) {
	pieces := (len(p) + blockSize - 1) / blockSize
	err := each(o.ctx, o.bucket.opts.Concurrency, pieces, func(ctx context.Context, i int) error {
		from, to := i*blockSize, min((i+1)*blockSize, len(p))
		_, err := o.fetch(ctx, p[from:to], off+int64(from))
		return err
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// fetch fills p by one request, and by others for the rest if the answer breaks off.
func (o *object) fetch(ctx context.Context, p []byte, off int64) (n int, err error) {
	for attempt := 0; attempt < o.bucket.opts.Attempts; attempt++ {
		if attempt > 0 {
			if err := o.bucket.pause(ctx, attempt); err != nil {
				return n, err
			}
		}
		more, ferr := o.fetchOnce(ctx, p[n:], off+int64(n))
		if n += more; n == len(p) {
			return n, nil
		}
		if err = ferr; answered(err) != 0 || errors.Join(ctx.Err(), o.bucket.life.Err()) != nil || errors.Is(err, blob.ErrChanged) {
			return n, err
		}
		if more > 0 {
			attempt = 0 // it moves
		}
	}
	return n, fmt.Errorf("%d of %d bytes at %d after %d attempts: %w", n, len(p), off, o.bucket.opts.Attempts, err)
}

func (o *object) fetchOnce(ctx context.Context, p []byte, off int64) (int, error) {
	o.mu.Lock()
	key := o.key
	o.mu.Unlock()
	out, err := o.bucket.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &o.bucket.opts.Bucket, Key: &key, IfMatch: &o.etag,
		Range: aws.String(fmt.Sprintf("bytes=%d-%d", off, off+int64(len(p))-1)),
	})
	switch {
	case missing(err) && key != o.home: // its publish has ended meanwhile
		o.mu.Lock()
		o.key = o.home
		o.mu.Unlock()
		return o.fetchOnce(ctx, p, off)
	case missing(err) || refused(err) || answered(err) == 416:
		return 0, fmt.Errorf("the object that was opened was replaced or removed: %w", blob.ErrChanged)
	case err != nil:
		return 0, err
	}
	defer out.Body.Close()
	if got := aws.ToString(out.ContentRange); !strings.HasPrefix(got, fmt.Sprintf("bytes %d-", off)) {
		return 0, fmt.Errorf("the store answers with the range %q, want it from %d on", got, off)
	}
	if got := aws.ToString(out.ETag); got != "" && got != o.etag {
		return 0, fmt.Errorf("the object that was opened was replaced: %w", blob.ErrChanged)
	}
	n, err := io.ReadFull(out.Body, p)
	return n, err
}
