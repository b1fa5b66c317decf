package shard

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"thole.example/kernel"
	"thole.example/matrix"
)

// denseMark is a dense partition as it was: a chunk of cells that changes later is copied before, unless it has been read, or all cells
// move, and those of the mark stay where they are. Copies lie as the cells do.
type denseMark[T number] struct {
	d      *dense[T]
	since  *period       // nil: all cells are read
	taking taking        // of chunks, those of the values first, then those of each slot
	aside  denseCells[T] // where chunks are copied to; without memory there are no copies yet
	left   denseCells[T] // all cells, which the partition has left; without memory: it has not
	kept   atomic.Int64  // bytes of copies
	drops  bool          // memory of copies is given back when they have been read, and not kept for the next mark
	failed error         // no memory for copies: what is aside is nowhere
	passed []int         // cells of each slot before this one have been read in order
	copied bool          // some of those were copies, whose memory was not given back
}

// dropChunks is how many chunks of copies give their memory back together.
const dropChunks = 32

func (d *dense[T]) mark(since *period) mark {
	m := &denseMark[T]{d: d, since: since, taking: newTaking(d.chunks() * (1 + d.slots)), passed: make([]int, 1+d.slots)}
	if m.drops = d.slots == 0 && !d.stepped(); d.stepped() {
		if mem := d.spare; mem != nil {
			m.aside, d.spare = d.in(mem), nil
		} else {
			m.reserve(true)
		}
	}
	d.marks = append(d.marks, m)
	return m
}

func (d *dense[T]) readyMark(limit int64) {
	if !d.stepped() || d.spare != nil || len(d.marks) > 0 || int64(d.size) > limit {
		return
	}
	m := denseMark[T]{d: d}
	m.reserve(true)
	d.spare = m.aside.mem
}

// chunks is how many the values are, or a slot.
func (d *dense[T]) chunks() int { return (d.cells + chunk - 1) / chunk }

// stepped reports whether the next step will change so much that memory for all copies is there from the start. Where it is not, the owner
// of the partition finds it with the first copy, and nobody else may ask for it before that copy is there.
func (d *dense[T]) stepped() bool { return (d.stepper != nil || d.wide) && d.chunks() > dropChunks }

// reserve finds addresses for all copies. Memory comes with them, or the system prepares it meanwhile.
func (m *denseMark[T]) reserve(ready bool) {
	mem := &kernel.Memory{}
	if m.failed = mem.Fit(m.d.size); m.failed != nil {
		return
	}
	if m.aside = m.d.in(mem); ready {
		mem.Ready(0, m.d.size, false)
	}
}

// number is that of a chunk.
func (m *denseMark[T]) number(slot, c int) int { return slot*m.d.chunks() + c }

// keep remembers that some cells are about to change, and has the marks copy their chunks.
func (d *dense[T]) keep(slot, lo, hi int) {
	for b := lo / blockCells; d.now != nil && b*blockCells < hi; b++ {
		d.now.changed.set(uint32(b))
	}
	for _, m := range d.marks {
		for c := lo / chunk; c*chunk < hi && m.left.mem == nil; c++ {
			if m.wants(c) {
				m.copy(slot, c)
			}
		}
	}
}

// copy copies a chunk aside that has not been read.
func (m *denseMark[T]) copy(slot, c int) {
	i, lo := m.number(slot, c), c*chunk
	if !m.taking.open(uint32(i)) {
		return
	}
	if m.aside.mem == nil && m.failed == nil {
		m.reserve(false)
	}
	n := min(chunk, m.d.cells-lo)
	if m.failed == nil {
		m.aside.await(lo, lo+n)
		m.aside.copy(&m.d.denseCells, slot, lo, n)
	}
	if m.taking.put(uint32(i)) {
		m.kept.Add(int64(n * sizeOf[T]()))
	}
}

// leaves is the mark to which a step over all cells leaves most of them where they are, and has to put them elsewhere; nil: none.
func (d *dense[T]) leaves() *denseMark[T] {
	if len(d.marks) != 1 {
		return nil
	}
	m, all := d.marks[0], d.cells/blockCells
	few := m.since != nil && m.since.changed.count(all) < all/2
	used := m.kept.Load() > 0 || m.drops && m.aside.mem != nil
	if !d.stepped() || m.left.mem != nil || used || few {
		return nil
	}
	if m.aside.mem == nil && m.failed == nil {
		m.reserve(true)
	}
	if m.failed != nil {
		return nil
	}
	return m
}

// move has the partition be where all its cells were put, and leaves the mark those that they were.
func (d *dense[T]) move(m *denseMark[T]) {
	d.hold.Lock()
	defer d.hold.Unlock()
	d.denseCells, m.left, m.aside = m.aside, d.denseCells, denseCells[T]{}
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
	if d.mem == nil {
		return errors.New("the partition has been closed")
	}
	first := d.cell(at.Rows.Lo, at.Cols.Lo)
	if first < m.passed[slot] {
		return fmt.Errorf("read of %v, which lies before what was read in order", at)
	}
	width := int(at.Cols.Len())
	if width == d.width || at.Rows.Len() == 1 {
		if err := m.cells(out, slot, first); err != nil {
			return err
		}
		if first == m.passed[slot] || m.since != nil { // what lies between has not changed
			m.pass(slot, first+int(n))
		}
		return nil
	}
	for r := at.Rows.Lo; r < at.Rows.Hi; r++ {
		if err := m.cells(out[:width], slot, d.cell(r, at.Cols.Lo)); err != nil {
			return err
		}
		out = out[width:]
	}
	return nil
}

// cells copies cells from one on, of chunks that are not taken.
func (m *denseMark[T]) cells(out []T, slot, at int) error {
	for len(out) > 0 {
		n, i := min(len(out), chunk-at%chunk), m.number(slot, at/chunk)
		switch {
		case m.left.mem != nil:
			m.left.load(out[:n], slot, at)
		case m.taking.move(uint32(i), waits, busy):
			m.d.load(out[:n], slot, at)
			m.taking.move(uint32(i), busy, waits)
		case m.failed != nil:
			return m.failed
		default:
			m.aside.load(out[:n], slot, at)
		}
		out, at = out[n:], at+n
	}
	return nil
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
		if m.copied && c%dropChunks == dropChunks-1 && m.drops && m.aside.mem != nil {
			each := m.d.size / m.d.next
			m.aside.mem.Drop((c+1-dropChunks)*chunk*each, (c+1)*chunk*each)
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
	if m.d.stepped() && !m.drops || m.left.mem != nil {
		return int64(8*len(m.taking)) + m.d.spareBytes(m.memory())
	}
	return int64(8*len(m.taking)) + m.kept.Load()
}

// memory is that of the copies, or of all cells; nil: there is none.
func (m *denseMark[T]) memory() *kernel.Memory { return cmp.Or(m.left.mem, m.aside.mem) }

// spareBytes is what memory takes that was prepared for copies; nil takes none.
func (d *dense[T]) spareBytes(mem *kernel.Memory) int64 {
	if mem == nil {
		return 0
	}
	return int64(mem.Resident(d.size))
}

// close keeps the memory of the copies where the step after the next mark will want as much at once: a system may take longer to find
// memory than that step to copy all cells.
func (m *denseMark[T]) close() {
	m.d.marks = slices.DeleteFunc(m.d.marks, func(o *denseMark[T]) bool { return o == m })
	if d := m.d; d.stepped() && d.mem != nil && d.spare == nil {
		d.spare, m.left, m.aside = m.memory(), denseCells[T]{}, denseCells[T]{}
	}
	m.free()
}

// free gives the memory of copies back.
func (m *denseMark[T]) free() {
	if mem := m.memory(); mem != nil {
		mem.Free()
	}
	m.left, m.aside = denseCells[T]{}, denseCells[T]{}
}
