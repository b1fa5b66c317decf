package server_test

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"thole.example/journal"
)

// logDisk is the folders in which the processes of one server keep their logs, one process after the other.
type logDisk struct {
	mu      sync.Mutex
	random  *rand.Rand
	folders map[string]map[string]*logFile
	durable map[string]map[string]*logFile // as the folders were when they were synced
	now     *logProcess
	left    int           // operations until the process is killed; 0: it is not
	dead    bool          // it was, so
	slow    time.Duration // that each sync takes
	syncing chan struct{} // gets a token when one begins
}

// logFile is a file; what is written is there, whatever becomes of the process, and what is synced whatever becomes of the machine.
type logFile struct{ bytes, synced []byte }

// power takes away what was not synced: bytes of files, and names.
func (d *logDisk) power() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name := range d.folders {
		d.folders[name] = map[string]*logFile{}
		maps.Copy(d.folders[name], d.durable[name])
		for _, f := range d.folders[name] {
			f.bytes = slices.Clone(f.synced)
		}
	}
}

// logProcess is what one process sees of the disk, until it is killed.
type logProcess struct{ disk *logDisk }

var errKilled = errors.New("the process was killed")

func newLogDisk(seed uint64) *logDisk {
	return &logDisk{random: rand.New(rand.NewPCG(seed, 77)), folders: map[string]map[string]*logFile{},
		durable: map[string]map[string]*logFile{}, syncing: make(chan struct{}, 1)}
}

// start is a new process, and kills the one before.
func (d *logDisk) start() *logProcess {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now, d.dead = &logProcess{d}, false
	return d.now
}

// do does something with the disk, unless the process is dead.
func (p *logProcess) do(f func(d *logDisk) error) error {
	p.disk.mu.Lock()
	defer p.disk.mu.Unlock()
	for p.disk.now != p {
		if p.disk.dead { // nothing that it does is seen before it is gone from the network
			p.disk.mu.Unlock()
			time.Sleep(time.Millisecond)
			p.disk.mu.Lock()
			continue
		}
		return errKilled
	}
	if p.disk.left > 0 {
		if p.disk.left--; p.disk.left == 0 {
			p.disk.now, p.disk.dead = &logProcess{p.disk}, true
		}
	}
	return f(p.disk)
}

func (p *logProcess) List() (names []string, err error) {
	err = p.do(func(d *logDisk) error { names = slices.Collect(maps.Keys(d.folders)); return nil })
	return names, err
}

func (p *logProcess) Folder(name string) journal.Files { return &logFolder{p, name} }

func (p *logProcess) Remove(name string) error {
	return p.do(func(d *logDisk) error { delete(d.folders, name); delete(d.durable, name); return nil })
}

func (p *logProcess) Keep(name string) (string, error) {
	return "kept." + name, p.do(func(d *logDisk) error {
		d.folders["kept."+name], d.durable["kept."+name] = d.folders[name], d.durable[name]
		delete(d.folders, name)
		delete(d.durable, name)
		return nil
	})
}

// bases is how many logs have a base.
func (d *logDisk) bases() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, files := range d.folders {
		for name := range files {
			if strings.HasPrefix(name, "base.") {
				n++
				break
			}
		}
	}
	return n
}

// logFolder is one folder.
type logFolder struct {
	p    *logProcess
	name string
}

func (f *logFolder) Lock() (func() error, error) {
	return func() error { return nil }, f.p.do(func(d *logDisk) error {
		if d.folders[f.name] == nil {
			d.folders[f.name] = map[string]*logFile{}
		}
		return nil
	})
}

func (f *logFolder) List() (names []string, err error) {
	err = f.p.do(func(d *logDisk) error { names = slices.Collect(maps.Keys(d.folders[f.name])); return nil })
	return names, err
}

func (f *logFolder) Create(name string) (journal.File, error) {
	return f.open(name, func(d *logDisk) { d.folders[f.name][name] = &logFile{} })
}

func (f *logFolder) Open(name string) (journal.File, error) { return f.open(name, func(*logDisk) {}) }

func (f *logFolder) open(name string, missing func(d *logDisk)) (out journal.File, err error) {
	err = f.p.do(func(d *logDisk) error {
		if d.folders[f.name][name] == nil {
			missing(d)
		}
		file := d.folders[f.name][name]
		if file == nil {
			return fs.ErrNotExist
		}
		out = &logHandle{f.p, file}
		return nil
	})
	return out, err
}

func (f *logFolder) Rename(from, to string) error {
	return f.p.do(func(d *logDisk) error {
		files := d.folders[f.name]
		files[to] = files[from]
		delete(files, from)
		return nil
	})
}

func (f *logFolder) Remove(name string) error {
	return f.p.do(func(d *logDisk) error { delete(d.folders[f.name], name); return nil })
}

func (f *logFolder) Sync() error {
	return f.p.do(func(d *logDisk) error { d.durable[f.name] = maps.Clone(d.folders[f.name]); return nil })
}

// logHandle is a file that a process has open.
type logHandle struct {
	p    *logProcess
	file *logFile
}

func (h *logHandle) ReadAt(b []byte, off int64) (n int, err error) {
	err = h.p.do(func(*logDisk) error {
		if off < int64(len(h.file.bytes)) {
			n = copy(b, h.file.bytes[off:])
		}
		if n < len(b) {
			return errors.New("read beyond the end")
		}
		return nil
	})
	return n, err
}

// WriteVec writes slice by slice, and gives others a turn in between: a process may be killed when some of it is written.
func (h *logHandle) WriteVec(vec [][]byte, off int64) (n int64, err error) {
	for _, b := range vec {
		for len(b) > 0 {
			some := 0
			err := h.p.do(func(d *logDisk) error {
				some = 1 + d.random.IntN(len(b))
				h.file.lengthen(off + int64(some))
				copy(h.file.bytes[off:], b[:some])
				return nil
			})
			if err != nil {
				return n, err
			}
			b, off, n = b[some:], off+int64(some), n+int64(some)
			time.Sleep(time.Millisecond)
		}
	}
	return n, nil
}

func (f *logFile) lengthen(size int64) {
	if more := size - int64(len(f.bytes)); more > 0 {
		f.bytes = append(f.bytes, make([]byte, more)...)
	}
}

func (h *logHandle) Sync() error {
	select {
	case h.p.disk.syncing <- struct{}{}:
	default:
	}
	time.Sleep(h.p.disk.slow)
	return h.p.do(func(*logDisk) error { h.file.synced = slices.Clone(h.file.bytes); return nil })
}

func (h *logHandle) Size() (n int64, err error) {
	err = h.p.do(func(*logDisk) error { n = int64(len(h.file.bytes)); return nil })
	return n, err
}

func (h *logHandle) Truncate(size int64) error {
	return h.p.do(func(*logDisk) error {
		h.file.lengthen(size)
		h.file.bytes = h.file.bytes[:size]
		return nil
	})
}

// Allocate does not lengthen the file: what is not written takes no memory.
func (h *logHandle) Allocate(int64) error { return h.p.do(func(*logDisk) error { return nil }) }

func (h *logHandle) Close() error { return nil }
