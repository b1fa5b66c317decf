package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// openLimit is how many files of a pinned tree are held open from the beginning: these can be read to their end whatever is published
// meanwhile. Those beyond are opened when they are asked for, and are ErrChanged if they are gone.
const openLimit = 256

// dirPin is the files of a tree below a handle of its folder, which stays that of the tree when another one gets its name; or one file.
type dirPin struct {
	path string   // for errors
	root *os.Root // nil of one file
	all  []Info
	is   map[string]identity
	mu   sync.Mutex
	open map[string]*dirObject
}

// identity tells a file from every other one, and from itself before it was written to.
type identity struct {
	inode    [2]uint64
	size     int64
	modified int64
}

func identityOf(info fs.FileInfo) identity {
	return identity{inode(info), info.Size(), info.ModTime().UnixNano()}
}

// Pin implements Pinner.
func (d *Dir) Pin(ctx context.Context, name string) (Pinned, error) {
	path := d.root
	if name != "" && name != "." {
		if err := checkName(name); err != nil {
			return nil, err
		}
		path = d.file(name)
	}
	return d.pin(ctx, path, nil)
}

// pin pins a path, and if that is a file the others next to it.
func (d *Dir) pin(ctx context.Context, path string, others []string) (*dirPin, error) {
	var p *dirPin
	err := Again(ctx, func() (err error) {
		p = &dirPin{path: path, open: map[string]*dirObject{}}
		if err = p.begin(); err == nil && p.root == nil && p.all != nil && others != nil {
			err = p.beginOthers(others)
		}
		if err != nil {
			p.Close()
		}
		return err
	})
	if errors.Is(err, ErrChanged) {
		return nil, restless(path)
	}
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return p, nil
}

// begin opens what lies at the path now.
func (p *dirPin) begin() (err error) {
	info, err := os.Stat(p.path)
	switch {
	case missing(err):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		p.all, p.is = []Info{{".", info.Size(), info.ModTime()}}, map[string]identity{".": identityOf(info)}
	default:
		if p.root, err = os.OpenRoot(p.path); missing(err) {
			return ErrChanged
		} else if err != nil {
			return err
		}
		if p.all, p.is, err = p.walk(); err != nil {
			return err
		}
	}
	for _, i := range p.all[:min(len(p.all), openLimit)] {
		o, err := p.file(i.Name)
		if errors.Is(err, errIrregular) || errors.Is(err, fs.ErrPermission) {
			continue // opening it returns the error
		}
		if err != nil {
			return err
		}
		p.open[i.Name] = o
	}
	if p.root == nil {
		return nil
	}
	again, _, err := p.walk()
	if err == nil {
		err = p.current()
	}
	if err == nil && !slices.EqualFunc(p.all, again, func(a, b Info) bool {
		return a.Name == b.Name && a.Size == b.Size && a.Modified.Equal(b.Modified)
	}) {
		err = ErrChanged
	}
	return err
}

// current fails if the path leads elsewhere by now: then what was found may be what was left of a tree that is being removed.
func (p *dirPin) current() error {
	now, err := os.Stat(p.path)
	if missing(err) {
		return ErrChanged
	}
	if err != nil {
		return err
	}
	held, err := p.root.Stat(".")
	if err == nil && !os.SameFile(now, held) {
		err = ErrChanged
	}
	return err
}

// walk lists the files below the handle, as Dir.List does those below a path.
func (p *dirPin) walk() (all []Info, is map[string]identity, err error) {
	is = map[string]identity{}
	err = fs.WalkDir(p.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case missing(err):
			return nil
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(e.Name(), tmpMark):
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case e.IsDir():
			return nil
		}
		info, err := p.stat(name, e)
		if missing(err) || err == nil && info.IsDir() {
			return nil
		}
		if err != nil {
			return err
		}
		all, is[name] = append(all, Info{name, info.Size(), info.ModTime()}), identityOf(info)
		return nil
	})
	slices.SortFunc(all, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return all, is, err
}

// stat describes a file; links are followed, also out of the tree.
func (p *dirPin) stat(name string, e fs.DirEntry) (fs.FileInfo, error) {
	if e.Type()&fs.ModeSymlink != 0 {
		return os.Stat(filepath.Join(p.path, filepath.FromSlash(name)))
	}
	return e.Info()
}

// file opens a file that is still what it was.
func (p *dirPin) file(name string) (*dirObject, error) {
	at := filepath.Join(p.path, filepath.FromSlash(name))
	irregular := func(info fs.FileInfo) error {
		if info.Mode().IsRegular() {
			return nil
		}
		return &fs.PathError{Op: "open", Path: at, Err: errIrregular} // opening a pipe waits for its writer, and a device has no end
	}
	f, err := p.handle(name, at, irregular)
	if missing(err) {
		return nil, p.changed(name)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && identityOf(info) != p.is[name] {
		err = p.changed(name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &dirObject{File: f, size: info.Size()}, nil
}

// handle opens a file below the handle, or by its path where that is a link out of the tree, or the file itself was pinned.
func (p *dirPin) handle(name, at string, irregular func(fs.FileInfo) error) (*os.File, error) {
	link := false
	if p.root != nil {
		info, err := p.root.Lstat(name)
		if err != nil {
			return nil, err
		}
		if link = info.Mode()&fs.ModeSymlink != 0; !link {
			if err := irregular(info); err != nil {
				return nil, err
			}
			return p.root.Open(name)
		}
	}
	info, err := os.Stat(at)
	if err == nil {
		err = irregular(info)
	}
	if err != nil {
		return nil, err
	}
	return os.Open(at)
}

func (p *dirPin) changed(name string) error {
	return fmt.Errorf("%s was replaced while it was read: %w", filepath.Join(p.path, filepath.FromSlash(name)), ErrChanged)
}

// List implements Pinned.
func (p *dirPin) List() []Info { return p.all }

// Open implements Pinned. A file that is held open is closed by Close of the pin only.
func (p *dirPin) Open(_ context.Context, name string) (Object, error) {
	p.mu.Lock()
	o := p.open[name]
	p.mu.Unlock()
	if o != nil {
		return heldObject{o}, nil
	}
	o, err := p.file(name)
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return o, nil
}

// heldObject is a file that others have open as well.
type heldObject struct{ *dirObject }

// Close implements Object.
func (heldObject) Close() error { return nil }

// Close implements Pinned.
func (p *dirPin) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []error
	for _, o := range p.open {
		all = append(all, o.Close())
	}
	p.open = nil
	if p.root != nil {
		all = append(all, p.root.Close())
	}
	return errors.Join(all...)
}
