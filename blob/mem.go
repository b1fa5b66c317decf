package blob

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// Mem keeps objects in memory. The zero value is an empty bucket, ready for use by many goroutines.
type Mem struct {
	mu   sync.RWMutex
	objs map[string][]byte
}

type memObject struct {
	*bytes.Reader
	data []byte
}

func (memObject) Close() error { return nil }

// Map implements Mapped.
func (o memObject) Map(look func(data []byte) error) error { return look(o.data) }

// Open implements Bucket.
func (m *Mem) Open(_ context.Context, name string) (Object, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	data, ok := m.objs[name]
	if !ok {
		return nil, fmt.Errorf("blob: %w", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist})
	}
	return memObject{bytes.NewReader(data), data}, nil
}

// List implements Bucket.
func (m *Mem) List(ctx context.Context, tree string) ([]Info, error) {
	if tree == "." {
		tree = ""
	}
	if tree != "" {
		if err := checkName(tree); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []Info
	for name, data := range m.objs {
		if within(name, tree) && !strings.Contains("/"+name[len(tree):], "/"+tmpMark) {
			found = append(found, Info{name, int64(len(data))})
		}
	}
	slices.SortFunc(found, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// within tells whether an object is the named one or lies in the tree of that name; "" is the whole bucket.
func within(name, tree string) bool {
	return tree == "" || name == tree || strings.HasPrefix(name, tree+"/")
}

// Remove implements Bucket.
func (m *Mem) Remove(_ context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(name)
	return nil
}

func (m *Mem) drop(tree string) {
	for name := range m.objs {
		if within(name, tree) {
			delete(m.objs, name)
		}
	}
}

// room fails if the name lies below an object.
func (m *Mem) room(name string) error {
	for i, c := range name {
		if _, object := m.objs[name[:i]]; c == '/' && object {
			return fmt.Errorf("blob: %s: %s is an object, want a tree", name, name[:i])
		}
	}
	return nil
}

// Publish implements Bucket.
func (m *Mem) Publish(_ context.Context, from, to string) error {
	if err := checkMove(from, to); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	moved := map[string][]byte{}
	for name, data := range m.objs {
		if within(name, from) {
			moved[to+strings.TrimPrefix(name, from)] = data
		}
	}
	if len(moved) == 0 {
		return fmt.Errorf("blob: %w", &fs.PathError{Op: "publish", Path: from, Err: fs.ErrNotExist})
	}
	if err := m.room(to); err != nil {
		return err
	}
	m.drop(from)
	m.drop(to)
	for name, data := range moved {
		m.objs[name] = data
	}
	return nil
}

// Create implements Bucket.
func (m *Mem) Create(_ context.Context, name string) (Writer, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return &memWriter{bucket: m, name: name}, nil
}

type memWriter struct {
	bucket *Mem
	name   string
	mu     sync.Mutex // held before the bucket's
	buf    []byte
	pos    int64
	done   bool
}

func (w *memWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.writeAt(p, w.pos)
	w.pos += int64(n)
	return n, err
}

func (w *memWriter) WriteAt(p []byte, off int64) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writeAt(p, off)
}

func (w *memWriter) writeAt(p []byte, off int64) (int, error) {
	end := off + int64(len(p))
	switch {
	case w.done:
		return 0, fmt.Errorf("blob: %s: write: %w", w.name, fs.ErrClosed)
	case off < 0 || end < 0 || int64(int(end)) != end:
		return 0, fmt.Errorf("blob: %s: write of %d bytes at %d: %w", w.name, len(p), off, fs.ErrInvalid)
	case len(p) == 0:
		return 0, nil
	}
	if missing := int(end) - len(w.buf); missing > 0 {
		w.buf = append(w.buf, make([]byte, missing)...)
	}
	return copy(w.buf[off:], p), nil
}

// ReadAt implements Writer.
func (w *memWriter) ReadAt(p []byte, off int64) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return 0, fmt.Errorf("blob: %s: read: %w", w.name, fs.ErrClosed)
	}
	return bytes.NewReader(w.buf).ReadAt(p, off)
}

func (w *memWriter) Commit() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return fmt.Errorf("blob: %s: commit: %w", w.name, fs.ErrClosed)
	}
	w.done = true
	m := w.bucket
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.room(w.name); err != nil {
		return err
	}
	if m.objs == nil {
		m.objs = map[string][]byte{}
	}
	m.drop(w.name)
	m.objs[w.name] = w.buf
	return nil
}

func (w *memWriter) Abort() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
}
