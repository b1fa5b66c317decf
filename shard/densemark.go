package shard

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"thole.example/kernel"
	"thole.example/matrix"
	"thole.example/wire"
)

// denseMark is a dense partition as it was: a chunk of cells that changes later is copied before, unless it has been read, or all cells
// move, and those of the mark stay where they are. The values come first, then the slots.
type denseMark[T number] struct {
	d      *dense[T]
	since  *period        // nil: all cells are read
	step   int            // chunks from those of values or a slot to those of the next slot
	next   int            // the same in elements of copies
	taking taking         // of chunks
	mem    *kernel.Memory // of copies; nil: there is none yet, or it is the collector's
	copies []T            // where chunks are copied to, or all cells of the mark
	all    bool           // all of them: the partition has moved
	kept   atomic.Int64   // bytes of copies
	passed []int          // cells of each slot before this one have been read in order
	copied bool           // some of those were copies, whose memory was not given back
}

// dropChunks is how many chunks of copies give their memory back together.
const dropChunks = 32

func (d *dense[T]) mark(since *period) mark {
	m := d.newMark(since)
	m.taking = newTaking(m.step * (1 + d.slots))
	if m.stepped() {
		if m.mem, d.spare = d.spare, nil; m.mem != nil {
			m.see()
		} else {
			m.ready()
		}
	}
	d.marks = append(d.marks, m)
	return m
}

// newMark is a mark that has nothing to copy to.
func (d *dense[T]) newMark(since *period) *denseMark[T] {
	m := &denseMark[T]{d: d, since: since, step: (d.cells + chunk - 1) / chunk, passed: make([]int, 1+d.slots)}
	if m.step > dropChunks {
		m.step = (m.step + dropChunks - 1) / dropChunks * dropChunks
	}
	if m.next = m.step * chunk; m.stepped() {
		m.next = d.next
	}
	return m
}

func (d *dense[T]) readyMark(limit int64) {
	m := d.newMark(nil)
	if !m.stepped() || d.spare != nil || len(d.marks) > 0 || int64(m.size()*sizeOf[T]()) > limit {
		return
	}
	m.ready()
	d.spare = m.mem
}

// ready finds memory for all copies, which the system prepares meanwhile.
func (m *denseMark[T]) ready() {
	if m.reserve(); m.mem != nil {
		m.mem.Ready(0, m.size()*sizeOf[T](), false)
	}
}

// stepped reports whether the next step will change so much that memory for all copies is there from the start. Where it is not, the owner
// of the partition finds it with the first copy, and nobody else may ask for it before that copy is there.
func (m *denseMark[T]) stepped() bool { return m.d.stepper != nil && m.step > dropChunks }

// size is how many cells there is room for in the copies: if the mark is stepped they are as those of the partition.
func (m *denseMark[T]) size() int { return m.next * (1 + m.d.slots) }

// reserve gives addresses for all copies: memory comes with them.
func (m *denseMark[T]) reserve() {
	m.mem = &kernel.Memory{}
	if err := m.mem.Fit(m.size() * sizeOf[T]()); err != nil {
		m.mem, m.copies = nil, make([]T, m.size())
		return
	}
	m.see()
}

func (m *denseMark[T]) see() {
	m.copies, _ = wire.Numbers[T](m.mem.Data()[:m.size()*sizeOf[T]()]) // memory is aligned
}

// number is that of a chunk.
func (m *denseMark[T]) number(slot, c int) int { return slot*m.step + c }

// of is the cells of a slot, counted from 1, or the values themselves.
func (d *dense[T]) of(slot int) []T {
	if d.packed != nil {
		slot-- // the first in val is slot 1
	}
	return d.val[slot*d.next:][:d.cells]
}

// keep remembers that some cells are about to change, and has the marks copy their chunks.
func (d *dense[T]) keep(slot, lo, hi int) {
	for b := lo / blockCells; d.now != nil && b*blockCells < hi; b++ {
		d.now.changed.set(uint32(b))
	}
	for _, m := range d.marks {
		for c := lo / chunk; c*chunk < hi && !m.all; c++ {
			if m.wants(c) {
				m.copy(slot, c)
			}
		}
	}
}

// copy copies a chunk aside that has not been read.
func (m *denseMark[T]) copy(slot, c int) {
	i := m.number(slot, c)
	if !m.taking.open(uint32(i)) {
		return
	}
	if m.copies == nil {
		m.reserve()
	}
	n := min(chunk, m.d.cells-c*chunk)
	m.d.load(m.room(slot, c*chunk, n), slot, c*chunk)
	if m.taking.put(uint32(i)) {
		m.kept.Add(int64(n * sizeOf[T]()))
	}
}

// room is the memory for copies of cells.
func (m *denseMark[T]) room(slot, at, n int) []T {
	at += slot * m.next
	if m.mem != nil {
		m.mem.Await(at*sizeOf[T](), (at+n)*sizeOf[T]())
	}
	return m.copies[at:][:n]
}

// leaves is the mark to which a step over all cells leaves most of them where they are, and has to put them elsewhere; nil: none.
func (d *dense[T]) leaves() *denseMark[T] {
	if len(d.marks) != 1 || d.packed != nil {
		return nil
	}
	m, all := d.marks[0], d.cells/blockCells
	few := m.since != nil && m.since.changed.count(all) < all/2
	if !m.stepped() || m.mem == nil || m.all || m.kept.Load() > 0 || few {
		return nil
	}
	return m
}

// await waits until the memory for copies of cells and their slots is there.
func (m *denseMark[T]) await(lo, hi int) {
	for slot := range 1 + m.d.slots {
		m.room(slot, lo, hi-lo)
	}
}

// left has the partition be where all its cells were put, and leaves the mark those that they were.
func (d *dense[T]) left(m *denseMark[T]) {
	d.hold.Lock()
	defer d.hold.Unlock()
	d.mem, m.mem, d.val, m.copies, m.all = m.mem, d.mem, m.copies, d.val, true
	for b := 0; d.now != nil && b*blockCells < d.cells; b++ {
		d.now.changed.set(uint32(b))
	}
}

// wants reports whether some of the chunk's cells are read.
func (m *denseMark[T]) wants(c int) bool {
	const blocks = chunk / blockCells // a part of a word
	return m.since == nil || m.since.changed[c*blocks/64]>>(c*blocks%64)&(1<<blocks-1) != 0
}

func (m *denseMark[T]) readRect(dst []byte, at matrix.Rect, slot int) error {
	d := m.d
	if slot < 0 || slot >= len(m.passed) {
		return fmt.Errorf("slot %d, want one from 0 to %d", slot, len(m.passed)-1)
	}
	n, ok := at.Cells()
	if !ok || !d.at.Contains(at) {
		return fmt.Errorf("read of %v from the partition at %v", at, d.at)
	}
	out, err := values[T](dst, int(n))
	if err != nil || n == 0 {
		return err
	}
	d.hold.RLock()
	defer d.hold.RUnlock()
	if len(d.mem.Data()) == 0 {
		return errors.New("the partition has been closed")
	}
	first := d.cell(at.Rows.Lo, at.Cols.Lo)
	if first < m.passed[slot] {
		return fmt.Errorf("read of %v, which lies before what was read in order", at)
	}
	width := int(at.Cols.Len())
	if width == d.width || at.Rows.Len() == 1 {
		m.cells(out, slot, first)
		if first == m.passed[slot] || m.since != nil { // what lies between has not changed
			m.pass(slot, first+int(n))
		}
		return nil
	}
	for r := at.Rows.Lo; r < at.Rows.Hi; r++ {
		m.cells(out[:width], slot, d.cell(r, at.Cols.Lo))
		out = out[width:]
	}
	return nil
}

// cells copies cells from one on, of chunks that are not taken.
func (m *denseMark[T]) cells(out []T, slot, at int) {
	for len(out) > 0 {
		n, i := min(len(out), chunk-at%chunk), m.number(slot, at/chunk)
		if !m.all && m.taking.move(uint32(i), waits, busy) {
			m.d.load(out[:n], slot, at)
			m.taking.move(uint32(i), busy, waits)
		} else {
			copy(out[:n], m.copies[slot*m.next+at:])
		}
		out, at = out[n:], at+n
	}
}

// pass says that the cells up to one have been read in order.
func (m *denseMark[T]) pass(slot, to int) {
	c := m.passed[slot] / chunk
	m.passed[slot] = to
	for ; c*chunk < to && min((c+1)*chunk, m.d.cells) <= to; c++ {
		i := m.number(slot, c)
		if !m.taking.move(uint32(i), waits, taken) && m.taking.move(uint32(i), aside, taken) {
			m.kept.Add(-int64(min(chunk, m.d.cells-c*chunk) * sizeOf[T]()))
			m.copied = true
		}
		if m.copied && i%dropChunks == dropChunks-1 && m.step > dropChunks && m.d.stepper == nil && m.mem != nil {
			m.mem.Drop((i+1-dropChunks)*chunk*sizeOf[T](), (i+1)*chunk*sizeOf[T]())
			m.copied = false
		}
	}
}

func (m *denseMark[T]) list(int) []int64 { return nil }

func (m *denseMark[T]) collect([]listed, int) []listed { return nil }

func (m *denseMark[T]) copyOut([]byte, []int64, []listed, bool) error { return errByPlace }

var errByPlace = errors.New("columns of a dense partition, want cells by place")

func (m *denseMark[T]) read([]byte, ofColumns, []int64, bool) error { return errByPlace }

func (m *denseMark[T]) before() *Past { return nil }

func (m *denseMark[T]) bytes() (n int64) {
	if m.stepped() && m.mem != nil {
		return int64(8*len(m.taking)) + m.d.spareBytes(m.mem)
	}
	return int64(8*len(m.taking)) + m.kept.Load()
}

// spareBytes is what memory takes that was prepared for copies; nil takes none.
func (d *dense[T]) spareBytes(mem *kernel.Memory) int64 {
	if mem == nil {
		return 0
	}
	return int64(mem.Resident(d.cells * (1 + d.slots) * sizeOf[T]()))
}

// close keeps the memory of the copies where the step after the next mark will want as much at once: a system may take longer to find
// memory than that step to copy all cells.
func (m *denseMark[T]) close() {
	m.d.marks = slices.DeleteFunc(m.d.marks, func(o *denseMark[T]) bool { return o == m })
	if d := m.d; m.stepped() && d.val != nil && d.spare == nil {
		d.spare, m.mem = m.mem, nil
	}
	m.free()
}

// free gives the memory of copies back.
func (m *denseMark[T]) free() {
	if m.mem != nil {
		m.mem.Free()
	}
	m.mem, m.copies = nil, nil
}
