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
	text := func(n int) string { return fmt.Sprintf("%s\n%s %d\n", who, id, n) }
	on := condition{none: true}
	for range lookups {
		etag, err := b.put(ctx, key, strings.NewReader(text(0)), int64(len(text(0))), on)
		if err == nil {
			return b.keep(ctx, key, etag, text), nil
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
		said, _ := io.ReadAll(io.LimitReader(out.Body, whoLimit)) // it is a courtesy
		out.Body.Close()
		if age(out.ResultMetadata, aws.ToTime(out.LastModified)) < b.opts.Lease {
			name, _, _ := bytes.Cut(said, []byte("\n"))
			return nil, &blob.Claimed{Tree: tree, Who: cmp.Or(string(name), "somebody who has not said yet who it is")}
		}
		on = condition{etag: aws.ToString(out.ETag)}
	}
	return nil, &blob.Claimed{Tree: tree, Who: "somebody, and changes all the time"}
}

// keep renews an object until release is called, which removes it. It stops when somebody else has it.
func (b *Bucket) keep(ctx context.Context, key, etag string, text func(n int) string) (release func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	all.Go(func() {
		beat := time.NewTicker(b.opts.Lease / 6)
		defer beat.Stop()
		for n := 1; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
			}
			next, err := b.put(ctx, key, strings.NewReader(text(n)), int64(len(text(n))), condition{etag: etag})
			if refused(err) || missing(err) {
				etag = ""
				return
			}
			if err == nil {
				etag = next
			}
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		all.Wait()
		if etag == "" {
			return
		}
		ctx, done := context.WithTimeout(context.Background(), b.opts.Timeout)
		defer done()
		_ = b.delete(ctx, key, etag) // or it grows old
	})
}
