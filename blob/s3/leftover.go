package s3

import (
	"context"
	"crypto/rand"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// holdMark begins the names of objects that hold a tree.
const holdMark = tmpMark + "hold."

// held reports whether the name in a tree is that of an object which holds it, or a tree in it.
func held(name string) bool { return strings.HasPrefix(path.Base(name), holdMark) }

// Hold implements blob.Sweeper by an object "_tmp.hold.ID" in the tree, which is renewed until it is released. One whose process ended
// without that counts for Options.Lease after its last renewal.
func (b *Bucket) Hold(ctx context.Context, tree string) (release func(), err error) {
	if err := checkName(tree); err != nil {
		return nil, err
	}
	if err := b.room(ctx, tree+"/x"); err != nil {
		return nil, b.fails("hold", tree, err)
	}
	id := rand.Text()
	key := b.key(tree) + "/" + holdMark + id
	text := func(n int) string { return fmt.Sprintf("%s %d\n", id, n) }
	etag, err := b.put(ctx, key, strings.NewReader(text(0)), int64(len(text(0))), condition{})
	if err != nil {
		return nil, b.fails("hold", tree, err)
	}
	return b.keep(ctx, key, etag, id, text), nil
}

// left is what a process left behind.
type left struct {
	name   string
	upload string // id of an unfinished upload; "" for an object or tree
}

// text is how it is called in lists.
func (l left) text() string {
	if l.upload == "" {
		return l.name
	}
	return l.name + "?uploadId=" + l.upload
}

// Leftovers implements blob.Sweeper: trees that nobody holds, claims and holds that were not renewed, temporary objects and unfinished
// uploads that are older than Options.Age, and a publish whose process ended. An upload is called NAME?uploadId=ID.
func (b *Bucket) Leftovers(ctx context.Context, name string) (names []string, err error) {
	all, err := b.leftovers(ctx, name)
	for _, l := range all {
		names = append(names, l.text())
	}
	return names, b.fails("list what is left of", name, err)
}

// Sweep implements blob.Sweeper.
func (b *Bucket) Sweep(ctx context.Context, name string) (names []string, err error) {
	all, err := b.leftovers(ctx, name)
	if err != nil {
		return nil, b.fails("list what is left of", name, err)
	}
	for _, l := range all {
		tree, note := noted(b.key(l.name))
		switch {
		case l.upload != "":
			_, err = b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
				Bucket: &b.opts.Bucket, Key: aws.String(b.key(l.name)), UploadId: &l.upload,
			})
			if noUpload(err) || missing(err) {
				err = nil
			}
		case note:
			err = b.clear(ctx, tree)
		default:
			err = b.remove(ctx, l.name)
		}
		if err != nil {
			return names, b.fails("remove what is left of", name, err)
		}
		names = append(names, l.text())
	}
	return names, nil
}

func (b *Bucket) leftovers(ctx context.Context, name string) (all []left, err error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	prefix := b.key(beside(name, ""))
	limit := map[bool]time.Duration{true: b.opts.Lease, false: b.opts.Age}
	var trees []string
	err = b.page(ctx, prefix, "/", func(l listed, now time.Time) bool {
		tree, note := noted(l.key)
		switch age := now.Sub(l.modified); {
		case strings.HasSuffix(l.key, "/"):
			trees = append(trees, strings.TrimSuffix(l.key, "/"))
		case note && (age < b.opts.Stale || tree != b.key(name) && !strings.HasPrefix(tree, prefix)):
		case !note && age < limit[strings.HasSuffix(l.key, ".claim")]:
		default:
			all = append(all, left{name: b.name(l.key)})
		}
		return true
	})
	for _, t := range trees {
		is := false
		if err == nil {
			is, err = b.isHeld(ctx, t)
		}
		if !is {
			all = append(all, left{name: b.name(t)})
		}
	}
	if err != nil {
		return nil, err
	}
	for _, p := range []string{b.key(name), prefix} {
		err := b.uploads(ctx, p, func(key, id string, age time.Duration) {
			if age >= b.opts.Age && (key == p || p == prefix || strings.HasPrefix(key, p+"/")) {
				all = append(all, left{b.name(key), id})
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// isHeld reports whether somebody holds a tree: its holds come first in the listing of each folder.
func (b *Bucket) isHeld(ctx context.Context, key string) (is bool, err error) {
	err = b.page(ctx, key+"/"+holdMark, "", func(l listed, now time.Time) bool {
		is = is || now.Sub(l.modified) < b.opts.Lease
		return !is
	})
	return is, err
}

// uploads visits the unfinished uploads of keys with a prefix. A store that knows no such list has none.
func (b *Bucket) uploads(ctx context.Context, prefix string, visit func(key, id string, age time.Duration)) error {
	in := &s3.ListMultipartUploadsInput{Bucket: &b.opts.Bucket, Prefix: &prefix}
	for {
		out, err := b.client.ListMultipartUploads(ctx, in)
		if s := answered(err); s == 501 || s == 405 || hidden(err) {
			return nil
		}
		if err != nil {
			return err
		}
		now, _ := awsmiddleware.GetServerTime(out.ResultMetadata)
		for _, u := range out.Uploads {
			if key := aws.ToString(u.Key); strings.HasPrefix(key, prefix) && b.name(key) != "" {
				visit(key, aws.ToString(u.UploadId), now.Sub(aws.ToTime(u.Initiated)))
			}
		}
		if !aws.ToBool(out.IsTruncated) || aws.ToString(out.NextKeyMarker) == "" {
			return nil
		}
		in.KeyMarker, in.UploadIdMarker = out.NextKeyMarker, out.NextUploadIdMarker
	}
}

// Unfinished implements blob.Sweeper: also uploads, by the name below the tree that they are for.
func (b *Bucket) Unfinished(ctx context.Context, tree string) (names []string, err error) {
	prefix := ""
	if tree != "" && tree != "." {
		if err := checkName(tree); err != nil {
			return nil, err
		}
		prefix = b.key(tree) + "/"
	} else if prefix = b.key(""); prefix != "" {
		prefix = strings.TrimSuffix(prefix, "/") + "/"
	}
	err = b.page(ctx, prefix+tmpMark, "/", func(l listed, _ time.Time) bool {
		if base := strings.TrimSuffix(strings.TrimPrefix(l.key, prefix), "/"); !held(base) {
			names = append(names, strings.TrimPrefix(base, tmpMark))
		}
		return true
	})
	if err == nil {
		err = b.uploads(ctx, prefix, func(key, id string, _ time.Duration) {
			if first, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/"); !strings.HasPrefix(first, tmpMark) {
				names = append(names, first+"."+id)
			}
		})
	}
	return names, b.fails("list what is unfinished in", tree, err)
}
