// Package journaltest is disks in memory for tests of what keeps logs: processes on them are killed, and machines lose their power.
package journaltest

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"thole.example/journal"
)

// Disk is the folders in which the processes of one server keep their logs, one process after the other. Its fields may be changed while no
// process uses it, or with its lock.
type Disk struct {
	sync.Mutex
	Folders map[string]map[string]*File
	Left    int           // operations until the process is killed; 0: it is not
	Slow    time.Duration // that each sync takes
	Writing time.Duration // that each part of a write takes
	Syncing chan struct{} // gets a token when a sync begins
	Room    int           // bytes that all files may have: there is no space for more; 0: there is

	random  *rand.Rand
	durable map[string]map[string]*File // as the folders were when they were synced
	now     *Process
	dead    bool // it was killed by Left
}

// File is a file; what is written is there, whatever becomes of the process, and what is synced whatever becomes of the machine.
type File struct{ Bytes, Synced []byte }

// Process is the disk as one process sees it, until it is killed. It is the Logs of a server.
type Process struct{ disk *Disk }

// ErrKilled is the error of all that a process does which was killed.
var ErrKilled = errors.New("the process was killed")

// NewDisk is a disk without folders. The seed says where writes are cut in parts.
func NewDisk(seed uint64) *Disk {
	return &Disk{random: rand.New(rand.NewPCG(seed, 77)), Folders: map[string]map[string]*File{}, Writing: time.Millisecond,
		durable: map[string]map[string]*File{}, Syncing: make(chan struct{}, 1)}
}

// Start is a new process, and kills the one before.
func (d *Disk) Start() *Process {
	d.Lock()
	defer d.Unlock()
	d.now, d.dead = &Process{d}, false
	return d.now
}

// Kill ends the process.
func (d *Disk) Kill() { d.Start() }

// Now is the process that was started last, or whoever comes after it if that was killed.
func (d *Disk) Now() *Process {
	d.Lock()
	defer d.Unlock()
	return d.now
}

// Alive reports whether no process was killed since one was started.
func (d *Disk) Alive() bool {
	d.Lock()
	defer d.Unlock()
	return !d.dead
}

// Power takes away what was not synced: bytes of files, and names.
func (d *Disk) Power() {
	d.Lock()
	defer d.Unlock()
	for name := range d.Folders {
		d.Folders[name] = map[string]*File{}
		maps.Copy(d.Folders[name], d.durable[name])
		for _, f := range d.Folders[name] {
			f.Bytes = slices.Clone(f.Synced)
		}
	}
}

// Bases is how many logs have a base.
func (d *Disk) Bases() (n int) {
	d.Lock()
	defer d.Unlock()
	for _, files := range d.Folders {
		for name := range files {
			if strings.HasPrefix(name, "base.") {
				n++
				break
			}
		}
	}
	return n
}

// Used is how many bytes all files have.
func (d *Disk) Used() int {
	d.Lock()
	defer d.Unlock()
	return d.used()
}

// Names are the names of all files.
func (d *Disk) Names() (names []string) {
	d.Lock()
	defer d.Unlock()
	for _, files := range d.Folders {
		names = slices.AppendSeq(names, maps.Keys(files))
	}
	return names
}

// used is Used, with the lock.
func (d *Disk) used() (n int) {
	for _, files := range d.Folders {
		for _, f := range files {
			n += len(f.Bytes)
		}
	}
	return n
}

// SetRoom changes Room while processes use the disk.
func (d *Disk) SetRoom(n int) {
	d.Lock()
	defer d.Unlock()
	d.Room = n
}

// Logged is how many bytes the segments have.
func (d *Disk) Logged() (n int) {
	d.Lock()
	defer d.Unlock()
	for _, files := range d.Folders {
		for name, f := range files {
			if strings.HasSuffix(name, ".log") {
				n += len(f.Bytes)
			}
		}
	}
	return n
}

// Longest is how many bytes that are not 0 at their end are durable of the files of a folder with an ending, of the longest.
func (d *Disk) Longest(folder, ending string) (n int) {
	d.Lock()
	defer d.Unlock()
	for name, f := range d.Folders[folder] {
		if strings.HasSuffix(name, ending) {
			n = max(n, len(bytes.TrimRight(f.Synced, "\x00")))
		}
	}
	return n
}

// Going are the logs that nobody has removed or put aside.
func (d *Disk) Going() (names []string) {
	d.Lock()
	defer d.Unlock()
	for name := range d.Folders {
		if !strings.HasPrefix(name, "kept.") {
			names = append(names, name)
		}
	}
	return names
}

// do does something with the disk, unless the process is dead.
func (p *Process) do(f func(d *Disk) error) error {
	p.disk.Lock()
	defer p.disk.Unlock()
	for p.disk.now != p {
		if p.disk.dead { // nothing that it does is seen before it is gone from the network
			p.disk.Unlock()
			time.Sleep(time.Millisecond)
			p.disk.Lock()
			continue
		}
		return ErrKilled
	}
	if p.disk.Left > 0 {
		if p.disk.Left--; p.disk.Left == 0 {
			p.disk.now, p.disk.dead = &Process{p.disk}, true
		}
	}
	return f(p.disk)
}

// List implements server.Logs.
func (p *Process) List() (names []string, err error) {
	err = p.do(func(d *Disk) error { names = slices.Collect(maps.Keys(d.Folders)); return nil })
	return names, err
}

// Folder implements server.Logs.
func (p *Process) Folder(name string) journal.Files { return &folder{p, name} }

// Remove implements server.Logs.
func (p *Process) Remove(name string) error {
	return p.do(func(d *Disk) error { delete(d.Folders, name); delete(d.durable, name); return nil })
}

// Keep implements server.Logs.
func (p *Process) Keep(name string) (string, error) {
	return "kept." + name, p.do(func(d *Disk) error {
		d.Folders["kept."+name], d.durable["kept."+name] = d.Folders[name], d.durable[name]
		delete(d.Folders, name)
		delete(d.durable, name)
		return nil
	})
}

// folder is one folder.
type folder struct {
	p    *Process
	name string
}

func (f *folder) Lock() (func() error, error) {
	return func() error { return nil }, f.p.do(func(d *Disk) error {
		if d.Folders[f.name] == nil {
			d.Folders[f.name] = map[string]*File{}
		}
		return nil
	})
}

func (f *folder) List() (names []string, err error) {
	err = f.p.do(func(d *Disk) error { names = slices.Collect(maps.Keys(d.Folders[f.name])); return nil })
	return names, err
}

func (f *folder) Create(name string) (journal.File, error) {
	return f.open(name, func(d *Disk) { d.Folders[f.name][name] = &File{} })
}

func (f *folder) Open(name string) (journal.File, error) { return f.open(name, func(*Disk) {}) }

func (f *folder) open(name string, missing func(d *Disk)) (out journal.File, err error) {
	err = f.p.do(func(d *Disk) error {
		if d.Folders[f.name][name] == nil {
			missing(d)
		}
		file := d.Folders[f.name][name]
		if file == nil {
			return fs.ErrNotExist
		}
		out = &handle{f.p, file}
		return nil
	})
	return out, err
}

func (f *folder) Rename(from, to string) error {
	return f.p.do(func(d *Disk) error {
		files := d.Folders[f.name]
		files[to] = files[from]
		delete(files, from)
		return nil
	})
}

func (f *folder) Remove(name string) error {
	return f.p.do(func(d *Disk) error { delete(d.Folders[f.name], name); return nil })
}

func (f *folder) Sync() error {
	return f.p.do(func(d *Disk) error { d.durable[f.name] = maps.Clone(d.Folders[f.name]); return nil })
}

// handle is a file that a process has open.
type handle struct {
	p    *Process
	file *File
}

func (h *handle) ReadAt(b []byte, off int64) (n int, err error) {
	err = h.p.do(func(*Disk) error {
		if off < int64(len(h.file.Bytes)) {
			n = copy(b, h.file.Bytes[off:])
		}
		if n < len(b) {
			return errors.New("read beyond the end")
		}
		return nil
	})
	return n, err
}

// WriteVec writes slice by slice, and gives others a turn in between: a process may be killed when some of it is written.
func (h *handle) WriteVec(vec [][]byte, off int64) (n int64, err error) {
	for _, b := range vec {
		for len(b) > 0 {
			some := 0
			err := h.p.do(func(d *Disk) error {
				some = 1 + d.random.IntN(len(b))
				if more := int(off) + some - len(h.file.Bytes); more > 0 && d.Room > 0 && d.used()+more > d.Room {
					return syscall.ENOSPC
				}
				h.file.lengthen(off + int64(some))
				copy(h.file.Bytes[off:], b[:some])
				return nil
			})
			if err != nil {
				return n, err
			}
			b, off, n = b[some:], off+int64(some), n+int64(some)
			time.Sleep(h.p.disk.Writing)
		}
	}
	return n, nil
}

func (f *File) lengthen(size int64) {
	if more := size - int64(len(f.Bytes)); more > 0 {
		f.Bytes = append(f.Bytes, make([]byte, more)...)
	}
}

func (h *handle) Sync() error {
	select {
	case h.p.disk.Syncing <- struct{}{}:
	default:
	}
	time.Sleep(h.p.disk.Slow)
	return h.p.do(func(*Disk) error { h.file.Synced = slices.Clone(h.file.Bytes); return nil })
}

func (h *handle) Size() (n int64, err error) {
	err = h.p.do(func(*Disk) error { n = int64(len(h.file.Bytes)); return nil })
	return n, err
}

func (h *handle) Truncate(size int64) error {
	return h.p.do(func(*Disk) error {
		h.file.lengthen(size)
		h.file.Bytes = h.file.Bytes[:size]
		return nil
	})
}

// Allocate does not lengthen the file: what is not written takes no memory.
func (h *handle) Allocate(size int64) error {
	return h.p.do(func(d *Disk) error {
		if d.Room > 0 && d.used()+int(size)-len(h.file.Bytes) > d.Room {
			return syscall.ENOSPC
		}
		return nil
	})
}

func (h *handle) Close() error { return nil }
