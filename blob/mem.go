package blob

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Mem keeps objects in memory. The zero value is an empty bucket, ready for use by many goroutines.
type Mem struct {
	mu    sync.RWMutex
	root  folder
	count uint64 // of objects that were made
}

// folder is what lies below a name: for each next element of a path an object or another folder, so that no operation
// looks at more names than it is about. No folder but the root is empty.
type folder map[string]entry

// entry is an object, or a folder if kids is not nil.
type entry struct {
	data []byte
	made uint64 // which object of the bucket it is
	kids folder
}

// find gives what lies at the name; "" is the root.
func (m *Mem) find(name string) (entry, bool) {
	e := entry{kids: m.root}
	for name != "" {
		first, rest, _ := strings.Cut(name, "/")
		next, ok := e.kids[first]
		if !ok {
			return entry{}, false
		}
		e, name = next, rest
	}
	return e, true
}

// put makes e what lies at the name, instead of whatever was there; fails if the name lies below an object.
func (m *Mem) put(name string, e entry) error {
	if err := m.room(name); err != nil {
		return err
	}
	if m.root == nil {
		m.root = folder{}
	}
	at := m.root
	for {
		first, rest, deeper := strings.Cut(name, "/")
		if !deeper {
			at[first] = e
			return nil
		}
		next := at[first]
		if next.kids == nil {
			next.kids = folder{}
			at[first] = next
		}
		at, name = next.kids, rest
	}
}

// room fails if the name lies below an object.
func (m *Mem) room(name string) error {
	at := m.root
	for i, c := range name {
		if c != '/' {
			continue
		}
		e, ok := at[name[strings.LastIndexByte(name[:i], '/')+1:i]]
		if ok && e.kids == nil {
			return fmt.Errorf("blob: %s: %s is an object, want a tree", name, name[:i])
		}
		at = e.kids
	}
	return nil
}

// drop removes what lies at the name below the folder, and folders that become empty.
func (at folder) drop(name string) {
	first, rest, deeper := strings.Cut(name, "/")
	if !deeper {
		delete(at, first)
		return
	}
	if e := at[first]; e.kids != nil {
		if e.kids.drop(rest); len(e.kids) == 0 {
			delete(at, first)
		}
	}
}

// each lists the objects of the folder whose path is given (with its slash), without what is not finished.
func (at folder) each(path string, found []Info) []Info {
	for name, e := range at {
		switch {
		case strings.HasPrefix(name, tmpMark):
		case e.kids == nil:
			found = append(found, Info{Name: path + name, Size: int64(len(e.data))})
		default:
			found = e.kids.each(path+name+"/", found)
		}
	}
	return found
}

type memObject struct {
	*bytes.Reader
	data []byte
}

func newMemObject(data []byte) memObject { return memObject{bytes.NewReader(data), data} }

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
	e, ok := m.find(name)
	if !ok || e.kids != nil {
		return nil, fmt.Errorf("blob: %w", &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist})
	}
	return newMemObject(e.data), nil
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
	e, ok := m.find(tree)
	switch {
	case !ok:
		return nil, nil
	case tree != "" && e.kids == nil:
		return []Info{{Name: tree, Size: int64(len(e.data))}}, nil
	case tree != "":
		tree += "/"
	}
	found := e.kids.each(tree, nil)
	slices.SortFunc(found, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// within reports whether an object is the named one or lies in the tree of that name; "" is the whole bucket.
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
	m.root.drop(name)
	return nil
}

// State implements Bucket.
func (m *Mem) State(_ context.Context, name string) (State, error) {
	if err := checkName(name); err != nil {
		return Nothing, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.state(name), nil
}

// state lists the objects of a tree; no two have the same number.
func (m *Mem) state(name string) State {
	e, ok := m.find(name)
	if !ok {
		return Nothing
	}
	return State(e.list(nil, ""))
}

func (e entry) list(to []byte, path string) []byte {
	if e.kids == nil {
		return fmt.Appendf(to, "%q %d\n", path, e.made)
	}
	for _, name := range slices.Sorted(maps.Keys(e.kids)) {
		if !strings.HasPrefix(name, tmpMark) {
			to = e.kids[name].list(to, path+"/"+name)
		}
	}
	return to
}

// Publish implements Bucket.
func (m *Mem) Publish(_ context.Context, from, to string, over State) error {
	if err := checkMove(from, to); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.find(from)
	if !ok {
		return fmt.Errorf("blob: %w", &fs.PathError{Op: "publish", Path: from, Err: fs.ErrNotExist})
	}
	if err := m.room(to); err != nil {
		return err
	}
	if from == to {
		return nil
	}
	if over != Anything && m.state(to) != over {
		return changed(to, over)
	}
	m.root.drop(from)
	return m.put(to, e)
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

// closed is the error of what is done to the object after its end.
func (w *memWriter) closed(op string) error {
	return fmt.Errorf("blob: %w", &fs.PathError{Op: op, Path: w.name, Err: fs.ErrClosed})
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
		return 0, w.closed("write")
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
		return 0, w.closed("read")
	}
	return bytes.NewReader(w.buf).ReadAt(p, off)
}

func (w *memWriter) Commit() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return w.closed("commit")
	}
	w.done = true
	m := w.bucket
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	return m.put(w.name, entry{data: w.buf, made: m.count})
}

func (w *memWriter) Abort() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
}
