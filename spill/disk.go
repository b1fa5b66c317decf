package spill

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
)

// pattern names the segment files.
const pattern = "thole-spill-*.seg"

// disk gives out slots of segment files.
type disk struct {
	dir     string
	limit   int64 // of used; 0: none
	segment int64 // bytes of a segment
	mapped  bool
	writeAt func(f *os.File, b []byte, off int64) (int, error)

	writes, segments        atomic.Uint64
	bytesWritten, bytesRead atomic.Int64

	buffers sync.Map // by class, *sync.Pool of *buffer

	mu   sync.Mutex
	used int64                // bytes of slots that are taken
	room map[int64][]*segment // by class, those with a slot that is free
}

// segment is a file of slots of one class.
type segment struct {
	file  *os.File
	mem   []byte // the file mapped, nil if it is not
	class int64
	slots int64

	// Guarded by disk.mu.
	fresh int64   // slots from here on were never used
	again []int64 // slots given back
	live  int64   // slots in use
}

// slot is a place for one record. The zero slot is none.
type slot struct {
	seg   *segment
	off   int64
	class int64
}

// classOf is the class of n bytes of cells: the slot has room for so many.
func classOf(n int64) int64 {
	step := int64(64)
	if n > 512 {
		step = max(step, 1<<(bits.Len64(uint64(n-1))-4)) // an eighth of the power of two below
	}
	return (n + step - 1) / step * step
}

// allocate takes a free slot of a class, in a new segment if there is none.
func (d *disk) allocate(class int64) (slot, error) {
	size := prefixLen + class
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.limit > 0 && size > d.limit-d.used {
		return slot{}, fmt.Errorf("slot of %d bytes beside %d of %d: %w", size, d.used, d.limit, ErrFull)
	}
	d.used += size
	if room := d.room[class]; len(room) > 0 {
		g := room[len(room)-1]
		s := g.take()
		if g.live == g.slots {
			d.room[class] = room[:len(room)-1]
		}
		return s, nil
	}
	d.mu.Unlock()
	g, err := d.create(class)
	d.mu.Lock()
	if err != nil {
		d.used -= size
		return slot{}, err
	}
	s := g.take() // before others see the segment, so that none is without a block
	if g.live < g.slots {
		d.room[class] = append(d.room[class], g)
	}
	return s, nil
}

// take takes a slot of a segment that has a free one.
func (g *segment) take() slot {
	i := g.fresh
	if n := len(g.again); n > 0 {
		i, g.again = g.again[n-1], g.again[:n-1]
	} else {
		g.fresh++
	}
	g.live++
	return slot{g, i * (prefixLen + g.class), g.class}
}

// create makes a segment. Between its making and its removal the file has no bytes.
func (d *disk) create(class int64) (*segment, error) {
	f, err := os.CreateTemp(d.dir, pattern)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // where open files cannot be removed, release does it
	g := &segment{file: f, class: class, slots: max(1, d.segment/(prefixLen+class))}
	if d.mapped {
		g.mem = mapped(f, g.slots*(prefixLen+class))
	}
	d.segments.Add(1)
	return g, nil
}

// release gives back the slot of a record, if it has one, and the file of a segment that has no other block.
func (d *disk) release(r record) {
	g := r.seg
	if g == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	size := prefixLen + g.class
	d.used -= size
	if g.live == g.slots {
		d.room[g.class] = append(d.room[g.class], g)
	}
	g.again = append(g.again, r.off/size)
	g.live--
	if g.live > 0 {
		return
	}
	d.room[g.class] = slices.DeleteFunc(d.room[g.class], func(o *segment) bool { return o == g })
	d.mu.Unlock()
	g.close()
	d.segments.Add(^uint64(0))
	d.mu.Lock()
}

func (g *segment) close() {
	if g.mem != nil {
		unmap(g.mem)
	}
	_ = g.file.Close()
	_ = os.Remove(g.file.Name())
}

// removeLeft removes names that processes left which died between making a file and removing its name. Nobody needs a
// name that can be removed: where a store does, the system refuses while the file is open.
func removeLeft(dir string) {
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return
	}
	for _, name := range names {
		_ = os.Remove(name)
	}
}
