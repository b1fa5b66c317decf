package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"thole.example/blob"
	"thole.example/internal/proc"
)

// whoLimit is how many bytes a claim says of who has it, and nameLimit how many it has beside that.
const (
	whoLimit  = 1 << 10
	nameLimit = 1 << 10
)

// beats is how often a claim or hold is renewed while a lease lasts.
const beats = 12

// Claim implements blob.Claimer by an object "_tmp.NAME.claim", which is renewed until it is released. A process that ends without that
// leaves it: it stands for Options.Lease after its last renewal, by the clock of the store, unless it is seen that the process was one
// of this machine, and is gone. A process that was cut off from the store for longer may have lost it to another, and does not learn so.
func (b *Bucket) Claim(ctx context.Context, tree, who string) (release func(), err error) {
	if err := checkName(tree); err != nil {
		return nil, err
	}
	key := b.key(beside(tree, "claim"))
	id := rand.Text()
	who, _, _ = strings.Cut(who[:min(len(who), whoLimit)], "\n")
	me := proc.Name(os.Getpid())
	text := func(n int) string { return fmt.Sprintf("%s\n%s %d\n%s\n", who, id, n, me) }
	on := condition{none: true}
	for range lookups {
		etag, err := b.put(ctx, key, strings.NewReader(text(0)), int64(len(text(0))), on)
		if err == nil {
			return b.keep(ctx, key, etag, id, text), nil
		}
		if !refused(err) && !missing(err) {
			return nil, b.fails("claim", tree, err)
		}
		out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.opts.Bucket, Key: &key})
		if missing(err) {
			on = condition{none: true}
			continue
		}
		if err != nil {
			return nil, b.fails("claim", tree, err)
		}
		said, _ := io.ReadAll(io.LimitReader(out.Body, whoLimit+nameLimit)) // it is a courtesy
		out.Body.Close()
		left := b.opts.Lease - age(out.ResultMetadata, aws.ToTime(out.LastModified))
		is := claimed(tree, said, me)
		if _, released := b.left.Load(is.id); left > 0 && is.of != proc.Gone && !released {
			if is.Beat = aws.ToString(out.ETag); is.of != proc.Lives {
				is.Lapses = left
			}
			return nil, &is.Claimed
		}
		on = condition{etag: aws.ToString(out.ETag)}
	}
	return nil, &blob.Claimed{Tree: tree, Who: "somebody, and changes all the time"}
}

// owner is what a claim says, and whether its process lives as far as this one can see.
type owner struct {
	blob.Claimed
	id string
	of proc.State
}

// claimed reads the text of a claim. Of this process, which is called me, some claims may be left that it could not release.
func claimed(tree string, text []byte, me string) (o owner) {
	lines := strings.Split(string(text), "\n")
	o.Tree, o.Who = tree, cmp.Or(lines[0], "somebody who has not said yet who it is")
	if len(lines) > 1 {
		o.id, _, _ = strings.Cut(lines[1], " ")
	}
	if len(lines) > 2 && lines[2] != me {
		o.of = proc.Of(lines[2])
	}
	return o
}

// keep renews an object until release is called, which removes it. It stops when somebody else has it. The text has the id of this one.
func (b *Bucket) keep(ctx context.Context, key, etag, id string, text func(n int) string) (release func()) {
	end := make(chan struct{})
	var all sync.WaitGroup
	patience := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.WithoutCancel(ctx), b.opts.Lease/2)
	}
	all.Go(func() {
		beat := time.NewTicker(b.opts.Lease / beats)
		defer beat.Stop()
		for n := 1; etag != ""; n++ {
			select {
			case <-end:
				return
			case <-beat.C:
			}
			ctx, done := patience()
			next, err := b.put(ctx, key, strings.NewReader(text(n)), int64(len(text(n))), condition{etag: etag})
			if err == nil {
				etag = next
			} else if refused(err) || missing(err) { // an earlier one was done after all, or it is another's
				if now, err := b.owned(ctx, key, id); err == nil {
					etag = now
				}
			}
			done()
		}
	})
	return sync.OnceFunc(func() {
		close(end)
		all.Wait()
		ctx, done := patience()
		defer done()
		etag, err := b.owned(ctx, key, id)
		if err == nil && etag != "" {
			err = b.delete(ctx, key, etag)
		}
		if err != nil { // for others it stands until it lapses
			b.left.Store(id, nil)
		}
	})
}

// owned is the ETag of the object at a key if its text has the id; else "". The error is why it is not known.
func (b *Bucket) owned(ctx context.Context, key, id string) (etag string, err error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.opts.Bucket, Key: &key})
	switch {
	case missing(err):
		return "", nil
	case err != nil:
		return "", err
	}
	defer out.Body.Close()
	text, err := io.ReadAll(io.LimitReader(out.Body, 1<<20))
	if err != nil || !bytes.Contains(text, []byte(id)) {
		return "", err
	}
	return aws.ToString(out.ETag), nil
}
