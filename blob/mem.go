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

type memObject struct{ *bytes.Reader }

func (memObject) Close() error { return nil }

// Open implements Bucket.
func (m *Mem) Open(_ context.Context, name string) (Object, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	data, ok := m.objs[name]
	if !ok {
		return nil, fmt.Errorf("blob: %w", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist})
	}
	return memObject{bytes.NewReader(data)}, nil
}

// List implements Bucket.
func (m *Mem) List(_ context.Context, tree string) ([]Info, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []Info
	for name, data := range m.objs {
		if within(name, tree) {
			found = append(found, Info{name, int64(len(data))})
		}
	}
	slices.SortFunc(found, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// within tells whether an object is the named one or lies in the tree of that name; "" and "." are the whole bucket.
func within(name, tree string) bool {
	return tree == "" || tree == "." || name == tree || strings.HasPrefix(name, tree+"/")
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

// Publish implements Bucket.
func (m *Mem) Publish(_ context.Context, from, to string) error {
	if err := checkName(to); err != nil {
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
	mu     sync.Mutex
	buf    []byte
	pos    int64
	done   bool
}

func (w *memWriter) Write(p []byte) (int, error) {
	n, err := w.WriteAt(p, w.pos)
	w.pos += int64(n)
	return n, err
}

func (w *memWriter) WriteAt(p []byte, off int64) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if end := int(off) + len(p); end > len(w.buf) {
		w.buf = append(w.buf, make([]byte, end-len(w.buf))...)
	}
	return copy(w.buf[off:], p), nil
}

func (w *memWriter) Commit() error {
	w.bucket.mu.Lock()
	defer w.bucket.mu.Unlock()
	if w.done {
		return fmt.Errorf("blob: %s: commit: %w", w.name, fs.ErrClosed)
	}
	w.done = true
	if w.bucket.objs == nil {
		w.bucket.objs = map[string][]byte{}
	}
	w.bucket.objs[w.name] = w.buf
	return nil
}

func (w *memWriter) Abort() { w.done = true }
