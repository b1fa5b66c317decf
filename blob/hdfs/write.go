package hdfs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync/atomic"

	lib "github.com/colinmarc/hdfs/v2"

	"thole.example/blob"
)

// copyBytes are sent at once.
const copyBytes = 1 << 20

// tmpName is a name beside another that nobody else uses. That of a temporary file is one of what it was to become.
func tmpName(name string) string {
	dir, base := path.Split(name)
	return dir + tmpMark + strings.TrimPrefix(base, tmpMark) + "." + rand.Text()
}

// Create implements blob.Bucket. What is written is kept here until Commit, which ends early when ctx does.
func (b *Bucket) Create(ctx context.Context, name string) (blob.Writer, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if err := b.folders(ctx, path.Dir(name)); err != nil {
		return nil, b.explain("create", name, b.inTheWay(ctx, name, err))
	}
	return &writer{Spool: blob.NewSpool(b.url(name)), bucket: b, ctx: ctx, name: name}, nil
}

// inTheWay names the file that stands where a folder has to be, if an error says that there is one.
func (b *Bucket) inTheWay(ctx context.Context, name string, err error) error {
	if class(err) != "ParentNotDirectoryException" && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, serr := b.stat(ctx, dir); serr == nil && !info.IsDir() {
			return fmt.Errorf("%s is an object, want a tree", b.url(dir))
		}
	}
	return err
}

type writer struct {
	*blob.Spool
	bucket *Bucket
	ctx    context.Context
	name   string
	ended  atomic.Bool
}

// Abort implements blob.Writer.
func (w *writer) Abort() {
	if w.ended.CompareAndSwap(false, true) {
		w.Spool.Close()
	}
}

// Commit implements blob.Writer.
func (w *writer) Commit() error {
	if !w.ended.CompareAndSwap(false, true) {
		return w.bucket.explain("commit", w.name, fs.ErrClosed)
	}
	defer w.Spool.Close()
	tmp, id, err := w.bucket.upload(w.ctx, w.name, w.Spool)
	if err == nil {
		if err = w.bucket.rename(w.ctx, tmp, w.name, id); isTree(err) {
			err = w.bucket.publish(w.ctx, tmp, w.name, blob.Anything)
		}
		if err != nil {
			_ = w.bucket.remove(context.WithoutCancel(w.ctx), tmp) // err says more
		}
	}
	if err != nil {
		return w.bucket.explain("commit", w.name, w.bucket.inTheWay(w.ctx, w.name, err))
	}
	return nil
}

// isTree reports whether an error says that a tree is in the way of a rename.
func isTree(err error) bool {
	return errors.Is(err, fs.ErrExist) || err != nil && class(err) == "IOException"
}

// upload makes a temporary file for a name with what was written, and tells its inode. What fails on the way is begun anew: there is no
// going on with other datanodes in the middle.
func (b *Bucket) upload(ctx context.Context, name string, s *blob.Spool) (tmp string, id uint64, err error) {
	var last string // of an attempt that failed
	err = b.attempt(ctx, func() error {
		if last != "" {
			_ = b.client.RemoveAll(b.path(last)) // else it is a leftover, some day
		}
		last = tmpName(name)
		if err := b.send(ctx, last, s); err != nil {
			return err
		}
		info, err := b.client.Stat(b.path(last))
		if err == nil && info.Size() != s.Size() {
			err = fmt.Errorf("%d bytes arrived, want %d: %w", info.Size(), s.Size(), io.ErrShortWrite)
		}
		if err == nil {
			id = inode(info)
		}
		return err
	})
	if err != nil && last != "" {
		_ = b.client.RemoveAll(b.path(last))
	}
	return last, id, err
}

// send makes a file.
func (b *Bucket) send(ctx context.Context, tmp string, s *blob.Spool) error {
	f, err := b.client.CreateFile(b.path(tmp), b.opts.Replication, b.opts.BlockSize, 0o666&^b.opts.Umask)
	if err != nil {
		return err
	}
	if err := b.copyTo(ctx, f, tmp, s); err != nil {
		f.Close() // ends its connections; err says more
		return err
	}
	return b.finish(ctx, f)
}

// copyTo sends the bytes.
func (b *Bucket) copyTo(ctx context.Context, f *lib.FileWriter, tmp string, s *blob.Spool) error {
	info, err := b.client.Stat(b.path(tmp))
	if err == nil {
		err = plain(info)
	}
	buf := make([]byte, min(copyBytes, s.Size()))
	for at := int64(0); err == nil && at < s.Size(); {
		var n int
		if n, err = s.ReadAt(buf, at); err == nil || err == io.EOF {
			_, err = f.Write(buf[:n])
		}
		if at += int64(n); ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	return err
}

// plain refuses files whose blocks are not their bytes, of which the library knows nothing.
func plain(info os.FileInfo) error {
	status, ok := info.Sys().(*lib.FileStatus)
	switch {
	case !ok:
		return nil
	case status.GetFileEncryptionInfo() != nil:
		return fmt.Errorf("it lies in an encryption zone: %w: copy it out (hadoop distcp), or use another folder", errors.ErrUnsupported)
	case status.GetEcPolicy() != nil:
		return fmt.Errorf("it is erasure coded: %w: use a folder that is replicated (hdfs ec -setPolicy -replicate -path DIR)",
			errors.ErrUnsupported)
	}
	return nil
}

// finish closes a file. The namenode may want to hear of copies first.
func (b *Bucket) finish(ctx context.Context, f *lib.FileWriter) error {
	var err error
	_ = b.attempt(ctx, func() error {
		if err = f.Close(); lib.IsErrReplicating(err) {
			return err
		}
		return nil
	})
	return err
}

// rename gives the file of a number another name, over a file that has it. Done twice is done once.
func (b *Bucket) rename(ctx context.Context, from, to string, id uint64) error {
	return b.attempt(ctx, func() error {
		err := b.client.Rename(b.path(from), b.path(to))
		if err == nil {
			return nil
		}
		if info, serr := b.client.Stat(b.path(to)); serr == nil && inode(info) == id {
			return nil // it arrived, and its answer did not
		}
		return err
	})
}

// notThere is the error of a name that has nothing.
func (b *Bucket) notThere(op, name string) error {
	return fmt.Errorf("blob: %w", &fs.PathError{Op: op, Path: b.url(name), Err: os.ErrNotExist})
}
