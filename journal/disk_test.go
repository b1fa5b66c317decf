package journal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
)

const sector = 512

var errDead = errors.New("the process is dead")

// machine is a computer with a disk. What was written and not synced is in its memory: a process that dies loses nothing of it; when the
// power fails any of the sectors that were written since are on disk as they were before, or as they are now.
type machine struct {
	mu      sync.Mutex
	random  *rand.Rand
	names   map[string]*inode
	durable map[string]*inode   // names on disk
	pending []map[string]*inode // changes of names that are not on disk; nil is a name that was taken away
	process int                 // number of the process that lives
	ops     int                 // how many calls it has made that change something
	faultAt int                 // at which of them the fault happens
	fault   string              // "", or which: kill, power, short, full, eio
	locked  int                 // process that has the lock
	syncs   int
}

type inode struct {
	now, disk []byte
	dirty     map[int64]bool // sectors that differ, or may
}

func newMachine(seed uint64) *machine {
	return &machine{random: rand.New(rand.NewPCG(seed, 7)), names: map[string]*inode{}, durable: map[string]*inode{}, locked: -1}
}

// start begins a process, with a fault at one of its operations.
func (m *machine) start(fault string, at int) Files {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process++
	m.ops, m.fault, m.faultAt, m.locked = 0, fault, at, -1
	return view{m, m.process}
}

// happened reports whether the fault has happened.
func (m *machine) happened() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fault != "" && m.ops >= m.faultAt
}

// kill ends the process.
func (m *machine) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process++
}

// loseNames is what the failing power does to names: any of the changes come to disk.
func (m *machine) loseNames() {
	all := m.random.IntN(4) // all, none, or any
	for _, change := range m.pending {
		if all == 0 || all > 1 && m.random.IntN(2) == 0 {
			apply(m.durable, change)
		}
	}
	m.names, m.pending = maps.Clone(m.durable), nil
}

func apply(names, change map[string]*inode) {
	for name, n := range change {
		if names[name] = n; n == nil {
			delete(names, name)
		}
	}
}

// power fails.
func (m *machine) power() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process++
	m.loseNames()
	for _, name := range slices.Sorted(maps.Keys(m.names)) {
		n := m.names[name]
		size := len(n.disk)
		if m.random.IntN(2) == 0 {
			size = len(n.now)
		}
		all := m.random.IntN(4) // all sectors, none, or any
		for _, s := range slices.Sorted(maps.Keys(n.dirty)) {
			if all == 0 || all > 1 && m.random.IntN(2) == 0 {
				n.flush(s)
			}
		}
		n.disk = resize(n.disk, size)
		n.now, n.dirty = slices.Clone(n.disk), map[int64]bool{}
	}
}

func resize(b []byte, n int) []byte {
	if n <= len(b) {
		return b[:n:n]
	}
	return append(b, make([]byte, n-len(b))...)
}

// flush brings a sector to disk.
func (n *inode) flush(s int64) {
	lo, hi := min(int(s*sector), len(n.now)), min(int(s+1)*sector, len(n.now))
	if len(n.disk) < hi {
		n.disk = resize(n.disk, hi)
	}
	copy(n.disk[lo:hi], n.now[lo:hi])
	if from, lost := max(hi, int(s*sector)), min(int(s+1)*sector, len(n.disk)); from < lost {
		clear(n.disk[from:lost])
	}
}

func (n *inode) touch(lo, hi int) {
	for s := lo / sector; s*sector < hi; s++ {
		n.dirty[int64(s)] = true
	}
}

// view is the files as one process has them.
type view struct {
	m       *machine
	process int
}

// do makes a change, unless the process is dead or dies of it. fail is told which fault happens in the middle of it.
func (v view) do(change func(fault string) error) error {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	if v.process != v.m.process {
		return errDead
	}
	v.m.ops++
	fault := ""
	if v.m.ops == v.m.faultAt {
		fault = v.m.fault
	}
	if fault == "kill" || fault == "power" {
		v.m.process++
		if v.m.random.IntN(2) == 0 {
			_ = change("short")
		}
		return errDead
	}
	return change(fault)
}

// name changes names; what change gives as nil cannot be, as a file is missing.
func (v view) name(change func(names map[string]*inode) map[string]*inode) error {
	return v.do(func(fault string) error {
		switch fault {
		case "short":
			return errDead
		case "full":
			return syscall.ENOSPC
		case "eio":
			return syscall.EIO
		}
		c := change(v.m.names)
		if c == nil {
			return fs.ErrNotExist
		}
		apply(v.m.names, c)
		v.m.pending = append(v.m.pending, c)
		return nil
	})
}

func (v view) Lock() (func() error, error) {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	if v.m.locked == v.process {
		return nil, errors.New("locked")
	}
	v.m.locked = v.process
	return func() error {
		v.m.mu.Lock()
		defer v.m.mu.Unlock()
		if v.m.locked == v.process {
			v.m.locked = -1
		}
		return nil
	}, nil
}

func (v view) List() ([]string, error) {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	return slices.Collect(maps.Keys(v.m.names)), nil
}

func (v view) Create(name string) (File, error) {
	var n *inode
	err := v.name(func(names map[string]*inode) map[string]*inode {
		if n = names[name]; n == nil {
			n = &inode{dirty: map[int64]bool{}}
		}
		return map[string]*inode{name: n}
	})
	return handle{v, n}, err
}

func (v view) Open(name string) (File, error) {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	if n := v.m.names[name]; n != nil {
		return handle{v, n}, nil
	}
	return nil, fs.ErrNotExist
}

func (v view) Rename(from, to string) error {
	return v.name(func(names map[string]*inode) map[string]*inode {
		if names[from] == nil {
			return nil
		}
		return map[string]*inode{to: names[from], from: nil}
	})
}

func (v view) Remove(name string) error {
	return v.name(func(names map[string]*inode) map[string]*inode {
		if names[name] == nil {
			return nil
		}
		return map[string]*inode{name: nil}
	})
}

func (v view) Sync() error {
	return v.do(func(fault string) error {
		if fault != "" {
			return syscall.EIO
		}
		v.m.durable, v.m.pending = maps.Clone(v.m.names), nil
		return nil
	})
}

// handle is a file as one process has it open.
type handle struct {
	v view
	n *inode
}

func (h handle) ReadAt(b []byte, off int64) (int, error) {
	h.v.m.mu.Lock()
	defer h.v.m.mu.Unlock()
	if h.v.process != h.v.m.process {
		return 0, errDead
	}
	if off > int64(len(h.n.now)) {
		return 0, io.EOF
	}
	n := copy(b, h.n.now[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (h handle) WriteVec(vec [][]byte, off int64) (total int64, err error) {
	err = h.v.do(func(fault string) error {
		b := bytes.Join(vec, nil)
		var err error
		switch fault {
		case "short":
			b = b[:h.v.m.random.IntN(len(b))] // and no error: that is for the caller to see
		case "full":
			b, err = b[:h.v.m.random.IntN(len(b))], syscall.ENOSPC
		case "eio":
			return syscall.EIO
		}
		end := int(off) + len(b)
		if end > len(h.n.now) {
			h.n.now = resize(h.n.now, end)
		}
		copy(h.n.now[off:], b)
		h.n.touch(int(off), end)
		total = int64(len(b))
		return err
	})
	return total, err
}

func (h handle) Sync() error {
	return h.v.do(func(fault string) error {
		h.v.m.syncs++
		n := h.n
		switch fault {
		case "short", "full":
			return syscall.ENOSPC
		case "eio": // some of it is on disk, and the system forgets what is not
			for _, s := range slices.Sorted(maps.Keys(n.dirty)) {
				if h.v.m.random.IntN(2) == 0 {
					n.flush(s)
				}
			}
			n.dirty = map[int64]bool{}
			return syscall.EIO
		}
		for s := range n.dirty {
			n.flush(s)
		}
		n.disk = resize(n.disk, len(n.now))
		n.dirty = map[int64]bool{}
		return nil
	})
}

func (h handle) Size() (int64, error) {
	h.v.m.mu.Lock()
	defer h.v.m.mu.Unlock()
	return int64(len(h.n.now)), nil
}

func (h handle) Truncate(size int64) error {
	return h.v.do(func(fault string) error {
		if fault != "" {
			return syscall.EIO
		}
		was := len(h.n.now)
		h.n.now = resize(h.n.now, int(size))
		h.n.touch(min(was, int(size)), max(was, int(size)))
		return nil
	})
}

func (h handle) Allocate(size int64) error {
	if now, _ := h.Size(); now >= size {
		return nil
	}
	return h.Truncate(size)
}

func (h handle) Close() error { return nil }
