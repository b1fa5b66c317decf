package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"thole.example/internal/filelock"
)

// tmpMark begins the names of files that are being written and trees that are being moved away. List leaves them out.
const tmpMark = "_tmp."

// Dir keeps objects as files below a directory. Several processes may use one directory at once.
type Dir struct {
	root string
	sync bool
}

// NewDir is the bucket of the files below root, which need not exist yet.
func NewDir(root string) *Dir { return &Dir{root: root} }

// Synced is the same bucket, but what Commit or Publish has made visible is on the disk when they return, and stays if the machine
// stops: they take the time of an fsync of the object, and of the folders whose entries change.
func (d *Dir) Synced() *Dir { return &Dir{d.root, true} }

func (d *Dir) file(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

// Open implements Bucket.
func (d *Dir) Open(_ context.Context, name string) (Object, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if info, err := os.Stat(d.file(name)); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		// opening a pipe waits for its writer, and a device has no end
		return nil, fmt.Errorf("blob: %w", &fs.PathError{Op: "open", Path: d.file(name), Err: errIrregular})
	}
	f, err := os.Open(d.file(name))
	if missing(err) {
		err = &fs.PathError{Op: "open", Path: d.file(name), Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = fmt.Errorf("open %s: is a directory: %w", d.file(name), fs.ErrNotExist)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("blob: %w", err)
	}
	return &dirObject{File: f, size: info.Size()}, nil
}

var errIrregular = errors.New("a pipe or device, want a regular file")

// missing reports whether there is nothing of a name, be it because an object stands where a tree would have to be.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// dirObject is an open file. The lock is held for reading by those who look at the mapped bytes.
type dirObject struct {
	*os.File
	size   int64
	mu     sync.RWMutex
	once   sync.Once // maps the file, within the lock
	data   []byte
	err    error
	closed bool
}

func (o *dirObject) Size() int64 { return o.size }

// Map implements Mapped.
func (o *dirObject) Map(look func(data []byte) error) error {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.closed {
		return fmt.Errorf("blob: map %s: %w", o.Name(), fs.ErrClosed)
	}
	o.once.Do(func() {
		if o.size > 0 {
			o.data, o.err = mapFile(o.File, o.size)
		}
	})
	if o.err != nil {
		return fmt.Errorf("blob: map %s: %w", o.Name(), o.err)
	}
	return look(o.data)
}

// Close implements Object.
func (o *dirObject) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var err error
	if o.data != nil {
		err = unmapFile(o.data)
		o.data = nil
	}
	o.closed = true
	return errors.Join(err, o.File.Close())
}

// List implements Bucket.
func (d *Dir) List(ctx context.Context, tree string) ([]Info, error) {
	var found []Info
	root := d.root
	if tree != "" && tree != "." {
		if err := checkName(tree); err != nil {
			return nil, err
		}
		root = d.file(tree)
	}
	if info, err := os.Stat(root); err == nil && info.IsDir() {
		root += string(filepath.Separator) // a link to a directory is followed at the root
	}
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if missing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if file != root && strings.HasPrefix(e.Name(), tmpMark) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return d.add(&found, file, e)
	})
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	slices.SortFunc(found, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

func (d *Dir) add(found *[]Info, file string, e fs.DirEntry) error {
	info, err := os.Stat(file) // follows links, as Open does
	if missing(err) || err == nil && info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	name, err := filepath.Rel(d.root, file)
	if err == nil {
		*found = append(*found, Info{filepath.ToSlash(name), info.Size(), info.ModTime()})
	}
	return err
}

// Remove implements Bucket. Whoever publishes something out of a tree meanwhile finds all of it or nothing.
func (d *Dir) Remove(_ context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	file := d.file(name)
	if info, err := os.Lstat(file); err == nil && info.IsDir() {
		file = moveAway(file)
	}
	if err := os.RemoveAll(file); err != nil && !missing(err) {
		return fmt.Errorf("blob: %w", err)
	}
	return nil
}

// moveAway gives a folder a temporary name, and those in it too: a system that is moving one of them may have found the folder that
// it is in already, but not yet itself.
func moveAway(dir string) (away string) {
	away = tmpName(dir)
	if os.Rename(dir, away) != nil {
		return dir // it is gone, or removing it says why it cannot be
	}
	entries, _ := os.ReadDir(away)
	for _, e := range entries {
		if e.IsDir() {
			moveAway(filepath.Join(away, e.Name()))
		}
	}
	return away
}

var tmpCount atomic.Uint64 // makes temporary names of one process differ

// tmpName is a name beside file that nobody else uses. That of a temporary file is one of what it was to become.
func tmpName(file string) string {
	dir, base := filepath.Split(file)
	return filepath.Join(dir, fmt.Sprintf("%s%s.%d.%d", tmpMark, strings.TrimPrefix(base, tmpMark), os.Getpid(), tmpCount.Add(1)))
}

// Create implements Bucket. The bytes go to a file "_tmp.…" beside the object until Commit renames it.
func (d *Dir) Create(_ context.Context, name string) (Writer, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	file := d.file(name)
	if err := d.folders(filepath.Dir(file)); err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	for {
		f, err := os.OpenFile(tmpName(file), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return nil, fmt.Errorf("blob: %w", named(err, "create", file))
		}
		if err := filelock.Shared(f); err != nil || current(f, f.Name()) {
			return &dirWriter{File: f, to: file, dir: d}, nil
		}
		f.Close() // somebody took it for a leftover, before it was locked
	}
}

type dirWriter struct {
	*os.File // tells by its Close who ends it first
	to       string
	dir      *Dir
	at       int64        // where Write goes on
	size     atomic.Int64 // of the file
	ahead    ahead
	yields   bool
	direct   direct
}

// named makes an error of a file that is being written speak of what it will be called.
func named(err error, op, file string) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return &fs.PathError{Op: op, Path: file, Err: at.Err}
	}
	return err
}

// Yield implements Yielder: large writes that have to be on the disk in the end go there at once.
func (w *dirWriter) Yield(yes bool) { w.yields = yes }

// Write implements io.Writer.
func (w *dirWriter) Write(p []byte) (n int, err error) {
	if w.yields && w.dir.sync {
		var done bool
		if done, err = w.direct.write(w.File, p, w.at); done {
			w.at += int64(len(p))
			w.grown(w.at)
			return len(p), nil
		}
	}
	if err == nil {
		n, err = w.WriteAt(p, w.at)
		w.at += int64(n)
	}
	return n, named(err, "write", w.to)
}

// WriteVec implements Vectored.
func (w *dirWriter) WriteVec(vec [][]byte) (int64, error) {
	n, err := WriteVec(w.File, vec, w.at)
	w.at += n
	w.wrote(w.at, n)
	return n, named(err, "write", w.to)
}

func (w *dirWriter) WriteAt(p []byte, off int64) (int, error) {
	n, err := w.File.WriteAt(p, off)
	w.wrote(off+int64(n), int64(n))
	return n, named(err, "write", w.to)
}

// wrote notes that so many bytes were written up to a place.
func (w *dirWriter) wrote(to, n int64) {
	if w.grown(to); w.dir.sync && n > 0 {
		w.ahead.wrote(w.File, n)
	}
}

// grown notes that the file is at least so long.
func (w *dirWriter) grown(to int64) {
	for was := w.size.Load(); was < to && !w.size.CompareAndSwap(was, to); was = w.size.Load() {
	}
}

func (w *dirWriter) ReadAt(p []byte, off int64) (int, error) {
	n, err := io.NewSectionReader(w.File, 0, w.size.Load()).ReadAt(p, off) // more of the disk may have been taken
	return n, named(err, "read", w.to)
}

func (w *dirWriter) Commit() error {
	err := w.direct.end(w.File, w.size.Load())
	if err == nil && w.dir.sync {
		err = system.sync(w.File)
	}
	w.direct.close()
	if cerr := w.File.Close(); err == nil || errors.Is(cerr, fs.ErrClosed) {
		err = cerr
	}
	if errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("blob: %w", named(err, "commit", w.to))
	}
	old := ""
	if err = named(err, "commit", w.to); err == nil {
		old, err = system.replace(w.File.Name(), w.to)
	}
	if err != nil {
		os.Remove(w.File.Name())
		return fmt.Errorf("blob: %w", err)
	}
	if err := w.dir.over(old, filepath.Dir(w.to)); err != nil {
		return fmt.Errorf("blob: %w", err)
	}
	return nil
}

func (w *dirWriter) Abort() {
	w.direct.close()
	if err := w.File.Close(); !errors.Is(err, fs.ErrClosed) {
		os.Remove(w.File.Name())
	}
}

// Local is the bucket and the name of a path of the local file system.
func Local(file string) (Bucket, string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, "", fmt.Errorf("blob: %w", err)
	}
	dir, base := path.Split(filepath.ToSlash(abs))
	if base == "" {
		return nil, "", fmt.Errorf("blob: %q: %w", file, ErrName)
	}
	return NewDir(dir), base, nil
}
