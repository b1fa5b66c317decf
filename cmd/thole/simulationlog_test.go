package main

import (
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"thole.example/journal"
)

// simLogs is where the processes of one server of a simulation keep their logs, one process after the other. What they do there takes
// time, and each write and sync may be the last.
type simLogs struct {
	mu      sync.Mutex
	rnd     *rand.Rand
	folders map[string]map[string]*simLogFile
	synced  map[string]map[string]*simLogFile // as the folders were when they were
	now     *simLogging
}

// simLogFile is a file: what was written is there whatever becomes of the process, and what was synced whatever becomes of the machine.
type simLogFile struct{ bytes, synced []byte }

// simLogging is the logs as one process has them: it implements server.Logs.
type simLogging struct{ of *simLogs }

func newSimLogs(seed, server uint64) *simLogs {
	return &simLogs{rnd: rand.New(rand.NewPCG(seed, 16+server)), folders: map[string]map[string]*simLogFile{},
		synced: map[string]map[string]*simLogFile{}}
}

// start is a new process.
func (l *simLogs) start() *simLogging {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = &simLogging{l}
	return l.now
}

// kill ends the process, and now and then the machine.
func (l *simLogs) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now = nil; l.rnd.IntN(2) == 0 {
		return
	}
	for name := range l.folders {
		l.folders[name] = map[string]*simLogFile{}
		maps.Copy(l.folders[name], l.synced[name])
		for _, f := range l.folders[name] {
			f.bytes = slices.Clone(f.synced)
		}
	}
}

// left are the logs of jobs that have not ended.
func (l *simLogs) left() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Keys(l.folders)), func(name string) bool { return strings.HasPrefix(name, "kept.") })
}

// do does something with the logs, unless the process was killed.
func (p *simLogging) do(f func(l *simLogs) error) error {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.of.now != p {
		return errSimKilled
	}
	return f(p.of)
}

// slowly is do after some time.
func (p *simLogging) slowly(f func(l *simLogs) error) error {
	var takes time.Duration
	err := p.do(func(l *simLogs) error { takes = time.Duration(l.rnd.Int64N(int64(simWriting / 4))); return nil })
	time.Sleep(takes)
	if err != nil {
		return err
	}
	return p.do(f)
}

func (p *simLogging) List() (names []string, err error) {
	err = p.do(func(l *simLogs) error { names = slices.Collect(maps.Keys(l.folders)); return nil })
	return names, err
}

func (p *simLogging) Folder(name string) journal.Files { return &simLogFolder{p, name} }

func (p *simLogging) Remove(name string) error {
	return p.do(func(l *simLogs) error { delete(l.folders, name); delete(l.synced, name); return nil })
}

func (p *simLogging) Keep(name string) (string, error) {
	kept := "kept." + name
	return kept, p.do(func(l *simLogs) error {
		l.folders[kept], l.synced[kept] = l.folders[name], l.synced[name]
		delete(l.folders, name)
		delete(l.synced, name)
		return nil
	})
}

// simLogFolder is the folder of one log.
type simLogFolder struct {
	*simLogging
	name string
}

func (f *simLogFolder) Lock() (func() error, error) {
	return func() error { return nil }, f.do(func(l *simLogs) error {
		if l.folders[f.name] == nil {
			l.folders[f.name] = map[string]*simLogFile{}
		}
		return nil
	})
}

func (f *simLogFolder) List() (names []string, err error) {
	err = f.do(func(l *simLogs) error { names = slices.Collect(maps.Keys(l.folders[f.name])); return nil })
	return names, err
}

func (f *simLogFolder) Create(name string) (file journal.File, err error) {
	err = f.do(func(l *simLogs) error {
		if l.folders[f.name][name] == nil {
			l.folders[f.name][name] = &simLogFile{}
		}
		file = &simLogHandle{f.simLogging, l.folders[f.name][name]}
		return nil
	})
	return file, err
}

func (f *simLogFolder) Open(name string) (file journal.File, err error) {
	err = f.do(func(l *simLogs) error {
		if l.folders[f.name][name] == nil {
			return fs.ErrNotExist
		}
		file = &simLogHandle{f.simLogging, l.folders[f.name][name]}
		return nil
	})
	return file, err
}

func (f *simLogFolder) Rename(from, to string) error {
	return f.do(func(l *simLogs) error {
		files := l.folders[f.name]
		files[to] = files[from]
		delete(files, from)
		return nil
	})
}

func (f *simLogFolder) Remove(name string) error {
	return f.do(func(l *simLogs) error { delete(l.folders[f.name], name); return nil })
}

func (f *simLogFolder) Sync() error {
	return f.slowly(func(l *simLogs) error { l.synced[f.name] = maps.Clone(l.folders[f.name]); return nil })
}

// simLogHandle is a file that a process has open.
type simLogHandle struct {
	*simLogging
	file *simLogFile
}

func (h *simLogHandle) ReadAt(b []byte, off int64) (n int, err error) {
	err = h.do(func(*simLogs) error {
		if n = copy(b, h.file.bytes[min(off, int64(len(h.file.bytes))):]); n < len(b) {
			return io.EOF
		}
		return nil
	})
	return n, err
}

// WriteVec may be interrupted after some of what is written.
func (h *simLogHandle) WriteVec(vec [][]byte, off int64) (n int64, err error) {
	b := slices.Concat(vec...)
	for half := len(b) / 2; len(b) > 0; half = len(b) {
		err := h.slowly(func(*simLogs) error {
			h.file.size(max(int64(len(h.file.bytes)), off+int64(half)))
			copy(h.file.bytes[off:], b[:half])
			return nil
		})
		if err != nil {
			return n, err
		}
		b, off, n = b[half:], off+int64(half), n+int64(half)
	}
	return n, nil
}

func (h *simLogHandle) Sync() error {
	return h.slowly(func(*simLogs) error { h.file.synced = slices.Clone(h.file.bytes); return nil })
}

func (h *simLogHandle) Size() (n int64, err error) {
	err = h.do(func(*simLogs) error { n = int64(len(h.file.bytes)); return nil })
	return n, err
}

func (h *simLogHandle) Truncate(size int64) error {
	return h.do(func(*simLogs) error { h.file.size(size); return nil })
}

// Allocate takes no memory for what is not written.
func (h *simLogHandle) Allocate(int64) error { return h.do(func(*simLogs) error { return nil }) }

func (h *simLogHandle) Close() error { return nil }

func (f *simLogFile) size(n int64) {
	if more := n - int64(len(f.bytes)); more > 0 {
		f.bytes = append(f.bytes, make([]byte, more)...)
	}
	f.bytes = f.bytes[:n]
}
