package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"

	"thole.example/internal/proc"
)

// condition is what a put asks for: no object at all, or the one of an ETag; nothing if both are empty.
type condition struct {
	none bool
	etag string
}

func (c condition) headers() (ifMatch, ifNoneMatch *string) {
	if c.none {
		return nil, aws.String("*")
	}
	if c.etag != "" {
		return &c.etag, nil
	}
	return nil, nil
}

// markKey names the metadata by which a writer knows its own object again.
const markKey = "thole-write"

// unsigned leaves the body out of the signature, which a checksum covers: hashing it costs more than sending it.
func unsigned(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware)
}

// checksum is the CRC-32C of a body, as the store takes it. It leaves the body at its beginning.
func checksum(body io.ReadSeeker) (*string, error) {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	_, err := io.CopyBuffer(sum, struct{ io.Reader }{body}, make([]byte, 256<<10))
	if err == nil {
		_, err = body.Seek(0, io.SeekStart)
	}
	return aws.String(base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum.Sum32()))), err
}

// put makes the body the object at a key, on a condition. What is done but not answered is asked for again, and then the condition is
// not met any more: the mark of the object tells that from somebody else's.
func (b *Bucket) put(ctx context.Context, key string, body io.ReadSeeker, size int64, on condition) (etag string, err error) {
	sum, err := checksum(body)
	if err != nil {
		return "", err
	}
	mark := rand.Text()
	in := &s3.PutObjectInput{
		Bucket: &b.opts.Bucket, Key: &key, Body: body, ContentLength: &size, ChecksumCRC32C: sum, Metadata: map[string]string{markKey: mark},
	}
	in.IfMatch, in.IfNoneMatch = on.headers()
	out, err := b.client.PutObject(ctx, in, unsigned)
	if refused(err) || missing(err) && on.etag != "" {
		if etag, mine := b.mine(ctx, key, mark); mine {
			return etag, nil
		}
	}
	if err != nil {
		return "", err
	}
	return aws.ToString(out.ETag), nil
}

// mine reports whether the object at a key is the one with that mark.
func (b *Bucket) mine(ctx context.Context, key, mark string) (etag string, is bool) {
	head, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.opts.Bucket, Key: &key})
	if err != nil {
		return "", false
	}
	return aws.ToString(head.ETag), head.Metadata[markKey] == mark
}

// head is the object at a key.
func (b *Bucket) head(ctx context.Context, key string) (e entry, is bool, err error) {
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.opts.Bucket, Key: &key})
	if missing(err) {
		return e, false, nil
	}
	if status := answered(err); status == 301 || status == 400 || status == 403 { // the answer to a HEAD cannot say why
		get, gerr := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.opts.Bucket, Key: &key, Range: aws.String("bytes=0-0")})
		if err = cmp.Or(gerr, err); gerr == nil {
			get.Body.Close()
		}
	}
	if err != nil {
		return e, false, err
	}
	return entry{Size: aws.ToInt64(out.ContentLength), ETag: aws.ToString(out.ETag), modified: aws.ToTime(out.LastModified)}, true, nil
}

// delete removes the object at a key, if it is the one of the ETag; "" is any. What is another one stays, without an error.
func (b *Bucket) delete(ctx context.Context, key, etag string) error {
	in := &s3.DeleteObjectInput{Bucket: &b.opts.Bucket, Key: &key}
	if etag != "" {
		in.IfMatch = &etag
	}
	_, err := b.client.DeleteObject(ctx, in)
	if answered(err) == http.StatusNotImplemented && etag != "" { // a store without this condition
		return b.delete(ctx, key, "")
	}
	if missing(err) || refused(err) {
		return nil
	}
	return err
}

// deleteAll removes objects, many by one request. The errors of single ones are reported together.
func (b *Bucket) deleteAll(ctx context.Context, keys []string) error {
	const batch = 1000
	for chunk := range slices.Chunk(keys, batch) {
		if len(chunk) == 1 {
			if err := b.delete(ctx, chunk[0], ""); err != nil {
				return err
			}
			continue
		}
		ids := make([]types.ObjectIdentifier, len(chunk))
		for i := range chunk {
			ids[i].Key = &chunk[i]
		}
		out, err := b.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{
			Bucket: &b.opts.Bucket, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)},
		})
		if err != nil {
			return err
		}
		for _, e := range out.Errors { // throttled ones, perhaps: one by one they are tried again
			if err := b.delete(ctx, aws.ToString(e.Key), ""); err != nil {
				return fmt.Errorf("remove %s and %d others: %s: %w", aws.ToString(e.Key), len(out.Errors)-1, aws.ToString(e.Code), err)
			}
		}
	}
	return nil
}

// listed is a key of a listing, with what is said of its object.
type listed struct {
	key      string
	size     int64
	etag     string
	modified time.Time
}

// page visits all keys with a prefix, sorted; with a delimiter also what lies below the next one, as prefixes that end in it. now is the
// clock of the store.
func (b *Bucket) page(ctx context.Context, prefix, delimiter string, visit func(l listed, now time.Time) (more bool)) error {
	in := &s3.ListObjectsV2Input{Bucket: &b.opts.Bucket, Prefix: &prefix, EncodingType: types.EncodingTypeUrl}
	if delimiter != "" {
		in.Delimiter = &delimiter
	}
	for {
		out, err := b.client.ListObjectsV2(ctx, in)
		if err != nil {
			return err
		}
		now, _ := awsmiddleware.GetServerTime(out.ResultMetadata)
		plain := func(s *string) string {
			if out.EncodingType != types.EncodingTypeUrl {
				return aws.ToString(s)
			}
			text, err := url.QueryUnescape(aws.ToString(s))
			if err != nil {
				return aws.ToString(s)
			}
			return text
		}
		var all []listed
		for _, o := range out.Contents {
			all = append(all, listed{plain(o.Key), aws.ToInt64(o.Size), aws.ToString(o.ETag), aws.ToTime(o.LastModified)})
		}
		for _, p := range out.CommonPrefixes {
			all = append(all, listed{key: plain(p.Prefix)})
		}
		slices.SortFunc(all, func(a, b listed) int { return strings.Compare(a.key, b.key) })
		for _, l := range all {
			if !strings.HasPrefix(l.key, prefix) {
				return fmt.Errorf("the store lists %q below %q", l.key, prefix)
			}
			if !visit(l, now) {
				return nil
			}
		}
		if !aws.ToBool(out.IsTruncated) {
			return nil
		}
		if next := aws.ToString(out.NextContinuationToken); next == "" || in.ContinuationToken != nil && next == *in.ContinuationToken {
			return fmt.Errorf("the store lists %q without an end", prefix)
		}
		in.ContinuationToken = out.NextContinuationToken
	}
}

// tree lists the objects below a key by their names in the tree, sorted, and the notes of trees among them. Keys that are no names, like
// "folder/", are left out.
func (b *Bucket) tree(ctx context.Context, key string) (all []entry, notes []string, err error) {
	prefix := key + "/"
	if key == "" {
		prefix = ""
	}
	err = b.page(ctx, prefix, "", func(l listed, _ time.Time) bool {
		name := strings.TrimPrefix(l.key, prefix)
		if t, is := noted(l.key); is {
			notes = append(notes, t)
		} else if checkName(name) == nil {
			all = append(all, entry{name, l.size, l.etag, l.modified})
		}
		return true
	})
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	return all, notes, err
}

// occupied reports whether there is anything below a key.
func (b *Bucket) occupied(ctx context.Context, key string) (is bool, err error) {
	err = b.page(ctx, key+"/", "", func(l listed, _ time.Time) bool {
		_, note := noted(l.key)
		is = !note && checkName(strings.TrimPrefix(l.key, key+"/")) == nil
		return !is
	})
	return is, err
}

// note reads the note beside a tree; nil if there is none, or none that these credentials may see.
func (b *Bucket) note(ctx context.Context, tree string) (*note, error) {
	key := noteKey(tree)
	for attempt := 0; ; attempt++ {
		out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.opts.Bucket, Key: &key})
		if missing(err) || hidden(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(io.LimitReader(out.Body, noteLimit+1))
		out.Body.Close()
		if err == nil && int64(len(text)) != cmp.Or(aws.ToInt64(out.ContentLength), int64(len(text))) && len(text) <= noteLimit {
			err = io.ErrUnexpectedEOF
		}
		if err != nil && attempt < b.opts.Attempts {
			if err := b.pause(ctx, attempt); err != nil {
				return nil, err
			}
			continue
		}
		if err == nil && len(text) > noteLimit {
			err = fmt.Errorf("%w: more than %d bytes", ErrMarker, noteLimit)
		}
		if err != nil {
			return nil, err
		}
		n, err := decodeNote(text, tree)
		if err != nil {
			return nil, fmt.Errorf("s3://%s/%s: %w", b.opts.Bucket, key, err)
		}
		n.etag, n.written = aws.ToString(out.ETag), age(out.ResultMetadata, aws.ToTime(out.LastModified))
		return n, nil
	}
}

// age is how old an object is by the clock of the store, which answers with both: no machine has to know what time it is elsewhere.
func age(answer middleware.Metadata, modified time.Time) time.Duration {
	now, ok := awsmiddleware.GetServerTime(answer)
	if !ok || modified.IsZero() {
		return 0
	}
	return now.Sub(modified)
}

// putNote stores a note on a condition, as one of this process.
func (b *Bucket) putNote(ctx context.Context, n *note, on condition) error {
	n.By = proc.Name(os.Getpid())
	text, err := n.encode()
	if err != nil {
		return err
	}
	etag, err := b.put(ctx, noteKey(n.tree), bytes.NewReader(text), int64(len(text)), on)
	if err == nil {
		n.etag = etag
	}
	return err
}
