package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"thole.example/blob"
)

// whoLimit is how many bytes are read of what a claim says.
const whoLimit = 1 << 10

// Claim implements blob.Claimer by an object "_tmp.NAME.claim", which is renewed until it is released. A process that ends without that
// leaves it: it stands for Options.Lease after its last renewal, by the clock of the store. A process that was cut off from the store for
// longer may have lost it to another one, and does not learn so.
func (b *Bucket) Claim(ctx context.Context, tree, who string) (release func(), err error) {
	if err := checkName(tree); err != nil {
		return nil, err
	}
	key := b.key(beside(tree, "claim"))
	id := rand.Text()
	who, _, _ = strings.Cut(who[:min(len(who), whoLimit)], "\n")
	text := func(n int) string { return fmt.Sprintf("%s\n%s %d\n", who, id, n) }
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
		said, _ := io.ReadAll(io.LimitReader(out.Body, whoLimit+1)) // it is a courtesy
		out.Body.Close()
		if age(out.ResultMetadata, aws.ToTime(out.LastModified)) < b.opts.Lease {
			name, _, _ := bytes.Cut(said, []byte("\n"))
			return nil, &blob.Claimed{Tree: tree, Who: cmp.Or(string(name), "somebody who has not said yet who it is")}
		}
		on = condition{etag: aws.ToString(out.ETag)}
	}
	return nil, &blob.Claimed{Tree: tree, Who: "somebody, and changes all the time"}
}

// keep renews an object until release is called, which removes it. It stops when somebody else has it. The text has the id of this one.
func (b *Bucket) keep(ctx context.Context, key, etag, id string, text func(n int) string) (release func()) {
	end := make(chan struct{})
	var all sync.WaitGroup
	patience := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.WithoutCancel(ctx), b.opts.Lease/2)
	}
	all.Go(func() {
		beat := time.NewTicker(b.opts.Lease / 6)
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
				etag = b.owned(ctx, key, id)
			}
			done()
		}
	})
	return sync.OnceFunc(func() {
		close(end)
		all.Wait()
		ctx, done := patience()
		defer done()
		if etag = b.owned(ctx, key, id); etag != "" {
			_ = b.delete(ctx, key, etag) // or it grows old
		}
	})
}

// owned is the ETag of the object at a key if its text has the id; else "".
func (b *Bucket) owned(ctx context.Context, key, id string) string {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.opts.Bucket, Key: &key})
	if err != nil {
		return ""
	}
	defer out.Body.Close()
	if text, _ := io.ReadAll(io.LimitReader(out.Body, 1<<20)); !bytes.Contains(text, []byte(id)) {
		return ""
	}
	return aws.ToString(out.ETag)
}
